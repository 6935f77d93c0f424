"""The benchmark attack, slowly and exactly: one trial at a time, rationals and plain loops.

Written from the attack specification alone ("section n" in this package is a section of it). It
shares no code with the engine and uses the standard library only. Every quantity is an exact
`Fraction` until a record is written; only then does it become a float, in percentage points.

Readings settled where the specification leaves room (those of `interface` are in interface.py):

* Row 0 carries the trial's eligibility and, where it is eligible, its endpoints. Everything that
  belongs to the final router (scores, ranks, held-out regret) is None there.
* An ineligible trial from budget 1 on keeps what no attack changes (`no_attack_*`,
  `genuine_gap_pp`, `pair_order_kept`); the rest is None.
* The order of a pair and how far it is apart go by what ranks the genuine models among themselves
  on either side. Nothing stands between a score and its release: every submission is told its own.
* The released overall, at the released precision, is behind every choice and rank on the reused
  side: public winner, frontier order, leaders, `public_top5`, false winner, `rank_reused`. Scores,
  losses, gaps and regret are differences of unrounded scores, and nothing held out is rounded.
* Under `mean_win_rate` the same choices and ranks, and those held out, go by win rates within the
  pool ranked: genuine models before the attack, genuine models and final router after it. The
  reused side compares native task values, whatever the interface; held out the exact ones.
* Candidates, endpoints and static router act on the interface's coordinates. The endpoint rule
  sees these, or the native task values (`endpoint_view="tasks"`).
* Orientation weighs coordinates within categories whenever they are tasks, each in one category,
  whatever the scoring. The weights of `public_top5` are "those of the released overall", so there
  the categories count only under `equal_category`; otherwise every coordinate has the same.
* `public_top5` compares overalls and distances exactly; only losses in rule 4 of section 3, the
  leaders of `non_leading` and the metrics of section 7 are rounded to 10 decimals.
* `non_leading` applies rules 1 to 5 to the models that remain (frontier among themselves).
* With fewer reused items (`kept`) the endpoints are those of the whole reused side; whatever else
  is public or reused (profiles, feedback, ranks, winners, scores, history) is of what was kept.
* Chance values are looked at under `chance_normalised` only, after `min_task_items` has pooled.
"""

from __future__ import annotations

from fractions import Fraction

from .endpoints import choose_endpoints
from .interface import Interface, public_profile
from .routers import check_signs, final_router, final_routers, hash_sign, tie_sign
from .scoring import (
    check_scoring,
    native_task_values,
    overall,
    released_overall,
    rounded,
    task_categories,
    task_means,
    win_rates,
)
from .split import (
    OracleBenchmark,
    OracleItem,
    OracleRefusal,
    check,
    check_kept,
    check_split,
    hash_split,
    pool_small_tasks,
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
    "pool_small_tasks",
    "public_profile",
    "run_trial",
    "tie_sign",
]

ROUTER = "Final router"


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


def winner(values: list[Fraction]) -> int:
    """Position of the smallest rounded loss, the first of equals.

    Genuine models stand in name order and a final router after them, so that ties favour genuine
    models, then name order.
    """
    return min(range(len(values)), key=lambda m: rounded(1 - values[m]))


def pair_order_kept(public: list[Fraction], hidden: list[Fraction]) -> float | None:
    """Share of pairs at least 1 pp apart held out whose order the public values get right."""
    kept = []
    for one in range(len(public)):
        for other in range(one):
            apart = rounded(1 - hidden[one]) - rounded(1 - hidden[other])
            seen = rounded(1 - public[one]) - rounded(1 - public[other])
            if abs(apart) >= Fraction(1, 100):
                kept.append((apart > 0 and seen > 0) or (apart < 0 and seen < 0))
    return sum(kept) / len(kept) if kept else None


def pp(value: Fraction) -> float:
    return float(100 * value)


