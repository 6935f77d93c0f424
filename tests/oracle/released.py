"""The benchmark attack with a mechanism between score and release, slowly and exactly.

As attack.py (whose records and readings these are), from the spec of the mechanisms: "common
ground", "what the attacker does with it", and the rules. Deterministic mechanisms, one trial at a
time, in fractions. Readings settled where the specification leaves room:

* A mechanism acts on the interface's losses at the released precision; nothing is rounded behind
  it. `on=overall` and interfaces that release a place or a range act on the released overall alone.
* The released overall is the mean of the released numbers, not rounded: under `item_mean` a
  number weighs as its reused items do, else as its tasks do; a task whose items are of several
  categories lies in these in equal parts.
* Without a mechanism or place (rules on budgets alone) the overall is what attack.py releases.
* Endpoints see the released numbers of the genuine rows that are shown, and the order of these.
  `endpoint_view="tasks"` looks at task scores and overalls without the mechanism. An endpoint that
  is not shown then has the number it would be shown with: who sees all task scores knows it.
* `top`: of the genuine rows the K with the smallest loss are shown, by name among equals.
* The board goes by what is released of the overall, `rank` by the losses behind it. What it does
  not show stands behind everything, the team behind all genuine rows that are not shown either.
* With `state="global"` the board is one sequence from the genuine rows on: whoever set R of a
  Ladder last is first, and the board's error counts from the genuine rows. Their own numbers are
  those that teams of one submission would get.
* A number of its own: released of the submission itself, on one number at least.
* A rule on budgets makes a budget k the budget e that it leaves: routers, history and board are
  those of e submissions. `release_rate` is the share of e times what is scored of k. A submission
  of a batch of which only the last counts is not drawn. `static` submits once.
* How far a board of places or ranges is from the scores nobody can say: `board_error_pp` is None.
"""

from fractions import Fraction

from .attack import (
    COLUMNS,
    ROUTER,
    check,
    check_kept,
    check_split,
    choose_endpoints,
    hash_sign,
    hash_split,
    overall,
    pair_order_kept,
    pool_small_tasks,
    pp,
    public_profile,
    rank,
    score_gap,
    tie_sign,
    winner,
)
from .boards import on_present_set, scored, visible_before
from .interface import Interface
from .scoring import (
    check_scoring,
    coordinate_weights,
    native_task_values,
    released_overall,
    scoring_categories,
    task_categories,
    task_means,
    win_rates,
)
from .split import OracleBenchmark, OracleRefusal, task_names
from .walking import Numbers, Part, Told, team_row, walk

ON_BUDGETS = ("cap", "delay", "refresh")
HIDDEN = Fraction(2**40)  # a loss behind all others


def interface_part(interface: str) -> Part | None:
    """The last part of a chain for an interface of places or ranges."""
    kind, _, rest = interface.partition(":")
    if kind == "rank":
        return kind, {"everyone": rest == "all"}
    if kind in ("top", "bucket"):
        return kind, {"size": int(rest)}
    if kind == "interval":
        return kind, {"width": Fraction(rest)}
    return (kind, {}) if kind == "interval_rank" else None


def budget_of(budget: int, mechanism: list[Part], submitter: str, *, of_all: bool = False) -> int:
    """The submissions that count at a budget; `of_all`: on whatever reused set."""
    if submitter == "static":
        return 1
    values = dict(mechanism)
    if "cap" in values:
        cap = {"total": None, "per_period": None, "periods": None, "accounts": 1} | values["cap"]
        budget = scored(budget, cap["total"], cap["per_period"], cap["periods"], cap["accounts"])
    if "refresh" in values and not of_all:
        budget = on_present_set(budget, values["refresh"]["every"])
    if "delay" in values and values["delay"].get("kind", "each") == "last":
        # One of every whole batch before the last submission, and that.
        budget = 1 + (budget - 1) // values["delay"]["batch"]
    return budget


def candidates_read(budget: int, mechanism: list[Part]) -> int:
    """Candidates whose numbers have appeared before the last of `budget` that count."""
    delay = dict(mechanism).get("delay")
    if delay is None or delay.get("kind", "each") == "last":
        return budget - 1
    return visible_before(budget, delay["batch"])


