"""Which rows of a table are wanted: `where=`, and `score=` where a column names the metric."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from jaxbench.errors import BadRequest, some
from jaxbench.sources.tables import tabular
from jaxbench.sources.tables.roles import spelled


@dataclass(frozen=True)
class Rows:
    """Rows of a table of a file, and which of the file's rows they are."""

    path: Path
    table: pa.Table
    numbers: np.ndarray

    @classmethod
    def of(cls, path: Path, columns: Sequence[str]) -> "Rows":
        """All rows of a file.

        **Errors:** `BadRequest` where it cannot be read, or has no rows.
        """
        table = tabular.read_table(path, list(dict.fromkeys(columns)))
        if not table.num_rows:
            raise BadRequest(f"{path} has no rows")
        return cls(path, table, np.arange(1, table.num_rows + 1))

    @property
    def place(self) -> Callable[[int], str]:
        """How errors name a row."""
        return lambda row: f"{self.path}: row {self.numbers[row]}"

    def texts(self, column: str) -> pd.Series:
        """A column as categorical text."""
        return categorical(tabular.texts(self.table[column], self.path, column))

    def only(self, kept: np.ndarray) -> "Rows":
        """Some of the rows."""
        if kept.all():
            return self
        return replace(self, table=self.table.filter(pa.array(kept)), numbers=self.numbers[kept])


def categorical(column: pa.ChunkedArray) -> pd.Series:
    """Dictionary-encoded text as pandas has it."""
    return column.unify_dictionaries().to_pandas()


def where_columns(
    names: Sequence[str], where: Mapping[str, tuple[str, ...]], path: Path
) -> dict[str, tuple[str, ...]]:
    """`where=` by the names that the table has; case and the like may differ.

    **Errors:** `BadRequest` for a column that is not there.
    """
    found = {}
    for column, values in where.items():
        alike = [n for n in names if n == column or spelled(n) == spelled(column)]
        if not alike:
            raise BadRequest(f"{path} has no column {column!r} (where); found {listed(names)}")
        found[column if column in alike else alike[0]] = values
    return found


def chosen_rows(rows: Rows, where: Mapping[str, tuple[str, ...]], every: bool = True) -> Rows:
    """The rows with these values.

    **Arguments:** `every`: each value must be there (a file of several need not have all).

    **Errors:** `BadRequest` where there is none.
    """
    for column, values in where.items():
        found = rows.texts(column)
        kept = found.isin(values).to_numpy()
        lack = [value for value in values if value not in set(map(str, found.cat.categories))]
        if lack and kept.any() and every:
            there = some([str(v) for v in found.cat.categories], most=8)
            raise BadRequest(f"{rows.path}: no row has {column}={lack[0]}; found {there}")
        if not kept.any():
            there = some([str(v) for v in found.cat.categories], most=8)
            raise BadRequest(
                f"{rows.path}: no row has {column}={' or '.join(values)}; found {there}"
            )
        rows = rows.only(kept)
    return rows


def chosen_metric(rows: Rows, metric: str, task: str | None, score: Sequence[str]) -> Rows:
    """The rows of one metric; of several that are asked for, each task takes the first it has.

    **Errors:** `BadRequest` where a task has none.
    """
    names = rows.texts(metric)
    tasks = rows.texts(task) if task else pd.Series(np.zeros(len(names), dtype=int))
    rank = names.map({name: rank for rank, name in enumerate(reversed(score), start=1)})
    ranks = rank.astype(float).fillna(0.0).to_numpy()
    # Of the names asked for, the first has the highest rank.
    best = pd.Series(ranks).groupby(np.asarray(tasks.astype(str))).transform("max").to_numpy()
    if not best.all():
        row = int(np.argmin(best))
        there = sorted({str(v) for v in names[np.asarray(tasks == tasks.iloc[row])]})
        of_task = f" in task {tasks.iloc[row]!r}" if task and best.any() else ""
        raise BadRequest(
            f"{rows.path}: no score {' or '.join(score)}{of_task}; found {some(there, most=8)}"
        )
    return rows.only(ranks == best)


def listed(names: Sequence[str]) -> str:
    """The columns of a table, for an error."""
    plain = [" ".join(name.split()) for name in names[:12]]
    cut = [name if len(name) <= 40 else f"{name[:39]}…" for name in plain]
    return ", ".join(cut) + (" ..." if len(names) > 12 else "")
