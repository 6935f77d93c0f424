"""Scoring rules: what a leaderboard calls the score of a row.

Source: spec of the attack, section 6. A rule is a set of exact weights on task means.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from jaxbench.benchmark.container import Benchmark
from jaxbench.errors import BadRequest

SCORING_RULES = ("item_mean", "equal_task", "equal_category")


def task_weights(
    benchmark: Benchmark, rule: str, sizes: Int[np.ndarray, " tasks"]
) -> tuple[Fraction, ...]:
    """The weight of every task's mean score in the overall score; the weights add up to 1.

    **Arguments:** `rule`: `item_mean` (every item alike), `equal_task`, `equal_category` (mean
    over tasks within a category, then over categories); `sizes`: items per task on the side that
    is scored.

    **Errors:** `BadRequest` for `equal_category` where a task has items of several categories.
    """
    if rule == "item_mean":
        total = sum(int(size) for size in sizes)
        return tuple(Fraction(int(size), total) for size in sizes)
    if rule == "equal_task":
        return (Fraction(1, len(sizes)),) * len(sizes)
    of_task = category_of_task(benchmark)
    if of_task is None:
        raise BadRequest(
            f"scoring=equal_category: {_why_no_categories(benchmark)}; use equal_task or item_mean"
        )
    return _equal_categories(of_task)


def mean_weights(benchmark: Benchmark) -> tuple[Fraction, ...]:
    """The unweighted mean over tasks (within categories first, where every task has just one)."""
    of_task = category_of_task(benchmark)
    if of_task is None:
        return (Fraction(1, len(benchmark.tasks)),) * len(benchmark.tasks)
    return _equal_categories(of_task)


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


def overall(
    counts: np.ndarray,
    weights: Sequence[Fraction],
    sizes: Int[np.ndarray, " tasks"],
    denominator: int,
) -> np.ndarray:
    """Overall scores, float64, from integer counts per task (last axis)."""
    scale = per_count(weights, sizes, denominator)
    if np.all(scale == scale[0]):
        # One weight for all: add the integers first, so that equal totals give equal scores.
        return counts.sum(axis=-1) * scale[0]
    return counts @ scale


def per_count(
    weights: Sequence[Fraction], sizes: Int[np.ndarray, " tasks"], denominator: int
) -> np.ndarray:
    """What one count of each task adds to the overall score, float64."""
    return np.array(
        [float(w / (int(n) * denominator)) for w, n in zip(weights, sizes, strict=True)]
    )


def _equal_categories(of_task: Sequence[str]) -> tuple[Fraction, ...]:
    categories = len(set(of_task))
    return tuple(Fraction(1, categories * of_task.count(category)) for category in of_task)


def _why_no_categories(benchmark: Benchmark) -> str:
    if benchmark.categories is None:
        return f"{benchmark.name} has no categories"
    for index, task in enumerate(benchmark.tasks):
        found = {
            c for c, t in zip(benchmark.categories, benchmark.task_index, strict=True) if t == index
        }
        if len(found) > 1:
            return f"task {task!r} has items of {len(found)} categories"
    return "its categories are incomplete"
