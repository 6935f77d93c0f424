"""Interfaces: which numbers a leaderboard releases about a submission.

Source: spec of feedback (granularity, policies) and the option table. A coordinate is a released
number; every item belongs to one coordinate, and a router's vote on it uses that number.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import equinox as eqx
import numpy as np
from jaxtyping import Int

from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.aggregate import Chain, InexactError
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest
from jaxbench.options.interface_words import RANKED
from jaxbench.options.parameter import exact


@dataclass(frozen=True)
class Interface:
    """What is released, as the option's word says.

    `task`, `category`, `aggregate`, or `groups` (D groups of tasks, partition P) release scores.
    The others release one thing about the overall: `rank` (`everyone`: also among the submissions
    before), `top` (within the first `size` rows), `bucket` (one of `size`), `interval` (ends on the
    grid `width`, a fraction of the score) and `interval_rank`.
    """

    kind: str
    groups: int = 0
    partition: int = 0
    size: int = 0
    width: Fraction = Fraction(0)
    everyone: bool = False

    @property
    def ranked(self) -> bool:
        """Whether one thing about the overall is released that is not the overall itself."""
        return self.kind in RANKED

    @classmethod
    def parse(cls, text: str) -> "Interface":
        """Read the option's word.

        `groups:D`, `groups:D:P`, `top:K` and `bucket:B` carry whole numbers, `interval:H` an exact
        fraction of the score, and `rank` may carry `all`.

        **Errors:** `BadRequest` with the form that was expected.
        """
        kind, *rest = text.split(":")
        if kind == "groups":
            if len(rest) not in (1, 2) or not all(re.fullmatch("[0-9]{1,9}", n) for n in rest):
                raise BadRequest(
                    f"interface={text}: expected groups:D or groups:D:P in whole numbers"
                )
            return cls(kind, int(rest[0]), int(rest[1]) if rest[1:] else 0)
        if kind in ("top", "bucket"):
            if len(rest) != 1 or not re.fullmatch("0*[1-9][0-9]{0,8}", rest[0]):
                raise BadRequest(
                    f"interface={text}: expected {kind}:{'K' if kind == 'top' else 'B'} with a "
                    "whole number >= 1"
                )
            return cls(kind, size=int(rest[0]))
        if kind == "interval":
            width = exact(rest[0]) if len(rest) == 1 else None
            if width is None or not 0 < width <= 1:
                raise BadRequest(
                    f"interface={text}: expected interval:H with a number above 0, at most 1 (a "
                    "fraction of the score: 0.01 is 1 pp)"
                )
            return cls(kind, width=width)
        if rest and (kind, rest) != ("rank", ["all"]):
            forms = "rank or rank:all" if kind == "rank" else kind
            raise BadRequest(f"interface={text}: expected {forms}")
        return cls(kind, everyone=bool(rest))


class Release(eqx.Module):
    """The released numbers as a chain on counts per unit, and the units of every coordinate.

    `plain` says that every coordinate is the exact count of one unit; `linear` that no rounding
    is involved, so that a contrast of counts gives the contrast of released numbers.
    """

    chain: Chain
    units: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    plain: bool = eqx.field(static=True)
    linear: bool = eqx.field(static=True)

    @property
    def coordinates(self) -> int:
        """How many numbers are released."""
        return len(self.units)

    def bare(self) -> "Release":
        """What a compiled program needs of it."""
        return Release(self.chain.bare(), self.units, self.plain, self.linear)

    def at(self, rows: Int[np.ndarray, " rows"], trials: int) -> "Release":
        """What is released in some of the `trials`."""
        return Release(self.chain.at(rows, trials), self.units, self.plain, self.linear)

    def coordinate_of_unit(self) -> Int[np.ndarray, " units"]:
        """The coordinate of every unit."""
        owner = {unit: c for c, units in enumerate(self.units) for unit in units}
        return np.array([owner[unit] for unit in range(len(owner))], dtype=np.int64)


def needs_categories(benchmark: Benchmark, interface: Interface) -> bool:
    """Whether units have to be cut by category: categories that do not contain whole tasks."""
    return interface.kind == "category" and scoring.category_of_task(benchmark) is None


def task_scores(units: Units, counted: np.ndarray, ticks: int | None) -> Chain:
    """Native task scores: exact, or rounded to ticks."""
    tasks = Chain.start(counted).sums(units.tasks)
    return tasks if ticks is None else tasks.rounded(ticks)


def release(
    benchmark: Benchmark,
    units: Units,
    interface: Interface,
    *,
    counted: np.ndarray,
    ticks: int | None,
    rule: str,
    group_seed: str,
) -> Release:
    """The numbers that an interface releases.

    **Arguments:** `counted`: what every unit is counted out of on the reused side; `ticks`: per
    score of 1, or None for exact scores; `rule`: the scoring rule (for `aggregate`);
    `group_seed`: text of the hash order of `groups`.

    **Errors:** `BadRequest` where the interface does not fit the benchmark, or exact numbers
    cannot be compared exactly.
    """
    try:
        if interface.kind == "aggregate":
            return _aggregate(benchmark, units, counted, ticks, rule)
        if interface.kind == "category" and needs_categories(benchmark, interface):
            return _item_categories(benchmark, units, counted, ticks)
        tasks = task_scores(units, counted, ticks)
        if interface.kind == "task":
            plain = ticks is None and units.count == len(units.tasks)
            return Release(tasks, units.tasks, plain=plain, linear=ticks is None)
        parts = task_parts(benchmark, interface, group_seed)
        means = [[(t, Fraction(1, len(part))) for t in part] for part in parts]
        chain = tasks.mix(means)
        chain = chain if ticks is None else chain.rounded(ticks)
    except InexactError:
        raise scoring.inexact(benchmark, ticks) from None
    members = tuple(tuple(u for t in part for u in units.tasks[t]) for part in parts)
    return Release(chain, members, plain=False, linear=ticks is None)


def task_parts(benchmark: Benchmark, interface: Interface, group_seed: str) -> list[list[int]]:
    """The tasks of every coordinate that is made of whole tasks (else one after the other)."""
    if interface.kind == "groups":
        return task_groups(benchmark.tasks, interface, group_seed)
    of_task = scoring.category_of_task(benchmark)
    if interface.kind == "category" and of_task is not None:
        return [[t for t, c in enumerate(of_task) if c == name] for name in sorted(set(of_task))]
    return [[t] for t in range(len(benchmark.tasks))]


def task_groups(tasks: Sequence[str], interface: Interface, group_seed: str) -> list[list[int]]:
    """Near-equal groups of tasks from a seeded hash order (spec: feedback, granularity).

    Task names are ordered by SHA-256 hex of `"{group_seed}-partition-{P}|{name}"`, ties lexical,
    and cut into D runs whose sizes differ by at most one, longer first.
    """
    wanted, many = interface.groups, len(tasks)
    if not 1 <= wanted <= many:
        raise BadRequest(f"interface=groups:{wanted}: expected 1 to {many} groups of {many} tasks")

    def order(index: int) -> tuple[str, str]:
        spelled = f"{group_seed}-partition-{interface.partition}|{tasks[index]}"
        return hashlib.sha256(spelled.encode()).hexdigest(), tasks[index]

    ordered = sorted(range(many), key=order)
    shortest, longer = divmod(many, wanted)
    ends = np.cumsum([shortest + (g < longer) for g in range(wanted)]).tolist()
    return [ordered[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _item_categories(benchmark, units: Units, counted, ticks: int | None) -> Release:
    if benchmark.categories is None:
        raise BadRequest(f"interface=category: {benchmark.name} has no categories")
    chain = Chain.start(counted).sums(units.categories)
    empty = (chain.denominators == 0).any(axis=0)
    if empty.any():
        name = sorted(set(benchmark.categories))[int(np.argmax(empty))]
        raise BadRequest(
            f"interface=category: category {name!r} has no reused item in some split; use "
            "interface=task"
        )
    plain = ticks is None and all(len(u) == 1 for u in units.categories)
    chain = chain if ticks is None else chain.rounded(ticks)
    return Release(chain, units.categories, plain=plain, linear=ticks is None)


def _aggregate(benchmark, units: Units, counted, ticks: int | None, rule: str) -> Release:
    if rule == "mean_win_rate":
        raise BadRequest(
            "interface=aggregate with scoring=mean_win_rate: a win rate depends on the other rows "
            "and is no score of a submission; use interface=task or category"
        )
    overall = scoring.released_overall(benchmark, units, rule, counted, ticks)
    chain = overall.chain
    if ticks is None and rule != "item_mean":
        # The exact overall as one whole number.
        chain = chain.mix([list(enumerate(overall.weights))])
    linear = ticks is None and rule != "chance_normalised"
    return Release(chain, (tuple(range(units.count)),), plain=False, linear=linear)
