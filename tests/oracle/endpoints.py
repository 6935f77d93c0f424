"""The choice of the endpoints from public numbers (section 3).

A profile is what the rule sees of a model: one value per coordinate (tasks, or what the interface
releases), every model on the same coordinates.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from .scoring import coordinate_mean, coordinate_weights, rounded
from .split import OracleRefusal


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

    `categories` (task -> category) weighs the orientation, and under `public_top5` the distance;
    None where the coordinates seen are not tasks or count alike.
    """
    coordinates = sorted(next(iter(profile.values())))
    if rule == "public_top5":
        models = first_five(list(profile), overall_by_model)
        pair = widest_pair(models, profile, coordinate_weights(coordinates, categories))
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
    pair = widest_pair(models, profile, coordinate_weights(coordinates, None))
    if pair is None:
        return None
    low, high = pair
    loss = {model: rounded(1 - coordinate_mean(profile[model], categories)) for model in pair}
    return (high, low) if loss[high] > loss[low] else (low, high)
