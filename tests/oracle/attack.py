"""The benchmark attack, slowly and exactly: one trial at a time, rationals and plain loops.

Written from the attack specification alone ("section n" below is a section of it). It shares no
code with the engine and uses the standard library only. Every quantity is an exact `Fraction`
until a record is written; only then does it become a float, in percentage points.

Readings settled where the specification leaves room:

* Row 0 carries the trial's eligibility and, where it is eligible, its endpoints. Everything that
  belongs to the final router (scores, ranks, held-out regret) is None there.
* An ineligible trial from budget 1 on keeps `no_attack_*` and `genuine_gap_pp`; the rest is None.
* Orientation weighs coordinates within categories whenever every task sits in one category,
  whatever the scoring. The weights of `public_top5` are "those of the released overall", so there
  the categories count only under `equal_category`; under every other scoring a coordinate has 1/T.
* `public_top5` compares overalls and distances exactly; only losses in rule 4 of section 3, the
  leaders of `non_leading` and the metrics of section 7 are rounded to 10 decimals.
* `non_leading` applies rules 1 to 5 to the models that remain (frontier among themselves).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import lcm

from .endpoints import (
    choose_endpoints,
    overall,
    public_profile,
    rounded,
    task_categories,
    task_means,
)
from .split import (
    OracleBenchmark,
    OracleItem,
    OracleRefusal,
    check,
    check_split,
    hash_split,
)

__all__ = [
    "OracleBenchmark",
    "OracleItem",
    "OracleRefusal",
    "choose_endpoints",
    "final_router",
    "final_routers",
    "hash_sign",
    "hash_split",
    "overall",
    "public_profile",
    "run_trial",
    "tie_sign",
]

ROUTER = "Final router"


# --- section 4: routers -------------------------------------------------------------------------


def keyed_sign(key_text: str, prompt_hash: str) -> int:
    key = hashlib.sha256(key_text.encode()).digest()
    byte = hashlib.blake2b(prompt_hash.encode(), key=key, digest_size=1).digest()[0]
    return 1 if byte & 1 else -1


def hash_sign(routing_seed: str, j: int, prompt_hash: str) -> int:
    return keyed_sign(f"probe|{routing_seed}|{j}", prompt_hash)


def tie_sign(tie_seed: str, prompt_hash: str) -> int:
    return keyed_sign(f"tie|{tie_seed}", prompt_hash)


def check_signs(bench: OracleBenchmark, row: list[int]) -> None:
    if len(row) != len(bench.items):
        raise OracleRefusal("a router needs one sign per item")
    sign_of_hash: dict[str, int] = {}
    for item, sign in zip(bench.items, row, strict=True):
        if sign not in (1, -1):
            raise OracleRefusal("a sign is +1 or -1")
        if sign_of_hash.setdefault(item.prompt_hash, sign) != sign:
            raise OracleRefusal(f"prompt hash {item.prompt_hash!r} is routed two ways")


# --- section 5: decoder (sees released numbers only) --------------------------------------------


def final_routers(
    budgets: list[int],
    tasks: list[str],
    public_a: dict[str, Fraction],
    public_b: dict[str, Fraction],
    released: list[dict[str, Fraction]],
    signs: list[list[int]],
    ties: list[int],
) -> dict[int, list[int]]:
    """Signs per item of the final router of every budget.

    `tasks` and `ties` have one entry per item; `released[j]` is candidate j's score per task.
    Weights are 2 p_j - p_A - p_B (twice alpha) times the common denominator of all released
    numbers: integers of any size, so that a zero vote is an exact zero.
    """
    numbers = [value for row in [public_a, public_b, *released] for value in row.values()]
    common = lcm(*(value.denominator for value in numbers))
    votes = [0] * len(tasks)
    counted = 0
    routes = {}
    for k in sorted(set(budgets)):
        if k == 1:  # every task to its publicly stronger endpoint
            lead = [public_a[task] - public_b[task] for task in tasks]
        else:
            for j in range(counted, k - 1):
                weight = {
                    task: int((2 * released[j][task] - public_a[task] - public_b[task]) * common)
                    for task in public_a
                }
                votes = [v + weight[t] * g for v, t, g in zip(votes, tasks, signs[j], strict=True)]
            counted = k - 1
            lead = votes
        routes[k] = [
            1 if value > 0 else -1 if value < 0 else tie
            for value, tie in zip(lead, ties, strict=True)
        ]
    return routes


def final_router(
    k: int,
    tasks: list[str],
    public_a: dict[str, Fraction],
    public_b: dict[str, Fraction],
    released: list[dict[str, Fraction]],
    signs: list[list[int]],
    ties: list[int],
) -> list[int]:
    """Signs per item for budget k, from released scores only (see `final_routers`)."""
    return final_routers([k], tasks, public_a, public_b, released, signs, ties)[k]


# --- section 7: metrics -------------------------------------------------------------------------


def score_gap(history: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Largest |best loss so far on S - best loss so far on H| over (S, H) scores in order."""
    largest = Fraction(0)
    best_s = best_h = Fraction(1)  # no loss is larger
    for score_s, score_h in history:
        best_s = min(best_s, 1 - score_s)
        best_h = min(best_h, 1 - score_h)
        largest = max(largest, abs(best_s - best_h))
    return largest


