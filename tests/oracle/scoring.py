"""Scoring rules (section 6): unrounded scores, released overalls, and what ranks a pool.

Three numbers of a row (one score per item) are kept apart. `overall` is its unrounded score on
one side, in which every loss and gap is measured. `released_overall` is what the public reads, at
the released precision. `win_rates` ranks a whole pool, under `mean_win_rate` only.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from .split import OracleBenchmark, OracleRefusal, task_names

SCORINGS = ("item_mean", "equal_task", "equal_category", "chance_normalised", "mean_win_rate")


def rounded(value: Fraction) -> Fraction:
    """To 10 decimals, exactly, half to even."""
    return round(value, 10)


def to_tick(value: Fraction, precision: int | None) -> Fraction:
    """To the released precision in decimals, half to even; None releases the exact number."""
    if precision is None:
        return value
    ticks = 10**precision
    return Fraction(round(ticks * value), ticks)


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def task_categories(bench: OracleBenchmark) -> dict[str, str] | None:
    """Category of every task, or None unless every task sits in exactly one category."""
    categories: dict[str, str] = {}
    for item in bench.items:
        if item.category is None:
            return None
        if categories.setdefault(item.task, item.category) != item.category:
            return None
    return categories


# --- tasks --------------------------------------------------------------------------------------


def task_means(
    bench: OracleBenchmark, chosen_scores: list[Fraction], items_mask: list[bool]
) -> dict[str, Fraction]:
    """Mean score on the masked items of every task."""
    values: dict[str, list[Fraction]] = {task: [] for task in task_names(bench)}
    for item, score, masked in zip(bench.items, chosen_scores, items_mask, strict=True):
        if masked:
            values[item.task].append(score)
    for task, scores in values.items():
        if not scores:
            raise OracleRefusal(f"task {task!r} has no item on one side")
    return {task: mean(scores) for task, scores in values.items()}


def native_task_values(
    bench: OracleBenchmark,
    chosen_scores: list[Fraction],
    reused: list[bool],
    precision: int | None = None,
) -> dict[str, Fraction]:
    """The task scores of a row at the released precision, before any interface."""
    means = task_means(bench, chosen_scores, reused)
    return {task: to_tick(value, precision) for task, value in means.items()}


def coordinate_mean(by_task: dict[str, Fraction], categories: dict[str, str] | None) -> Fraction:
    """Unweighted mean over tasks, or within categories and then over categories."""
    weights = coordinate_weights(list(by_task), categories)
    return sum((weights[task] * value for task, value in by_task.items()), Fraction(0))


def coordinate_weights(tasks: list[str], categories: dict[str, str] | None) -> dict[str, Fraction]:
    if categories is None:
        return {task: Fraction(1, len(tasks)) for task in tasks}
    in_category = Counter(categories[task] for task in tasks)
    return {task: Fraction(1, len(in_category) * in_category[categories[task]]) for task in tasks}


def scoring_categories(bench: OracleBenchmark, scoring: str) -> dict[str, str] | None:
    """The categories by which `scoring` weighs tasks; None: every task alike."""
    categories = task_categories(bench)
    if scoring == "equal_category" and categories is None:
        raise OracleRefusal("equal_category needs every task to sit in one category")
    return categories if scoring in ("equal_category", "mean_win_rate") else None


# --- chance normalisation -----------------------------------------------------------------------


def chances(bench: OracleBenchmark) -> dict[tuple[str, str | None], Fraction]:
    """Chance value of every cell (task, subtask)."""
    found: dict[tuple[str, str | None], Fraction] = {}
    for item in bench.items:
        cell = item.task, item.subtask
        if not isinstance(item.chance, (int, Fraction)) or not 0 <= item.chance < 1:
            raise OracleRefusal(f"the chance value of item {item.id!r} is no fraction in [0, 1)")
        if found.setdefault(cell, item.chance) != item.chance:
            raise OracleRefusal(f"{cell_name(cell)} has two chance values")
    return found


def cell_name(cell: tuple[str, str | None]) -> str:
    task, subtask = cell
    return f"task {task!r}" + ("" if subtask is None else f", subtask {subtask!r},")


def chance_normalised(
    bench: OracleBenchmark,
    chosen_scores: list[Fraction],
    items_mask: list[bool],
    precision: int | None = None,
) -> Fraction:
    """Mean over tasks of the mean over a task's cells of max(raw - chance, 0) / (1 - chance).

    As task scores are for the rules that average them, cells are rounded first where released.
    """
    chance = chances(bench)
    values: dict[tuple[str, str | None], list[Fraction]] = {cell: [] for cell in chance}
    for item, score, masked in zip(bench.items, chosen_scores, items_mask, strict=True):
        if masked:
            values[item.task, item.subtask].append(score)
    by_task: dict[str, list[Fraction]] = {}
    for cell, scores in values.items():
        if not scores:
            raise OracleRefusal(f"{cell_name(cell)} has no item on one side")
        above = max(mean(scores) - chance[cell], Fraction(0))
        by_task.setdefault(cell[0], []).append(to_tick(above / (1 - chance[cell]), precision))
    return mean([mean(cells) for cells in by_task.values()])


# --- overalls -----------------------------------------------------------------------------------


def check_scoring(
    bench: OracleBenchmark, reused: list[bool], heldout: list[bool], scoring: str
) -> None:
    """Refuse what no score can be made of; looks at items and sides, never at a score."""
    if scoring not in SCORINGS:
        raise OracleRefusal(f"scoring rule {scoring!r} is not in the oracle")
    scoring_categories(bench, scoring)
    if scoring == "chance_normalised":
        for name, side in [("reused", reused), ("held-out", heldout)]:
            present = {
                (item.task, item.subtask) for item, on in zip(bench.items, side, strict=True) if on
            }
            for cell in chances(bench):
                if cell not in present:
                    raise OracleRefusal(f"{cell_name(cell)} has no {name} item")


def overall(
    bench: OracleBenchmark,
    chosen_scores: list[Fraction],
    items_mask: list[bool],
    scoring: str = "item_mean",
) -> Fraction:
    """Unrounded score, on the masked items, of a row with one score per item.

    Under `mean_win_rate` this is the equal-category mean that losses are measured in, or the
    equal-task mean where not every task sits in one category.
    """
    if scoring not in SCORINGS:
        raise OracleRefusal(f"scoring rule {scoring!r} is not in the oracle")
    if scoring == "item_mean":
        return mean([s for s, masked in zip(chosen_scores, items_mask, strict=True) if masked])
    if scoring == "chance_normalised":
        return chance_normalised(bench, chosen_scores, items_mask)
    categories = scoring_categories(bench, scoring)
    return coordinate_mean(task_means(bench, chosen_scores, items_mask), categories)


def released_overall(
    bench: OracleBenchmark,
    chosen_scores: list[Fraction],
    reused: list[bool],
    scoring: str = "item_mean",
    precision: int | None = None,
) -> Fraction:
    """What the public reads as a row's overall: from native task values, rounded once more."""
    if scoring == "mean_win_rate":
        raise OracleRefusal("mean_win_rate gives a row no overall outside a pool")
    if scoring in ("equal_task", "equal_category"):
        native = native_task_values(bench, chosen_scores, reused, precision)
        value = coordinate_mean(native, scoring_categories(bench, scoring))
    elif scoring == "chance_normalised":
        value = chance_normalised(bench, chosen_scores, reused, precision)
    else:
        value = overall(bench, chosen_scores, reused, scoring)
    return to_tick(value, precision)


def win_rates(pool: list[dict[str, Fraction]]) -> list[Fraction]:
    """Per row of task values: mean over tasks of the share of the other rows beaten, ties half."""
    rates = []
    for m, row in enumerate(pool):
        others = [other for n, other in enumerate(pool) if n != m]
        wins = Fraction(0)
        for task, value in row.items():
            for other in others:
                if value > other[task]:
                    wins += 1
                elif value == other[task]:
                    wins += Fraction(1, 2)
        rates.append(wins / (len(row) * len(others)))
    return rates
