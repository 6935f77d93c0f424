"""The evaluator's view of a run: splits, tallies, what is released, and public profiles.

The wall runs through this file: `Board`, splits and scores stay here, and the attacker's functions
are handed `PublicProfiles` made of released numbers.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jaxbench import attacker, leaderboard, metrics
from jaxbench.benchmark import Benchmark, pool_small_tasks, scoring, split
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.container import check_prompts
from jaxbench.benchmark.units import Units
from jaxbench.engine import kernel
from jaxbench.engine.profiles import public_profiles, terms
from jaxbench.errors import BadRequest
from jaxbench.leaderboard import Interface
from jaxbench.options import AttackRequest

# Every unit is a few products of its own in the compiled program.
MOST_UNITS = 256


@dataclass(frozen=True)
class Condition:
    """An endpoint rule under an interface."""

    rule: str
    interface: str


@dataclass(frozen=True)
class Tally:
    """Some trials under one interface: counts, rules, and the scores of the genuine models."""

    units: Units
    counted: np.ndarray
    board: leaderboard.Board
    rules: kernel.Rules
    released: scoring.Overall
    genuine: metrics.GenuineScores


class Study:
    """What all conditions and banks of a request share.

    **Errors:** `BadRequest` where the benchmark cannot be split, scored or released as asked.
    """

    def __init__(self, benchmark: Benchmark, request: AttackRequest):
        if len(benchmark.models) < 2:
            raise BadRequest(
                f"found {len(benchmark.models)} model in {benchmark.name}; an attack mixes two "
                "models, so at least two are needed"
            )
        check_prompts(benchmark.prompt_hashes, benchmark.item_tasks, benchmark.items)
        self.request = request
        self.benchmark = pool_small_tasks(benchmark, request.min_task_items)
        self.plan = split.SplitPlan(self.benchmark, request.holdout_fraction)
        self.ticks = None if request.precision is None else 10**request.precision
        self._last: tuple[np.ndarray, np.ndarray, dict[str, Tally]] | None = None
        # The static router is always computed: other budgets are compared with it.
        self.budgets = tuple(sorted({1, *request.budgets}))
        self.units = {text: self._units(Interface.parse(text)) for text in request.interface}
        self.conditions = tuple(
            Condition(rule, interface)
            for interface in request.interface
            for rule in request.endpoint_rules(self._numbers_seen(interface))
        )
        most = max(units.count for units in self.units.values())
        if most > MOST_UNITS:
            raise BadRequest(
                f"{benchmark.name} has {most} tasks (or subtasks); at most {MOST_UNITS} can be "
                "attacked, since a program grows with them: pool small ones with min_task_items"
            )

    def chunk(self, trials: np.ndarray) -> tuple[np.ndarray, dict[str, Tally]]:
        """Splits of some trials, and their tally under every interface.

        The last chunk is kept: most runs have only one, and go through it twice.
        """
        if self._last is None or not np.array_equal(self._last[0], trials):
            reused = self.splits(trials)
            self._last = trials, reused, {i: self.tally(i, reused) for i in self.units}
        return self._last[1:]

    def splits(self, trials: np.ndarray) -> np.ndarray:
        """Reused items of some trials, `(trials, items)`."""
        if self.request.split == "hash":
            return split.hash_splits(self.plan, trials, seed_base=self.request.split_seed_base)
        return split.prng_splits(self.plan, trials, seed=self.request.seed)

    def tally(self, interface: str, reused: np.ndarray) -> Tally:
        """Count some trials and build what is released about them."""
        units, request = self.units[interface], self.request
        counted, hidden = self._counted(units, reused)
        rules = kernel.Rules(
            release=leaderboard.release(
                self.benchmark, units, Interface.parse(interface),
                counted=counted, ticks=self.ticks, rule=request.scoring,
                group_seed=request.group_seed,
            ),
            reused=scoring.scoring_rule(self.benchmark, units, request.scoring, counted),
            heldout=scoring.scoring_rule(self.benchmark, units, request.scoring, hidden),
        )  # fmt: skip
        board = leaderboard.tally(self.benchmark, units, reused)
        return Tally(
            units=units,
            counted=counted,
            board=board,
            rules=rules,
            released=scoring.released_overall(
                self.benchmark, units, request.scoring, counted, self.ticks
            ),
            genuine=metrics.GenuineScores(
                reused=rules.reused(board.reused.astype(np.float64)),
                heldout=rules.heldout(board.heldout.astype(np.float64)),
            ),
        )

    def profiles(self, tally: Tally, interface: str) -> attacker.PublicProfiles:
        """The released numbers of the genuine models, as the endpoint rule sees them."""
        counts = tally.board.reused.astype(np.float64)
        by_task = self.request.endpoint_view == "tasks"
        if self.request.scoring == "mean_win_rate":
            wins = metrics.half_wins(self._task_scores(tally)(counts))[:, :, None]
            of = 2 * len(self.benchmark.tasks) * (len(self.benchmark.models) - 1)
            overall = wins, np.array([[of]]), (Fraction(1),)
        else:
            overall = terms(tally.released, counts)
        return public_profiles(
            self.benchmark,
            counts,
            self._task_scores(tally) if by_task else tally.rules.release.chain,
            overall,
            tasks=by_task or interface == "task",
            rule=self.request.scoring,
        )

    def ranking(
        self, tally: Tally, reused: np.ndarray, heldout: np.ndarray, router: metrics.RouterScores
    ) -> tuple[metrics.PoolValues, metrics.PoolValues]:
        """What rows are ranked by on both sides; `reused`, `heldout`: router counts per unit."""
        public = tally.board.reused.astype(np.float64)
        if self.request.scoring == "mean_win_rate":
            native = self._task_scores(tally)
            # Held-out scores are never rounded; within a task their counts order them.
            counts = leaderboard.task_scores(tally.units, tally.counted, None)
            hidden = tally.board.heldout.astype(np.float64)
            return (
                metrics.by_win_rate(native(public), native(reused)),
                metrics.by_win_rate(counts(hidden), counts(heldout)),
            )
        return (
            metrics.by_score(tally.released(public), tally.released(reused)),
            metrics.by_score(tally.genuine.heldout, router.heldout),
        )

    def _units(self, interface: Interface) -> Units:
        if interface.kind == "category" and self.benchmark.categories is None:
            raise BadRequest(f"interface=category: {self.benchmark.name} has no categories")
        return Units.of(
            self.benchmark,
            subtasks=self.request.scoring == "chance_normalised",
            categories=leaderboard.needs_categories(self.benchmark, interface),
            task_order=[
                task
                for part in leaderboard.task_parts(
                    self.benchmark, interface, self.request.group_seed
                )
                for task in part
            ],
        )

    def _numbers_seen(self, interface: str) -> int:
        """How many released numbers the endpoint rule sees."""
        parsed, tasks = Interface.parse(interface), len(self.benchmark.tasks)
        if self.request.endpoint_view == "tasks" or parsed.kind == "task":
            return tasks
        if parsed.kind == "category":
            return len(set(self.benchmark.categories or ()))
        return parsed.groups if parsed.kind == "groups" else 1

    def _counted(self, units: Units, reused: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What every unit is counted out of on both sides, `(#trials, units)`.

        Whole tasks have the same size in every trial, finer units need not.
        """
        rows = reused if units.count > len(self.benchmark.tasks) else reused[:1]
        sizes = np.stack([units.sizes(row) for row in rows])
        whole = units.sizes(np.ones(len(self.benchmark.items), dtype=bool))
        return sizes * self.benchmark.denominator, (whole - sizes) * self.benchmark.denominator

    def _task_scores(self, tally: Tally) -> Chain:
        """Native task scores on the reused side."""
        return leaderboard.task_scores(tally.units, tally.counted, self.ticks)
