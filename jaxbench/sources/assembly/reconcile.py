"""Recomputed means against those that the tool reports."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from jaxbench.errors import BadRequest, counted
from jaxbench.options import ReadOptions
from jaxbench.sources.outcomes import Aggregate, Note

# Sums in another order differ by this much; a wrong item by far more.
TOLERANCE = 1e-9


def reconcile(
    models: Sequence[str],
    items: pd.DataFrame,
    scores: np.ndarray,
    aggregates: Sequence[Aggregate],
    options: ReadOptions,
) -> list[Note]:
    """Compare every mean that a tool reports with the mean of its rows.

    **Arguments:** `scores`: `(models, items)`, NaN where missing.

    **Errors:** `BadRequest` showing both, unless `mismatch=note`.
    """
    notes: list[Note] = []
    agreed = 0
    tasks = items["task"].to_numpy(dtype=object)
    for one in aggregates:
        if one.model not in models:
            continue
        row = scores[models.index(one.model)]
        row = row[(tasks == one.task) & ~np.isnan(row)] if one.task else row[~np.isnan(row)]
        mean = float(row.mean()) if len(row) else float("nan")
        if one.items is not None:
            notes.append(
                Note(
                    f"a file of means counts {one.items:,} items of {one.task or 'all tasks'} "
                    f"where {len(row):,} have rows",
                    (Path(one.source).name,),
                    shown=True,
                )
            )
        if math.isnan(one.value):
            notes.append(
                Note(
                    f"a file of means has no number as {one.metric}",
                    (Path(one.source).name,),
                    shown=True,
                )
            )
            continue
        if abs(mean - one.value) <= TOLERANCE:
            agreed += 1
            continue
        rows = counted(len(row), "row")
        said = (
            f"{one.source} reports {one.metric} {one.value:.12g} of {one.model!r} on "
            f"{one.task or 'all tasks'}, but the mean of its {rows} is {mean:.12g}"
        )
        if options.mismatch == "refuse":
            raise BadRequest(f"{said}; take the rows all the same with mismatch=note")
        # Names of models stay out of a record without names.
        notes.append(
            Note(
                f"a reported mean is {one.value:.12g} where the rows have {mean:.12g}",
                (one.model,),
                shown=True,
            )
        )
    if agreed:
        means = "mean is that" if agreed == 1 else "means are those"
        notes.append(Note(f"{agreed} reported {means} of the rows"))
    return notes
