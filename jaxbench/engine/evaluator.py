"""The evaluator's view of a run: splits, tallies, what is released, and public profiles.

The wall runs through this file: `Board`, splits and scores stay here, and the attacker's functions
are handed `PublicProfiles` made of released numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Int

from jaxbench import attacker, leaderboard, metrics
from jaxbench.benchmark import Benchmark, nested, pool_small_tasks, scoring, split
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.container import check_prompts
from jaxbench.benchmark.public_part import hash_public_part, prng_public_part
from jaxbench.benchmark.units import Units
from jaxbench.engine.channels import Channelled, Read, board_profiles, channelled
from jaxbench.engine.conditions import Condition, budgets_run
from jaxbench.engine.profiles import public_profiles, terms
from jaxbench.engine.reduced_range import check_benchmark, check_release
from jaxbench.engine.tally import Split, Tally
from jaxbench.errors import BadRequest
from jaxbench.options import AttackRequest

# Every unit is a few products of its own in the compiled program.
MOST_UNITS = 256
# Releases and scoring rules that are held at a time.
MOST_MADE = 1024
Made = TypeVar("Made")
# What may differ between requests that one evaluator serves: trials and routers stay the same.
VARIED = (
    "interface", "endpoints", "endpoints_given", "precision", "reused_items", "extra_overall",
    "mechanism", "state", "on", "clip", "decoder",
)  # fmt: skip


class Evaluator:
    """What all conditions and banks share: one benchmark, its splits, and how it is scored.

    **Arguments:** `requests`: one, or several that differ in what is released, in endpoint rules,
    precision or reused items, and so share trials and routers.

    **Errors:** `BadRequest` where the benchmark cannot be split, scored or released as asked;
    `ValueError` where requests differ in anything else.
    """

    def __init__(self, benchmark: Benchmark, *requests: AttackRequest):
        if len(benchmark.models) < 2:
            raise BadRequest(
                f"found {len(benchmark.models)} model in {benchmark.name}; an attack mixes two "
                "models, so at least two are needed"
            )
        check_prompts(benchmark.prompt_hashes, benchmark.item_tasks, benchmark.items)
        self.request = requests[0]
        _check_shared(requests)
        self._made: dict[tuple, Any] = {}
        self.benchmark = pool_small_tasks(benchmark, self.request.min_task_items)
        self.plan = split.SplitPlan(self.benchmark, self.request.holdout_fraction)
        # The static router is always computed: other budgets are compared with it.
        self.budgets = tuple(sorted({1, *self.request.budgets}))
        conditions = (c for request in requests for c in self.conditions_of(request))
        self.conditions = tuple(dict.fromkeys(conditions))
        # A cap, a delay or a refresh makes a budget what another one is without it.
        self.budgets_run = budgets_run(self.conditions, self.budgets)
        sizes = {c.reused_items for c in self.conditions if c.reused_items is not None}
        for size in sorted(sizes):
            nested.check_size(self.plan, size)
        self.interfaces = list(
            dict.fromkeys(i for c in self.conditions for i in (c.acting, c.parsed))
        )
        self.units = self._units()
        if self.units.count > MOST_UNITS:
            raise BadRequest(
                f"{benchmark.name} has {self.units.count} tasks (or subtasks); at most "
                f"{MOST_UNITS} can be attacked, since a program grows with them: pool small ones "
                "with min_task_items"
            )
        if self.request.simulator == "reduced":
            check_benchmark(self.benchmark)
            for condition in self.conditions:
                release = self.release(self.first, condition)
                check_release(self.benchmark, self.units, release, condition.interface)

    @cached_property
    def first(self) -> Tally:
        """The first trial's tally: what does not change between trials."""
        return self.tally(self.split(np.zeros(1, dtype=np.int64)))

    def conditions_of(self, request: AttackRequest) -> list[Condition]:
        """The conditions that a request asks for."""
        found = []
        for interface in request.interface:
            seen = self._numbers_seen(Condition.of(request, "", interface))
            rules = request.endpoint_rules(seen)
            found += [Condition.of(request, rule, interface) for rule in rules]
        return found

    def coordinates(self, condition: Condition) -> int:
        """How many numbers are released."""
        return self.release(self.first, condition).coordinates + condition.extra_overall

    def split(self, trials: Int[np.ndarray, " trials"]) -> Split:
        """The whole splits of some trials."""
        if self.request.split == "hash":
            base = self.request.split_seed_base
            reused = split.hash_splits(self.plan, trials, seed_base=base)
        else:
            reused = split.prng_splits(self.plan, trials, seed=self.request.seed)
        return Split(reused, ~reused)

    def fewer_reused(
        self, whole: Split, trials: Int[np.ndarray, " trials"], sizes: Sequence[int | None]
    ) -> dict[int | None, Split]:
        """The splits with fewer reused items (None: all); the held-out side stays the same."""
        asked = [size for size in sizes if size is not None]
        fewer = nested.reused_subsets(
            self.plan, whole.reused, trials, sizes=asked, seed=self.request.seed
        )
        return {None: whole} | {
            size: Split(reused, whole.heldout) for size, reused in zip(asked, fewer, strict=True)
        }

    def tally(self, sides: Split) -> Tally:
        """Count some trials and score the genuine models."""
        counted, hidden = self._counted(sides.reused), self._counted(sides.heldout)
        rule = self.request.scoring
        board = leaderboard.tally(self.benchmark, self.units, sides.reused, sides.heldout)

        def overall(of: np.ndarray) -> scoring.Overall:
            made = partial(scoring.scoring_rule, self.benchmark, self.units, rule, of)
            return self._once(made, of, "overall")

        reused, heldout = overall(counted), overall(hidden)
        return Tally(
            split=sides,
            counted=counted,
            board=board,
            reused=reused,
            heldout=heldout,
            genuine=metrics.GenuineScores(
                reused=reused(board.reused.astype(np.float64)),
                heldout=heldout(board.heldout.astype(np.float64)),
            ),
        )

    def release(self, tally: Tally, condition: Condition) -> leaderboard.Release:
        """The numbers that are released about a submission."""
        made = partial(
            leaderboard.release,
            self.benchmark, self.units, condition.acting,
            counted=tally.counted, ticks=_ticks(condition), rule=self.request.scoring,
            group_seed=self.request.group_seed,
        )  # fmt: skip
        return self._once(made, tally.counted, "release", condition.acting, condition.precision)

    def channelled(
        self, tally: Tally, condition: Condition, trials: Int[np.ndarray, " trials"]
    ) -> Channelled:
        """What stands between the numbers of the submissions of some trials and their release."""
        return channelled(
            self.benchmark,
            self.units,
            condition,
            self.release(tally, condition),
            self._reads(tally, condition, trials),
            counted=tally.counted,
            trials=trials,
            rule=self.request.scoring,
            seed=self.request.seed,
            capacity=self.budgets_run[-1],
        )

    def public_part(
        self,
        reused: Bool[np.ndarray, "trials items"],
        trials: Int[np.ndarray, " trials"],
        share: Fraction,
        by_task: tuple[bool, bool],
    ) -> Bool[np.ndarray, "trials items"]:
        """The reused items of some trials that may be seen.

        **Arguments:** `by_task`: whether every task needs such items, and others.

        **Errors:** `BadRequest` where they, or the rest, lack what the scores need.
        """
        if self.request.split == "hash":
            base = self.request.split_seed_base
            part = hash_public_part(self.plan, reused, trials, share=share, seed_base=base)
        else:
            part = prng_public_part(self.plan, reused, trials, share=share, seed=self.request.seed)
        sides = (("public", part), ("other", reused & ~part))
        for (word, side), needed in zip(sides, by_task, strict=True):
            for task, name in enumerate(self.benchmark.tasks):
                missing = ~side[:, self.benchmark.task_index == task].any(axis=1)
                if needed and missing.any():
                    raise BadRequest(
                        f"public={float(share):g}: task {name!r} has no {word} reused item in "
                        f"trial {trials[int(missing.argmax())]}, and every task needs one; use "
                        "interface=aggregate (or on=overall) with scoring=item_mean, a share "
                        "nearer to 1/2, or pool small tasks with min_task_items"
                    )
        return part

    def _reads(
        self, tally: Tally, condition: Condition, trials: Int[np.ndarray, " trials"]
    ) -> tuple[Read, ...]:
        """What a mechanism looks at: the reused side, or the rest and a public part of it."""
        compared = condition.part("thresholdout")
        if compared is None:
            counts = tally.board.reused.astype(np.float64)
            return (Read(tally.split.reused, self.release(tally, condition), counts),)
        share = compared["public"]
        assert isinstance(share, Fraction)
        by_task = condition.acting.kind != "aggregate" or self.request.scoring != "item_mean"
        part = self.public_part(tally.split.reused, trials, share, (by_task, by_task))
        found = []
        for items in (tally.split.reused & ~part, part):
            other = self.tally(Split(items, tally.split.heldout))
            counts = other.board.reused.astype(np.float64)
            found.append(Read(items, self.release(other, condition), counts))
        return tuple(found)

    def profiles(
        self, tally: Tally, condition: Condition, made: Channelled | None = None
    ) -> attacker.PublicProfiles:
        """The released numbers of the genuine models, as the endpoint rule sees them.

        With `made` they are what a mechanism lets through.
        """
        if made is not None:
            tasks = condition.acting.kind == "task"
            return board_profiles(made, self.benchmark, self.request.scoring, tasks=tasks)
        counts = tally.board.reused.astype(np.float64)
        by_task = self.request.endpoint_view == "tasks"
        tasks = self._task_scores(tally, condition)
        if self.request.scoring == "mean_win_rate":
            wins = metrics.half_wins(tasks(counts))[:, :, None]
            of = 2 * len(self.benchmark.tasks) * (len(self.benchmark.models) - 1)
            overall = wins, np.array([[of]]), (Fraction(1),)
        else:
            overall = terms(self._released_overall(tally, condition), counts)
        return public_profiles(
            self.benchmark,
            counts,
            tasks if by_task else self.release(tally, condition).chain,
            overall,
            tasks=by_task or condition.interface == "task",
            rule=self.request.scoring,
            extra_overall=condition.extra_overall,
        )

    def ranking(
        self,
        tally: Tally,
        condition: Condition,
        reused: np.ndarray,
        heldout: np.ndarray,
        router: metrics.RouterScores,
    ) -> tuple[metrics.PoolValues, metrics.PoolValues]:
        """What rows are ranked by on both sides; `reused`, `heldout`: router counts per unit.

        For conditions without a channel: what is released of a row is its own score.
        """
        public = tally.board.reused.astype(np.float64)
        if self.request.scoring == "mean_win_rate":
            native = self._task_scores(tally, condition)
            # Held-out scores are never rounded; within a task their counts order them.
            counts = leaderboard.task_scores(self.units, tally.counted, None)
            hidden = tally.board.heldout.astype(np.float64)
            return (
                metrics.by_win_rate(native(public), native(reused)),
                metrics.by_win_rate(counts(hidden), counts(heldout)),
            )
        released = self._released_overall(tally, condition)
        return (
            metrics.by_score(released(public), released(reused)),
            metrics.by_score(tally.genuine.heldout, router.row_heldout),
        )

    def _units(self) -> Units:
        """Units as fine as any interface needs, in the order of the first one's coordinates."""
        interfaces = self.interfaces
        for interface in interfaces:
            if interface.kind == "category" and self.benchmark.categories is None:
                raise BadRequest(f"interface=category: {self.benchmark.name} has no categories")
        parts = [
            leaderboard.task_parts(self.benchmark, interface, self.request.group_seed)
            for interface in interfaces
        ]
        return Units.of(
            self.benchmark,
            subtasks=self.request.scoring == "chance_normalised",
            categories=any(leaderboard.needs_categories(self.benchmark, i) for i in interfaces),
            task_order=[task for part in parts[0] for task in part],
        )

    def _numbers_seen(self, condition: Condition) -> int:
        """How many released numbers the endpoint rule sees."""
        acting, tasks = condition.acting, len(self.benchmark.tasks)
        if self.request.endpoint_view == "tasks" or acting.kind == "task":
            seen = tasks
        elif acting.kind == "category":
            seen = len(set(self.benchmark.categories or ()))
        else:
            seen = acting.groups if acting.kind == "groups" else 1
        return seen + condition.extra_overall

    def _counted(self, side: Bool[np.ndarray, "trials items"]) -> Int[np.ndarray, "#trials units"]:
        """What every unit is counted out of: one row where it is the same in all trials."""
        sizes = self.units.sizes(side)
        if (sizes == sizes[0]).all():
            sizes = sizes[:1]
        return sizes * self.benchmark.denominator

    def _released_overall(self, tally: Tally, condition: Condition) -> scoring.Overall:
        made = partial(
            scoring.released_overall,
            self.benchmark, self.units, self.request.scoring, tally.counted, _ticks(condition),
        )  # fmt: skip
        return self._once(made, tally.counted, "released overall", condition.precision)

    def _task_scores(self, tally: Tally, condition: Condition) -> Chain:
        """Native task scores on the reused side."""
        made = partial(leaderboard.task_scores, self.units, tally.counted, _ticks(condition))
        return self._once(made, tally.counted, "tasks", condition.precision)

    def _once(self, make: Callable[[], Made], counted: np.ndarray, *what: object) -> Made:
        """What depends on `counted` alone is made once where that is the same in all trials."""
        if len(counted) > 1:
            return make()
        key = *what, counted.tobytes()
        if key not in self._made:
            if len(self._made) >= MOST_MADE:
                self._made.clear()
            self._made[key] = make()
        return self._made[key]


def _check_shared(requests: Sequence[AttackRequest]) -> None:
    """All are served by the first one's trials, routers and scores: they have to be the same."""
    for field in fields(AttackRequest):
        found = {getattr(request, field.name) for request in requests}
        if field.name not in VARIED and len(found) > 1:
            raise ValueError(f"requests of one evaluator differ in {field.name}: {found}")


def _ticks(condition: Condition) -> int | None:
    return None if condition.precision is None else 10**condition.precision
