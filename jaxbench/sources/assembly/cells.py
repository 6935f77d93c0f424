"""Scores by model and item: rows of one model and item are repeats, or a mistake."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from jaxbench.benchmark.provenance import mean_of_runs
from jaxbench.errors import BadRequest, counted, some
from jaxbench.sources.outcomes import Note


class Cells(NamedTuple):
    """Scores by model and item: means over repeats, where there are any, and who is who."""

    models: list[str]
    items: pd.DataFrame
    scores: np.ndarray
    present: np.ndarray


def cells_of(
    rows: pd.DataFrame, items: pd.DataFrame, absent: Mapping[str, float], notes: list[Note]
) -> Cells:
    """Means over repeats, weighted by `repeats` where rows are means themselves.

    **Arguments:** `rows`, `items`: as from `keyed`; `absent`: the score of every item that a
    model's log leaves out.

    **Errors:** `BadRequest` naming model, item and files where nothing tells several scores apart.
    """
    models = sorted({str(m) for m in rows["model"].unique()} | set(absent))
    shape = len(models), len(items)
    model = pd.Index(models).get_indexer(pd.Index(rows["model"].astype(object)))
    item = pd.Index(items["item_id"]).get_indexer(pd.Index(rows["item_id"].astype(object)))
    cell = model * shape[1] + item
    scores = rows["score"].to_numpy(dtype=np.float64)
    known = ~np.isnan(scores)
    if not known.any() and not absent:
        raise BadRequest("no row has a score")
    told = "epoch" in rows and bool(rows["epoch"].notna().all())
    _check_repeats(rows, cell, told, models, items)
    weight = rows["repeats"].to_numpy(dtype=np.float64) if "repeats" in rows else np.ones(len(rows))
    size = shape[0] * shape[1]
    runs = np.bincount(cell[known], weights=weight[known], minlength=size)
    sums = np.bincount(cell[known], weights=(scores * weight)[known], minlength=size)
    with np.errstate(invalid="ignore"):
        means = np.where(runs > 0, sums / np.where(runs > 0, runs, 1), np.nan).reshape(shape)
    present = (runs > 0).reshape(shape)
    if not known.all():
        lost = counted(int((~known).sum()), "row")
        notes.append(Note(f"missing: {lost} without a score"))
    for name, score in absent.items():
        row = models.index(name)
        means[row] = np.where(present[row], means[row], score)
        present[row] = True
    counts = runs[runs > 0]
    if len(counts) and ("repeats" in rows or (counts > 1).any()):
        low, high = int(counts.min()), int(counts.max())
        unmarked = not told and len(rows) > len(np.unique(cell))
        untold = ": rows of one model and item count as repeats" if unmarked else ""
        notes.append(Note(mean_of_runs(low, high) + untold, shown=unmarked))
    return Cells(models, items, means, present)


def _check_repeats(
    rows: pd.DataFrame, cell: np.ndarray, told: bool, models: list[str], items: pd.DataFrame
) -> None:
    """Refuse several scores of one model on one item that nothing tells apart."""
    keys = pd.DataFrame(
        {"cell": cell, "epoch": rows["epoch"].astype(str)} if told else {"cell": cell}
    )
    again = keys.duplicated(keep=False).to_numpy()
    if not again.any():
        return
    times = np.bincount(cell)
    alike = len(np.unique(times[times > 0])) == 1
    if not told and alike and all(_one_each(rows, cell, c) for c in ("file", "prompt_hash")):
        # The same number of rows for every model and item: these are repeats. Two logs of a
        # model, or two prompts, are not simply that.
        return
    first = int(np.argmax(again))
    same = np.flatnonzero((keys == keys.iloc[first]).all(axis=1).to_numpy())
    files = list(dict.fromkeys(rows["file"].iloc[same].astype(str))) if "file" in rows else []
    m, i = divmod(int(cell[first]), len(items))
    # Files of one name lie in different folders.
    deep = next((d for d in (1, 2) if len({Path(f).parts[-d:] for f in files}) == len(files)), 99)
    names = [Path(*Path(f).parts[-deep:]).as_posix() for f in files]
    where = f" (in {some(names)})" if len(files) > 1 else ""
    if not where and not told and not _one_each(rows, cell, "prompt_hash"):
        where = " (of different prompts)"
    epoch = f" in epoch {rows['epoch'].iloc[first]}" if told and rows["epoch"].iloc[first] else ""
    hint = "leave out all but one of these files" if len(files) > 1 else "leave out the others"
    if not told:
        hint += "; in tables, columns={epoch:NAME} names the column that tells repeats apart" + (
            ", and files of several tasks need a column task" if len(files) > 1 else ""
        )
    raise BadRequest(
        f"model {models[m]!r} has {len(same)} scores for item {items['item_id'].iloc[i]!r}{epoch}"
        f"{where}, expected one; {hint}"
    )


def _one_each(rows: pd.DataFrame, cell: np.ndarray, column: str) -> bool:
    """Whether no cell has rows with two values in a column, if there is one."""
    if column not in rows:
        return True
    pairs = pd.DataFrame({"cell": cell, column: rows[column].astype(str)}).drop_duplicates()
    return not pairs["cell"].duplicated().any()