class Board:
    """One reused side behind an interface and a mechanism: what is released on it."""

    def __init__(
        self, bench, side, *, interface, mechanism, on, state, scoring, precision, group_seed
    ):
        last = interface_part(interface)
        self.parts = [part for part in mechanism if part[0] not in ON_BUDGETS]
        remembers = any(name == "ladder" for name, _ in self.parts)
        one = last is not None or (remembers and on == "overall")
        self.acting = "aggregate" if one else interface
        self.bench, self.side, self.on, self.scoring, self.precision = (
            bench, side, on, scoring, precision,
        )  # fmt: skip
        self.surface = Interface(
            bench, side, interface=self.acting, group_seed=group_seed, scoring=scoring,
            precision=precision,
        )  # fmt: skip
        self.coordinates = sorted(set(self.surface.of_item))
        self.plain = not self.parts and last is None
        self.numbers = Numbers(self._items(), [] if self.plain else self._weights())
        self.names = sorted(bench.models)
        rows = dict(zip(bench.models, bench.scores, strict=True))
        self.true = [self.losses(list(rows[m])) for m in self.names]
        self.start = self.true if state == "global" else None
        self.genuine = [self.submit([row])[0] for row in self.true]
        self.known = [told.released for told in self.genuine]  # were they shown
        self.by_place = False
        if last is not None:
            self._place(last)

    def _place(self, last: Part) -> None:
        """Put the interface's own part behind the mechanism, on its losses of the genuine rows."""
        kind, values = last
        pool = [row[0] for row in self.known]
        self.parts = [*self.parts, (kind, values | {"pool": pool})]
        if kind == "top":
            order = sorted(range(len(pool)), key=lambda m: (pool[m], m))
            shown = set(order[: values["size"]])
            self.genuine = [
                Told([pool[m] if m in shown else None], [True]) for m in range(len(pool))
            ]
            return
        self.by_place = True
        self.genuine = [self.submit([row])[0] for row in self.true]
        self.known = [told.released for told in self.genuine]

    def losses(self, row: list[Fraction]) -> list[Fraction]:
        released = self.surface.release(row)
        return [1 - released[c] for c in self.coordinates]

    def submit(self, rows: list[list[Fraction]], board=None) -> list[Told]:
        return walk(self.parts, rows, self.numbers, on=self.on, board=board)

    def overall(self, told: Told) -> Fraction | None:
        """The loss by which the board places what it shows; None where it shows nothing."""
        if not told.whole:
            return None
        if told.place is not None:
            return told.place
        if len(self.numbers.weights) != len(told.released):
            raise OracleRefusal("the overall is no weighted mean of the numbers")
        return self.numbers.overall(told.released)

    def _items(self) -> list[int]:
        return [
            sum(c == d and on for c, on in zip(self.surface.of_item, self.side, strict=True))
            for d in self.coordinates
        ]

    def _weights(self) -> list[Fraction]:
        if len(self.coordinates) == 1:
            return [Fraction(1)]
        if self.scoring in ("chance_normalised", "mean_win_rate"):
            raise OracleRefusal("the overall is no weighted mean of the numbers")
        items = self._items()
        if self.scoring == "item_mean":
            return [Fraction(n, sum(items)) for n in items]
        tasks = coordinate_weights(
            task_names(self.bench), scoring_categories(self.bench, self.scoring)
        )
        weights = dict.fromkeys(self.coordinates, Fraction(0))
        for task, weight in tasks.items():
            lies_in = {
                c
                for c, item in zip(self.surface.of_item, self.bench.items, strict=True)
                if item.task == task
            }
            for c in lies_in:
                weights[c] += weight / len(lies_in)
        return [weights[c] for c in self.coordinates]


def vote(weight: Fraction, submitter: str) -> Fraction:
    """What a submitter makes of a weight that it can see."""
    if submitter == "sign":
        return Fraction((weight > 0) - (weight < 0))
    if submitter == "majority":
        return Fraction(weight >= 0)
    return weight


