"""Whether curves of different granularity are one curve of the numbers released.

Curves that differ in how many numbers a submission is told are compared twice: at equal submissions
k, and at equal I = d (k - 1), the numbers released before the final router. Where the second spread
is much the smaller one, what protects a board is how much it says, not how often it is asked.

Source: spec of feedback (granularity).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from jaxbench.options.study import ContractionSpec
from jaxbench.studies.groups import telling, with_worlds_together
from jaxbench.studies.released import RELEASED, with_released

METRICS = ("selection_loss_pp", "false_winner")
# The spread of the first budgets with many false winners, in doublings.
FIRST = "first_false_winners_log2"


class Curve(NamedTuple):
    """A curve of one granularity over budgets of at least 2: at 1 nothing has been released."""

    budgets: Float64[np.ndarray, " points"]
    released: Float64[np.ndarray, " points"]
    values: Float64[np.ndarray, " points"]


class Spread(NamedTuple):
    """How far curves lie apart: on average over log2 x, and at most; x from `first` to `last`."""

    mean: float
    largest: float
    first: float
    last: float


def spread(curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> Spread:
    """The range of curves (x, y) at equal x, over the x that all of them have.

    In between, curves are linear in log2 x. The x of a curve rise and are above 0. NaN where the
    curves have no x in common.
    """
    curves = [(x, y) for x, y in curves if len(x)]
    nowhere = Spread(np.nan, np.nan, np.nan, np.nan)
    if not curves:
        return nowhere
    first, last = max(float(x[0]) for x, _ in curves), min(float(x[-1]) for x, _ in curves)
    if first > last:
        return nowhere
    points = np.unique(np.concatenate([x for x, _ in curves]))
    points = points[(points >= first) & (points <= last)]
    values = np.stack([np.interp(np.log2(points), np.log2(x), y) for x, y in curves])
    apart = values.max(axis=0) - values.min(axis=0)
    width = np.log2(last / first)
    mean = np.trapezoid(apart, np.log2(points)) / width if width > 0 else apart.mean()
    return Spread(float(mean), float(apart.max()), first, last)


def contraction_table(
    summary: pd.DataFrame, varied: Sequence[str], spec: ContractionSpec
) -> pd.DataFrame:
    """How much closer the curves lie at equal released scores than at equal submissions.

    One row per metric, for every combination of what is neither averaged nor compared:
    `budget_spread` and `released_spread` are ranges over the curves, on average over log2 of the
    axis, in the metric's unit; `contraction` is the first over the second; the `_largest` ones are
    ranges at most. `released_from` and `released_to` are the released scores that all curves have.
    The row `first_false_winners_log2` compares in doublings where the curves reach `level` false
    winners; it is empty where one does not.
    """
    rows = []
    for front, curves_of in _groups(summary, varied, spec):
        for metric in METRICS:
            curves = list(curves_of[metric].values())
            at_budget = spread([(c.budgets, c.values) for c in curves])
            at_released = spread([(c.released, c.values) for c in curves])
            rows.append(front | _row(metric, len(curves), at_budget, at_released))
        reached = [_first(curve, spec.level) for curve in curves_of["false_winner"].values()]
        budgets, released = (np.log2([float(r[i]) for r in reached]) for i in (0, 1))
        rows.append(front | _row(FIRST, len(reached), _range(budgets), _range(released)))
    return pd.DataFrame(rows)


def false_winner_table(
    summary: pd.DataFrame, varied: Sequence[str], spec: ContractionSpec
) -> pd.DataFrame:
    """The first budget of every curve whose share of false winners is at least `level`.

    `released_scores` is how much had been released by then; both are empty where no budget is.
    """
    rows = []
    for front, curves_of in _groups(summary, varied, spec):
        for value, curve in curves_of["false_winner"].items():
            budget, released = _first(curve, spec.level)
            rows.append(
                front
                | {spec.over: value, "level": spec.level, "budget": budget, RELEASED: released}
            )
    # Whole numbers, or empty.
    return pd.DataFrame(rows).astype({"budget": "Int64", RELEASED: "Int64"})


def _groups(
    summary: pd.DataFrame, varied: Sequence[str], spec: ContractionSpec
) -> list[tuple[dict[str, object], dict[str, dict[object, Curve]]]]:
    """What tells each group from others, and its curves by metric and value of `over`."""
    table = with_released(with_worlds_together(summary))
    # Without feedback, curves of all granularities are the same.
    table = table[table["budget"] >= 2]
    averaged = (spec.over, *spec.average)
    keys = [column for column in telling(table, varied) if column not in averaged]
    # What does not differ between groups says nothing, but for the benchmark.
    keys = [k for k in keys if k == "benchmark" or table[k].nunique(dropna=False) > 1]
    parts = table.groupby(keys, sort=False, dropna=False) if keys else [((), table)]
    return [
        (
            dict(zip(keys, names, strict=True)),
            {metric: _curves(part, spec.over, metric) for metric in METRICS},
        )
        for names, part in parts
    ]


def _curves(part: pd.DataFrame, over: str, metric: str) -> dict[object, Curve]:
    """The mean curve of every value of `over`, in order."""
    part = part[part[metric].notna()]
    numeric = pd.api.types.is_numeric_dtype(part[over])
    found = {}
    for value, rows in part.groupby(over, sort=numeric):
        means = rows.groupby("budget")[[RELEASED, metric]].mean().reset_index()
        columns = (means[name].to_numpy(dtype=np.float64) for name in ("budget", RELEASED, metric))
        found[value] = Curve(*columns)
    return found


def _first(curve: Curve, level: float) -> tuple[float, float]:
    """The first budget at which a curve is at its level or above, and what was released by then."""
    there = np.flatnonzero(curve.values >= level)
    if not len(there):
        return np.nan, np.nan
    return float(curve.budgets[there[0]]), float(curve.released[there[0]])


def _range(values: np.ndarray) -> Spread:
    width = float(values.max() - values.min()) if len(values) else np.nan
    return Spread(width, width, np.nan, np.nan)


def _row(metric: str, curves: int, at_budget: Spread, at_released: Spread) -> dict[str, object]:
    closer = at_budget.mean / at_released.mean if at_released.mean > 0 else np.nan
    return {
        "metric": metric,
        "curves": curves,
        "budget_spread": at_budget.mean,
        "released_spread": at_released.mean,
        "contraction": closer,
        "budget_spread_largest": at_budget.largest,
        "released_spread_largest": at_released.largest,
        "released_from": at_released.first,
        "released_to": at_released.last,
    }
