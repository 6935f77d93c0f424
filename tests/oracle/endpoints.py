"""Scoring rules (section 6) and the choice of the endpoints from public numbers (section 3)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

from .split import OracleBenchmark, OracleRefusal, task_names


def task_categories(bench: OracleBenchmark) -> dict[str, str] | None:
    """Category of every task, or None unless every task sits in exactly one category."""
    categories: dict[str, str] = {}
    for item in bench.items:
        if item.category is None:
            return None
        if categories.setdefault(item.task, item.category) != item.category:
            return None
    return categories


def rounded(value: Fraction) -> Fraction:
    """To 10 decimals, exactly, half to even."""
    return round(value, 10)


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


# --- section 6: scoring -------------------------------------------------------------------------


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


def coordinate_mean(by_task: dict[str, Fraction], categories: dict[str, str] | None) -> Fraction:
    """Unweighted mean over tasks, or within categories and then over categories."""
    weights = coordinate_weights(list(by_task), categories)
    return sum((weights[task] * value for task, value in by_task.items()), Fraction(0))


def coordinate_weights(tasks: list[str], categories: dict[str, str] | None) -> dict[str, Fraction]:
    if categories is None:
        return {task: Fraction(1, len(tasks)) for task in tasks}
    in_category = Counter(categories[task] for task in tasks)
    return {task: Fraction(1, len(in_category) * in_category[categories[task]]) for task in tasks}


def overall(
    bench: OracleBenchmark,
    chosen_scores: list[Fraction],
    items_mask: list[bool],
    scoring: str = "item_mean",
) -> Fraction:
    """Overall score on the masked items of a row with one score per item."""
    if scoring == "item_mean":
        return mean([s for s, masked in zip(chosen_scores, items_mask, strict=True) if masked])
    if scoring == "equal_task":
        return coordinate_mean(task_means(bench, chosen_scores, items_mask), None)
    if scoring == "equal_category":
        categories = task_categories(bench)
        if categories is None:
            raise OracleRefusal("equal_category needs every task to sit in one category")
        return coordinate_mean(task_means(bench, chosen_scores, items_mask), categories)
    raise OracleRefusal(f"scoring rule {scoring!r} is not in the oracle")


# --- section 3: endpoints -----------------------------------------------------------------------


def public_profile(bench: OracleBenchmark, reused: list[bool]) -> dict[str, dict[str, Fraction]]:
    return {
        model: task_means(bench, list(row), reused)
        for model, row in zip(bench.models, bench.scores, strict=True)
    }


def dominates(winner: dict[str, Fraction], loser: dict[str, Fraction]) -> bool:
    return all(winner[t] >= loser[t] for t in loser) and any(winner[t] > loser[t] for t in loser)


def pareto_frontier(profile: dict[str, dict[str, Fraction]]) -> list[str]:
    return [
        model
        for model in profile
        if not any(dominates(profile[other], profile[model]) for other in profile)
    ]


def first_five(models: list[str], overall_by_model: dict[str, Fraction]) -> list[str]:
    return sorted(models, key=lambda model: (-overall_by_model[model], model))[:5]


def widest_pair(
    models: list[str], profile: dict[str, dict[str, Fraction]], weights: dict[str, Fraction]
) -> tuple[str, str] | None:
    """The pair (names in lexical order) with the largest distance; ties by the names."""
    best = None
    for low, high in combinations(sorted(models), 2):  # rising, so only a strict gain replaces
        distance = sum(
            (w * abs(profile[low][t] - profile[high][t]) for t, w in weights.items()), Fraction(0)
        )
        if best is None or distance > best[0]:
            best = (distance, (low, high))
    return None if best is None else best[1]


def choose_endpoints(
    profile: dict[str, dict[str, Fraction]],
    overall_by_model: dict[str, Fraction],
    rule: str = "top5",
    categories: dict[str, str] | None = None,
) -> tuple[str, str] | None:
    """(A, B), or None for an ineligible trial. `overall_by_model` is the released overall.

    `categories` (task -> category) weighs the orientation, and under `public_top5` the distance.
    """
    tasks = sorted(next(iter(profile.values())))
    if rule == "public_top5":
        models = first_five(list(profile), overall_by_model)
        pair = widest_pair(models, profile, coordinate_weights(tasks, categories))
        if pair is None:
            return None
        low, high = pair
        return (high, low) if overall_by_model[high] < overall_by_model[low] else (low, high)

    pool = profile
    if rule == "non_leading":
        best = max(rounded(overall_by_model[model]) for model in profile)
        pool = {m: row for m, row in profile.items() if rounded(overall_by_model[m]) != best}
    models = pareto_frontier(pool)
    if rule == "top5":
        models = first_five(models, overall_by_model)
    elif rule not in ("full_frontier", "non_leading"):
        raise OracleRefusal(f"endpoint rule {rule!r} is not in the oracle")
    pair = widest_pair(models, profile, coordinate_weights(tasks, None))
    if pair is None:
        return None
    low, high = pair
    loss = {model: rounded(1 - coordinate_mean(profile[model], categories)) for model in pair}
    return (high, low) if loss[high] > loss[low] else (low, high)