def run_released(
    bench: OracleBenchmark,
    *,
    trial: int,
    budgets: list[int],
    mechanism: list[Part] = (),  # type: ignore[assignment]
    state: str = "team",
    on: str = "overall",
    decoder: str = "aware",
    submitter: str = "linear",
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
    """Records as `run_trial` gives them, under a mechanism.

    `mechanism` is a chain of (name, values) from left to right, sizes as fractions of the score.
    """
    mechanism = list(mechanism)
    bench = pool_small_tasks(bench, min_task_items)
    check(bench)
    budgets = sorted(set(budgets) - {0})
    if reused is None:
        reused = hash_split(bench, split_seed_base + trial, holdout_fraction)
    check_split(bench, reused)
    whole, heldout = reused, [not side for side in reused]
    if kept is not None:
        check_kept(bench, whole, kept)
        reused = kept
    for side in (whole, reused):
        check_scoring(bench, side, heldout, scoring)
    board, full = (
        Board(
            bench, side, interface=interface, mechanism=mechanism, on=on, state=state,
            scoring=scoring, precision=precision, group_seed=group_seed,
        )
        for side in (reused, whole)
    )  # fmt: skip
    names = board.names
    scores = {m: list(row) for m, row in zip(bench.models, bench.scores, strict=True)}
    by_wins = scoring == "mean_win_rate"

    def entry(row: list[Fraction], side: list[bool]):
        """What ranks a row where nothing stands between its score and its release."""
        if by_wins:
            return native_task_values(bench, row, side, precision)
        return released_overall(bench, row, side, scoring, precision)

    def ranking(pool: list) -> list[Fraction]:
        return win_rates(pool) if by_wins else pool

    def on_board(of: Board, m: int, hidden: Fraction | None):
        loss = of.overall(of.genuine[m])
        return hidden if loss is None else 1 - loss

    # Endpoints.
    every = range(len(names))
    shown = [m for m in every if full.genuine[m].whole or endpoint_view == "tasks"]
    if full.plain or endpoint_view == "tasks":
        order = ranking([entry(scores[m], whole) for m in names])
    elif full.by_place:
        order = [1 - told.released[0] for told in full.genuine]
    else:
        order = [on_board(full, m, None) for m in every]
    tasks_seen = full.acting == "task" or endpoint_view == "tasks"
    if endpoint_view == "tasks":
        seen = public_profile(bench, whole, precision)
    else:
        seen = {
            names[m]: {
                c: 1 - x for c, x in zip(full.coordinates, full.genuine[m].released, strict=True)
            }
            for m in shown
        }
    categories = task_categories(bench) if tasks_seen else None
    if rule == "public_top5" and scoring != "equal_category":
        categories = None
    by_name = {names[m]: order[m] for m in shown}
    endpoints = choose_endpoints(seen, by_name, rule, categories)

    # The attack.
    def count(budget: int) -> int:
        return budget_of(budget, mechanism, submitter)

    candidates: list[list[Fraction]] = []
    routes: dict[int, list[int]] = {}
    if endpoints is not None and budgets:
        a, b = (names.index(m) for m in endpoints)

        def routed(row: list[int]) -> list[Fraction]:
            one, other = scores[names[a]], scores[names[b]]
            return [x if g > 0 else y for x, y, g in zip(one, other, row, strict=True)]

        needed = max(count(k) for k in budgets) - 1
        hashes = [item.prompt_hash for item in bench.items]
        if signs is None:
            signs = [[hash_sign(routing_seed, j, h) for h in hashes] for j in range(needed)]
        if ties is None:
            ties = [tie_sign(tie_seed, h) for h in hashes]
        candidates = [routed(row) for row in signs[:needed]]
        told = board.submit([board.losses(row) for row in candidates], board.start)
        of_a, of_b = board.known[a], board.known[b]
        place = [board.coordinates.index(c) for c in board.surface.of_item]

        def weight(answer: Told, n: int) -> Fraction:
            x, own = answer.released[n], answer.own[n]
            if x is None or not (own or decoder == "naive"):
                return Fraction(0)
            return vote(of_a[n] + of_b[n] - 2 * x, submitter)

        def final_router(read: int) -> list[int]:
            if read == 0:
                lead = [of_b[n] - of_a[n] for n in place]
            else:
                lead = [Fraction(0)] * len(place)
                for answer, row in zip(told[:read], signs, strict=False):
                    mine = [weight(answer, n) for n in range(len(of_a))]
                    lead = [v + mine[n] * g for v, n, g in zip(lead, place, row, strict=True)]
            return [1 if v > 0 else -1 if v < 0 else t for v, t in zip(lead, ties, strict=True)]

        reads = {candidates_read(count(k), mechanism) for k in [1, *budgets]}
        routes = {read: final_router(read) for read in reads}

    # The evaluator's side.
    def both(row: list[Fraction]) -> tuple[Fraction, Fraction]:
        return overall(bench, row, reused, scoring), overall(bench, row, heldout, scoring)

    def heldout_entry(row: list[Fraction]):
        return task_means(bench, row, heldout) if by_wins else overall(bench, row, heldout, scoring)

    genuine = [both(scores[m]) for m in names]
    genuine_gap = score_gap(genuine)
    genuine_heldout = [heldout_entry(scores[m]) for m in names]
    if board.plain:
        genuine_public = [entry(scores[m], reused) for m in names]
        public = ranking(genuine_public)
    else:
        genuine_public = public = [on_board(board, m, 1 - HIDDEN) for m in every]
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

    last = len(names)

    def attacked(k: int) -> dict:
        """What is found at a budget."""
        effective = count(k)
        route = routes[candidates_read(effective, mechanism)]
        router = routed(route)
        submitted = [*candidates[: effective - 1], router]
        share = Fraction(budget_of(k, mechanism, submitter, of_all=True), k)
        at, answers, error = effective - 1, effective, Fraction(0)
        if board.plain:
            values = ranking([*genuine_public, entry(router, reused)])
        else:
            true = [board.losses(row) for row in submitted]
            answered = board.submit(true, board.start)
            answers = sum(any(x.own) for x in answered)
            standing, at = team_stands(board, answered)
            values = [*genuine_public, 1 - standing]
            error = None if board.by_place else board_error(board, true, answered)
        row = submitted[at]
        hidden = ranking([*genuine_heldout, heldout_entry(row)])
        pool = [*genuine, both(row)]
        after = winner(values)
        return {
            "values": values, "hidden": hidden, "pool": pool, "after": after, "route": route,
            "loss": genuine[before][1] - pool[after][1], "router": both(router), "error": error,
            "rate": Fraction(answers, effective) * share,
            "history": [*genuine, *map(both, submitted)],
        }  # fmt: skip

    static_loss = attacked(1)["loss"] if budgets else Fraction(0)
    for k in budgets:
        found = attacked(k)
        after, pool, hidden, router = (found[x] for x in ("after", "pool", "hidden", "router"))
        rank_s, rank_h = rank(found["values"], last), rank(hidden, last)
        rows.append(
            base
            | {
                "budget": k,
                "selected_model": ROUTER if after == last else names[after],
                "selected_router": after == last,
                "false_winner": rank_s == 1 and rank_h > 1,
                "rank_drop": rank(hidden, after) - rank(hidden, before),
                "rank_reused": rank_s,
                "rank_heldout": rank_h,
                "selection_loss_pp": pp(found["loss"]),
                "score_gap_pp": pp(score_gap(found["history"])),
                "selected_reused_pp": pp(pool[after][0]),
                "selected_heldout_pp": pp(pool[after][1]),
                "router_reused_pp": pp(router[0]),
                "router_heldout_pp": pp(router[1]),
                "loss_vs_static_pp": pp(found["loss"] - static_loss),
                "release_rate": float(found["rate"]),
                "board_error_pp": None if found["error"] is None else pp(found["error"]),
                "heldout_regret_pp": pp(max(h for _, h in genuine) - router[1]),
                "route": found["route"],
            }
        )
    return rows


def team_stands(board: Board, answered: list[Told]) -> tuple[Fraction, int]:
    """The loss at which the board has the team, and which submission it is shown by.

    A team that is not shown stands behind everybody, and for its last submission.
    """
    kind, end = team_row(board.parts), len(answered) - 1
    takers = [t for t, told in enumerate(answered) if told.whole and any(told.own)]
    if kind == "own":
        takers = [t for t in takers if t == end]
    if not takers:
        return 2 * HIDDEN, end
    if kind == "best":
        at = min(takers, key=lambda t: (board.overall(answered[t]), t))
    else:
        at = takers[-1]
    standing = board.overall(answered[at])
    if board.start is not None and kind == "last":
        standing = -HIDDEN  # it set R last
    return standing, at


def board_error(board: Board, true: list, answered: list[Told]) -> Fraction:
    """Largest |best true overall so far - best released one so far|, where one is released."""
    best, shown, largest = [], [], Fraction(0)
    if board.start is not None:
        best = [board.numbers.overall(row) for row in board.true]
        # A Ladder repeats what it released last; a frontier stands, seen again or not.
        if team_row(board.parts) != "last":
            shown = [board.overall(told) for told in board.genuine if told.whole]
    for losses, told in zip(true, answered, strict=True):
        best.append(board.numbers.overall(losses))
        if told.whole:
            shown.append(board.overall(told))
        if shown:
            largest = max(largest, abs(min(best) - min(shown)))
    return largest