def rank(scores: list[Fraction], position: int) -> int:
    """Competition rank: one more than the number of rows with a smaller rounded loss."""
    losses = [rounded(1 - score) for score in scores]
    return 1 + sum(loss < losses[position] for loss in losses)


def pp(value: Fraction) -> float:
    return float(100 * value)


COLUMNS = (
    "trial", "budget", "eligible", "endpoint_a", "endpoint_b", "no_attack_model",
    "selected_model", "selected_router", "false_winner", "rank_drop", "rank_reused",
    "rank_heldout", "selection_loss_pp", "score_gap_pp", "genuine_gap_pp", "no_attack_reused_pp",
    "no_attack_heldout_pp", "selected_reused_pp", "selected_heldout_pp", "router_reused_pp",
    "router_heldout_pp", "loss_vs_static_pp", "heldout_regret_pp", "route",
)  # fmt: skip


def run_trial(
    bench: OracleBenchmark,
    *,
    trial: int,
    budgets: list[int],
    split_seed_base: int = 0,
    holdout_fraction: Fraction = Fraction(2, 3),
    rule: str = "top5",
    routing_seed: str = "jaxbench",
    tie_seed: str = "jaxbench",
    scoring: str = "item_mean",
    reused: list[bool] | None = None,
    signs: list[list[int]] | None = None,
    ties: list[int] | None = None,
) -> list[dict]:
    """One record for budget 0 (no attack), then one per budget, rising."""
    check(bench)
    budgets = sorted(set(budgets) - {0})
    if any(k < 1 for k in budgets):
        raise OracleRefusal("a budget is at least 1")
    if reused is None:
        reused = hash_split(bench, split_seed_base + trial, holdout_fraction)
    check_split(bench, reused)
    reused = [bool(side) for side in reused]
    heldout = [not side for side in reused]

    # Public side: the endpoints.
    names = sorted(bench.models)  # genuine models in name order everywhere below
    scores = {m: list(row) for m, row in zip(bench.models, bench.scores, strict=True)}
    public = {m: overall(bench, scores[m], reused, scoring) for m in names}
    profile = public_profile(bench, reused)
    categories = task_categories(bench)
    if rule == "public_top5" and scoring != "equal_category":
        categories = None
    endpoints = choose_endpoints(profile, public, rule, categories)

    # The attack: all routers of all budgets are final before a held-out number is computed.
    candidates: list[list[Fraction]] = []  # item scores of the candidates
    routes: dict[int, list[int]] = {}
    if endpoints is not None and budgets:
        a, b = endpoints

        def routed(row: list[int]) -> list[Fraction]:
            return [x if g > 0 else y for x, y, g in zip(scores[a], scores[b], row, strict=True)]

        hashes = [item.prompt_hash for item in bench.items]
        needed = budgets[-1] - 1
        if signs is None:
            signs = [[hash_sign(routing_seed, j, h) for h in hashes] for j in range(needed)]
        if ties is None:
            ties = [tie_sign(tie_seed, h) for h in hashes]
        if len(signs) < needed:
            raise OracleRefusal(f"budget {budgets[-1]} needs {needed} candidates")
        signs = [[int(g) for g in row] for row in signs[:needed]]
        ties = [int(g) for g in ties]
        for row in [*signs, ties]:
            check_signs(bench, row)
        candidates = [routed(row) for row in signs]
        released = [task_means(bench, row, reused) for row in candidates]
        tasks = [item.task for item in bench.items]
        routes = final_routers([1, *budgets], tasks, profile[a], profile[b], released, signs, ties)

    # Evaluator's side: (reused, held-out) score of everything.
    def both(row: list[Fraction]) -> tuple[Fraction, Fraction]:
        return overall(bench, row, reused, scoring), overall(bench, row, heldout, scoring)

    genuine = [both(scores[m]) for m in names]
    genuine_gap = score_gap(genuine)
    # min keeps the first of equals: name order among genuine models
    before = min(range(len(names)), key=lambda m: rounded(1 - genuine[m][0]))

    base = dict.fromkeys(COLUMNS)
    base.update(
        trial=trial,
        eligible=endpoints is not None,
        no_attack_model=names[before],
        genuine_gap_pp=pp(genuine_gap),
        no_attack_reused_pp=pp(genuine[before][0]),
        no_attack_heldout_pp=pp(genuine[before][1]),
    )
    if endpoints is not None:
        base.update(endpoint_a=endpoints[0], endpoint_b=endpoints[1])
    rows = [
        base
        | {
            "budget": 0,
            "selected_model": names[before],
            "selected_router": False,
            "false_winner": False,
            "rank_drop": 0,
            "selection_loss_pp": 0.0,
            "score_gap_pp": pp(genuine_gap),
            "selected_reused_pp": pp(genuine[before][0]),
            "selected_heldout_pp": pp(genuine[before][1]),
            "loss_vs_static_pp": 0.0,
        }
    ]
    if endpoints is None:
        return rows + [base | {"budget": k} for k in budgets]

    candidate_scores = [both(row) for row in candidates]

    def choice(router: tuple[Fraction, Fraction]) -> int:
        """Position of the public winner; the router stands last, so ties favour genuine rows."""
        pool = [*genuine, router]
        return min(range(len(pool)), key=lambda m: rounded(1 - pool[m][0]))

    def selection_loss(router: tuple[Fraction, Fraction]) -> Fraction:
        return genuine[before][1] - [*genuine, router][choice(router)][1]

    static_loss = selection_loss(both(routed(routes[1]))) if budgets else Fraction(0)
    for k in budgets:
        router = both(routed(routes[k]))
        pool = [*genuine, router]
        last = len(names)
        after = choice(router)
        rank_s = rank([s for s, _ in pool], last)
        rank_h = rank([h for _, h in pool], last)
        ranks_h = [rank([h for _, h in pool], m) for m in (before, after)]
        loss = selection_loss(router)
        rows.append(
            base
            | {
                "budget": k,
                "selected_model": ROUTER if after == last else names[after],
                "selected_router": after == last,
                "false_winner": rank_s == 1 and rank_h > 1,
                "rank_drop": ranks_h[1] - ranks_h[0],
                "rank_reused": rank_s,
                "rank_heldout": rank_h,
                "selection_loss_pp": pp(loss),
                "score_gap_pp": pp(score_gap([*genuine, *candidate_scores[: k - 1], router])),
                "selected_reused_pp": pp(pool[after][0]),
                "selected_heldout_pp": pp(pool[after][1]),
                "router_reused_pp": pp(router[0]),
                "router_heldout_pp": pp(router[1]),
                "loss_vs_static_pp": pp(loss - static_loss),
                "heldout_regret_pp": pp(max(h for _, h in genuine) - router[1]),
                "route": routes[k],
            }
        )
    return rows