COLUMNS = (
    "trial", "budget", "eligible", "endpoint_a", "endpoint_b", "no_attack_model",
    "selected_model", "selected_router", "false_winner", "rank_drop", "rank_reused",
    "rank_heldout", "selection_loss_pp", "score_gap_pp", "genuine_gap_pp", "no_attack_reused_pp",
    "no_attack_heldout_pp", "selected_reused_pp", "selected_heldout_pp", "router_reused_pp",
    "router_heldout_pp", "loss_vs_static_pp", "pair_order_kept", "release_rate",
    "board_error_pp", "heldout_regret_pp", "route",
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
    precision: int | None = None,
    interface: str = "task",
    group_seed: str = "jaxbench",
    endpoint_view: str = "released",
    min_task_items: int = 1,
    kept: list[bool] | None = None,
) -> list[dict]:
    """One record for budget 0 (no attack), then one per budget, rising.

    `precision` is in decimals of the released fraction, None releases exact numbers. `reused`,
    `signs` and `ties` have one entry per item and stand in for the hashed ones. `kept` says which
    of the reused items stay public (see nested.py), None: all.
    """
    bench = pool_small_tasks(bench, min_task_items)
    check(bench)
    if precision is not None and (type(precision) is not int or precision < 0):
        raise OracleRefusal("precision is None (exact) or a number of decimals")
    if endpoint_view not in ("released", "tasks"):
        raise OracleRefusal(f"endpoint_view {endpoint_view!r} is not in the oracle")
    budgets = sorted(set(budgets) - {0})
    if any(k < 1 for k in budgets):
        raise OracleRefusal("a budget is at least 1")
    if reused is None:
        reused = hash_split(bench, split_seed_base + trial, holdout_fraction)
    check_split(bench, reused)
    reused = [bool(side) for side in reused]
    heldout = [not side for side in reused]

    whole = reused
    if kept is not None:
        check_kept(bench, whole, kept)
        reused = [bool(side) for side in kept]
    check_scoring(bench, whole, heldout, scoring)
    check_scoring(bench, reused, heldout, scoring)
    surface, of_whole = (
        Interface(
            bench,
            side,
            interface=interface,
            group_seed=group_seed,
            scoring=scoring,
            precision=precision,
        )
        for side in (reused, whole)
    )
    by_wins = scoring == "mean_win_rate"

    # What ranks a pool of rows: their released overalls (held out: their scores), or their win
    # rates in the pool. An entry of a pool is what the one or the other needs to know of a row.
    def entry(row: list[Fraction], side: list[bool]):
        if by_wins:
            return native_task_values(bench, row, side, precision)
        return released_overall(bench, row, side, scoring, precision)

    def public_entry(row: list[Fraction]):
        return entry(row, reused)

    def heldout_entry(row: list[Fraction]):
        return task_means(bench, row, heldout) if by_wins else overall(bench, row, heldout, scoring)

    def ranking(pool: list) -> list[Fraction]:
        return win_rates(pool) if by_wins else pool

    # Public side: the endpoints.
    names = sorted(bench.models)  # genuine models in name order everywhere below
    scores = {m: list(row) for m, row in zip(bench.models, bench.scores, strict=True)}
    genuine_public = [public_entry(scores[m]) for m in names]
    public = ranking(genuine_public)
    profile = {m: surface.release(scores[m]) for m in names}
    tasks_seen = interface == "task" or endpoint_view == "tasks"
    if tasks_seen:
        seen = public_profile(bench, whole, precision)
    else:
        seen = {m: of_whole.release(scores[m]) for m in names}
    order = ranking([entry(scores[m], whole) for m in names])
    categories = task_categories(bench) if tasks_seen else None
    if rule == "public_top5" and scoring != "equal_category":
        categories = None
    endpoints = choose_endpoints(seen, dict(zip(names, order, strict=True)), rule, categories)

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
        released = [surface.release(row) for row in candidates]
        routes = final_routers(
            [1, *budgets], surface.of_item, profile[a], profile[b], released, signs, ties
        )

    # Evaluator's side: (reused, held-out) unrounded score of everything.
    def both(row: list[Fraction]) -> tuple[Fraction, Fraction]:
        return overall(bench, row, reused, scoring), overall(bench, row, heldout, scoring)

    genuine = [both(scores[m]) for m in names]
    genuine_gap = score_gap(genuine)
    genuine_heldout = [heldout_entry(scores[m]) for m in names]
    before = winner(public)

    base = dict.fromkeys(COLUMNS)
    base.update(
        trial=trial,
        eligible=endpoints is not None,
        no_attack_model=names[before],
        genuine_gap_pp=pp(genuine_gap),
        no_attack_reused_pp=pp(genuine[before][0]),
        no_attack_heldout_pp=pp(genuine[before][1]),
        pair_order_kept=pair_order_kept(public, ranking(genuine_heldout)),
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

    def attacked(route: list[int]) -> tuple[list[tuple[Fraction, Fraction]], list[Fraction]]:
        """Scores and public values of the genuine models and, last, of the router."""
        row = routed(route)
        return [*genuine, both(row)], ranking([*genuine_public, public_entry(row)])

    def selection_loss(route: list[int]) -> Fraction:
        pool, public_values = attacked(route)
        return genuine[before][1] - pool[winner(public_values)][1]

    static_loss = selection_loss(routes[1]) if budgets else Fraction(0)
    for k in budgets:
        pool, public_values = attacked(routes[k])
        heldout_values = ranking([*genuine_heldout, heldout_entry(routed(routes[k]))])
        after = winner(public_values)
        loss = selection_loss(routes[k])
        router = pool[-1]
        last = len(names)
        rank_s = rank(public_values, last)
        rank_h = rank(heldout_values, last)
        ranks_h = [rank(heldout_values, m) for m in (before, after)]
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
                "release_rate": 1.0,
                "board_error_pp": 0.0,
                "heldout_regret_pp": pp(max(h for _, h in genuine) - router[1]),
                "route": routes[k],
            }
        )
    return rows
