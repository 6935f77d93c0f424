"""What is behind the numbers that a mechanism acts on: items, weights in the overall, ticks."""

from fractions import Fraction

import numpy as np
from jaxtyping import Int

from jaxbench import leaderboard
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.units import Units
from jaxbench.engine.conditions import Condition
from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.ticks import Strata, Ticks, refined


def ticks_of(
    benchmark: Benchmark,
    units: Units,
    condition: Condition,
    release: leaderboard.Release,
    counted: Int[np.ndarray, "#trials units"],
    rule: str,
    *parts: Int[np.ndarray, "#trials numbers"],
) -> Ticks:
    """The numbers of a condition in ticks.

    **Arguments:** `release`: of the numbers; `counted`: what units are counted out of on the
    reused side; `parts`: denominators of the same numbers on parts of it, if they are compared.

    **Errors:** `BadRequest` where a mechanism cannot act on them.
    """
    denominators = np.asarray(release.chain.denominators, dtype=np.int64)
    for other in parts:
        denominators = np.lcm(denominators, other)
    items = np.stack(
        [counted[:, list(part)].sum(axis=1) for part in release.units], axis=1
    ) // benchmark.denominator  # fmt: skip
    reused = items.sum(axis=1)
    per_score = refined(condition.on_numbers, denominators, items=items, reused=reused)
    return Ticks(
        per_score=per_score,
        items=items,
        weights=_weights(benchmark, units, condition, release, items, rule),
        plain=_plain(benchmark, condition, release, rule),
        strata=_strata(benchmark, units, condition, counted, rule),
    )


def _weights(
    benchmark: Benchmark,
    units: Units,
    condition: Condition,
    release: leaderboard.Release,
    items: Int[np.ndarray, "#trials numbers"],
    rule: str,
) -> tuple:
    """The weight of every number in the released overall."""
    if release.coordinates == 1:
        return (Fraction(1),)
    if rule in ("chance_normalised", "mean_win_rate"):
        raise BadRequest(
            f"mechanism={condition.mechanism_name} with scoring={rule} and "
            f"interface={condition.interface}: the overall is no weighted mean of the released "
            "numbers; use interface=aggregate or another scoring"
        )
    if rule == "item_mean":
        rows = tuple(tuple(Fraction(n, sum(row)) for n in row) for row in items.tolist())
        return rows[0] if len(rows) == 1 else rows
    of_task = scoring.task_weights(benchmark, rule)
    owner = release.coordinate_of_unit()
    weights = [Fraction(0)] * release.coordinates
    for task, parts in enumerate(units.tasks):
        for unit in parts:
            weights[owner[unit]] += of_task[task] / len(parts)
    return tuple(weights)


def _plain(
    benchmark: Benchmark, condition: Condition, release: leaderboard.Release, rule: str
) -> bool:
    """Whether every number is the mean of its items' scores of 0 or 1, not rounded."""
    kind = condition.acting.kind
    by_items = (
        kind == "task"
        or (kind == "aggregate" and rule == "item_mean")
        or (kind == "category" and leaderboard.needs_categories(benchmark, condition.acting))
    )
    return benchmark.denominator == 1 and condition.precision is None and by_items


def _strata(
    benchmark: Benchmark,
    units: Units,
    condition: Condition,
    counted: Int[np.ndarray, "#trials units"],
    rule: str,
) -> Strata | None:
    """The items that count alike in the overall, where it is a mean over items or over tasks."""
    if rule in ("chance_normalised", "mean_win_rate"):
        return None
    parts, weights = [tuple(range(units.count))], (Fraction(1),)
    if rule != "item_mean":
        parts, weights = units.tasks, scoring.task_weights(benchmark, rule)
    counts = np.stack([counted[:, list(part)].sum(axis=1) for part in parts], axis=1)
    return Strata(
        items=counts // benchmark.denominator,
        weights=tuple(weights),
        counts=benchmark.denominator,
        units=tuple(tuple(part) for part in parts),
        mean=rule == "item_mean" and condition.precision is None,
    )


def noise_margin(condition: Condition) -> float:
    """How far noise can take a release past a score, as a multiple of a score.

    No draw of 52 bits lies further out than 37 scales of Laplace noise, or 9 standard deviations.
    """
    if condition.clip:
        return 0.0
    sizes = [v for part in condition.on_numbers for n, v in part.values if n in ("sd", "scale")]
    return 40.0 * max((float(v) for v in sizes if isinstance(v, Fraction)), default=0.0)
