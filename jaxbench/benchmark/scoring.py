"""Scoring rules: what a leaderboard calls the score of a row.

Source: spec of the attack, section 6. A rule is a chain of exact steps on counts per unit and exact
weights on what comes out of it.
"""

from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float64, Int

from jaxbench.benchmark.aggregate import Chain, InexactError, Numbers
from jaxbench.benchmark.container import Benchmark
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest


class Overall(eqx.Module):
    """An overall score in [0, 1]: `sum_n weights[n] * chain(counts)[n] / denominators[n]`.

    `total` says that every count weighs the same (`item_mean`), so that the counts may be added
    as they are before anything else.
    """

    chain: Chain
    coefficients: Float64[Array | np.ndarray, "#trials 1 terms"]
    # Numerators and denominators: arrays, because a compiled program must not depend on them.
    fractions: Int[Array | np.ndarray, "terms 2"]
    total: bool = eqx.field(static=True)

    @classmethod
    def of(cls, chain: Chain, weights: Sequence[Fraction], *, total: bool = False) -> "Overall":
        """Exact weights on the numbers of a chain."""
        per_count = [
            [float(w / int(d)) for w, d in zip(weights, row, strict=True)]
            for row in chain.denominators
        ]
        exact = np.array([[w.numerator, w.denominator] for w in weights])
        return cls(chain, np.array(per_count)[:, None, :], exact, total)

    def bare(self) -> "Overall":
        """What a compiled program needs of it."""
        none = np.zeros((len(self.fractions), 2), dtype=np.int64)
        return Overall(self.chain.bare(), self.coefficients, none, self.total)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The exact weights."""
        return tuple(Fraction(int(p), int(q)) for p, q in self.fractions)

    def __call__(self, counts: Numbers, numpy: ModuleType = np) -> Numbers:
        """Scores `(trials, rows)`, float64, of counts per unit `(trials, rows, units)`."""
        numerators = self.chain(counts, numpy)
        # In a fixed order: a sum over an axis may depend on what else is in the array.
        terms = range(numerators.shape[-1])
        return sum(
            (numerators[..., n] * self.coefficients[..., n] for n in terms[1:]),
            start=numerators[..., 0] * self.coefficients[..., 0],
        )


def scoring_rule(
    benchmark: Benchmark, units: Units, rule: str, counted: Int[np.ndarray, "#trials units"]
) -> Overall:
    """The unrounded overall score that losses and gaps are measured in.

    **Arguments:** `rule`: `item_mean` (every item alike), `equal_task`, `equal_category` (mean
    over tasks within a category, then over categories), `chance_normalised`
    (`max(raw - chance, 0) / (1 - chance)` per subtask, mean over subtasks, then tasks), or
    `mean_win_rate`, whose losses are measured in the mean over tasks within categories;
    `counted`: what every unit is counted out of on the side that is scored.

    **Errors:** `BadRequest` where the benchmark lacks the categories that a rule needs.
    """
    start = Chain.start(counted)
    if rule == "item_mean":
        return Overall.of(start.sums([range(units.count)]), [Fraction(1)], total=True)
    if rule == "chance_normalised":
        if benchmark.chances is None:
            raise BadRequest(f"scoring=chance_normalised: {benchmark.name} has no column `chance`")
        try:
            return Overall.of(_above_chance(units, start), _cell_weights(units))
        except InexactError:
            raise BadRequest(
                f"scoring=chance_normalised: the chance levels of {benchmark.name} are fractions "
                "too fine to be compared exactly (2^53); round them"
            ) from None
    return Overall.of(start.sums(units.tasks), task_weights(benchmark, rule))


def released_overall(
    benchmark: Benchmark,
    units: Units,
    rule: str,
    counted: Int[np.ndarray, "#trials units"],
    ticks: int | None,
) -> Overall:
    """The overall score as released.

    With a precision, the scores that the rule averages (those of tasks, or of subtasks above
    chance) are rounded to ticks first, and the mean once more; `item_mean` averages items.

    `mean_win_rate` has no overall of a row on its own; see `metrics.ranking`.
    """
    if ticks is None:
        return scoring_rule(benchmark, units, rule, counted)
    start = Chain.start(counted)
    try:
        if rule == "item_mean":
            numbers = start.sums([range(units.count)])
        elif rule == "chance_normalised":
            cells = _above_chance(units, start).rounded(ticks)
            numbers = cells.mix([list(enumerate(_cell_weights(units)))])
        else:
            weights = task_weights(benchmark, rule)
            numbers = start.sums(units.tasks).rounded(ticks).mix([list(enumerate(weights))])
        return Overall.of(numbers.rounded(ticks), [Fraction(1)])
    except InexactError:
        raise inexact(benchmark, ticks) from None


def task_weights(benchmark: Benchmark, rule: str) -> tuple[Fraction, ...]:
    """The weight of every task's score in a mean over tasks; the weights add up to 1.

    **Errors:** `BadRequest` for `equal_category` where a task has items of several categories.
    """
    if rule == "equal_task":
        return (Fraction(1, len(benchmark.tasks)),) * len(benchmark.tasks)
    if rule == "equal_category" and category_of_task(benchmark) is None:
        raise BadRequest(
            f"scoring=equal_category: {_why_no_categories(benchmark)}; use equal_task or item_mean"
        )
    return mean_weights(benchmark)


def mean_weights(benchmark: Benchmark) -> tuple[Fraction, ...]:
    """The unweighted mean over tasks (within categories first, where every task has just one)."""
    of_task = category_of_task(benchmark)
    if of_task is None:
        return (Fraction(1, len(benchmark.tasks)),) * len(benchmark.tasks)
    categories = len(set(of_task))
    return tuple(Fraction(1, categories * of_task.count(category)) for category in of_task)


def category_of_task(benchmark: Benchmark) -> tuple[str, ...] | None:
    """The category of every task, or None where there are none or a task has several."""
    if benchmark.categories is None:
        return None
    found: list[set[str]] = [set() for _ in benchmark.tasks]
    for task, category in zip(benchmark.task_index, benchmark.categories, strict=True):
        found[task].add(category)
    if any(len(categories) != 1 for categories in found):
        return None
    return tuple(categories.pop() for categories in found)


def inexact(benchmark: Benchmark, ticks: int | None) -> BadRequest:
    """The refusal of sums that no float64 can hold."""
    if ticks is None:
        advice = "release rounded scores (precision=5), or use interface=task"
    else:
        advice = "ask for fewer decimals"
    return BadRequest(
        f"{benchmark.name}: the released scores are fractions too fine to be compared exactly "
        f"(2^53); {advice}"
    )


def _above_chance(units: Units, start: Chain) -> Chain:
    cells = start.sums(units.cells)
    for name, empty in zip(units.cell_names, (cells.denominators == 0).any(axis=0), strict=True):
        if empty:
            raise BadRequest(
                f"scoring=chance_normalised: subtask {name!r} has no item on one side of some "
                "split; merge it with another, or leave it out"
            )
    return cells.above_chance(units.chances)


def _cell_weights(units: Units) -> tuple[Fraction, ...]:
    tasks = len(units.tasks)
    return tuple(Fraction(1, tasks * units.cell_tasks.count(task)) for task in units.cell_tasks)


def _why_no_categories(benchmark: Benchmark) -> str:
    if benchmark.categories is None:
        return f"{benchmark.name} has no categories"
    found: dict[int, set[str]] = {}
    for task, category in zip(benchmark.task_index.tolist(), benchmark.categories, strict=True):
        found.setdefault(task, set()).add(category)
    task = next(task for task, categories in found.items() if len(categories) > 1)
    return f"task {benchmark.tasks[task]!r} has items of {len(found[task])} categories"
