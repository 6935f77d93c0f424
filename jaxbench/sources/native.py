"""The native form of a benchmark: `items.parquet` and `scores.parquet` in one folder.

`items.parquet` has one row per item: `item_id`, `task`, optional `category` and `prompt_sha256`,
and for `scoring=chance_normalised` `subtask` and `chance`.
`scores.parquet` is long: `model`, `item_id`, `score` in [0, 1], optional `repeats` (runs that the
score is the mean of). Other columns are ignored. Row order means nothing; ids are text.
"""

import difflib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest, some
from jaxbench.options import Protocol

ITEMS, SCORES = "items.parquet", "scores.parquet"


def read_native(folder: Path, *, name: str, protocol: Protocol | None = None) -> Benchmark:
    """Read a native pair.

    **Errors:** `BadRequest` naming file, column, model or item: a file that is missing or not
    Parquet, a missing column, an empty id, a repeated item or (model, item), a model that misses
    items, a score for an unknown item, and what `Benchmark.from_scores` refuses.
    """
    items = _table(
        folder / ITEMS, ("item_id", "task"), ("category", "prompt_sha256", "subtask", "chance")
    )
    long = _table(folder / SCORES, ("model", "item_id", "score"), ("repeats",))
    for table, file, columns in (
        (items, folder / ITEMS, [c for c in items.columns if c != "chance"]),
        (long, folder / SCORES, ["model", "item_id"]),
    ):
        for column in columns:
            _check_filled(table[column], file, column)
    ids = items["item_id"].tolist()
    if repeated := items["item_id"][items["item_id"].duplicated()].unique().tolist():
        raise BadRequest(f"{folder / ITEMS}: item_id stands more than once: {some(repeated)}")
    scores, models = _matrix(long, ids, folder / SCORES)
    notes = [f"read from {ITEMS} and {SCORES}"]
    hashes = None
    if "prompt_sha256" in items:
        hashes = items["prompt_sha256"].tolist()
    else:
        notes.append(f"no prompt_sha256 in {ITEMS}: every item counts as its own prompt")
    if "repeats" in long:
        notes.append(f"each score is the mean of {_repeats(long['repeats'], folder / SCORES)} runs")
        runs = long["score"] * long["repeats"]
        if off := int((np.abs(runs - np.rint(runs)) > 1e-3).sum()):
            notes.append(
                f"note: {off} of {len(long)} scores are no whole number of successes in their "
                "repeats"
            )
    for file in (ITEMS, SCORES):
        notes += [f"note: {hint}" for hint in _near_misses(folder / file)]
    optional = {
        plural: items[column].tolist() if column in items else None
        for plural, column in (
            ("categories", "category"), ("subtasks", "subtask"), ("chances", "chance"),
        )
    }  # fmt: skip
    try:
        return Benchmark.from_scores(
            scores,
            models=models,
            items=ids,
            tasks=items["task"].tolist(),
            prompt_hashes=hashes,
            name=name,
            protocol=protocol,
            provenance=notes,
            **optional,  # pyright: ignore[reportArgumentType]
        )
    except BadRequest as refusal:
        raise BadRequest(f"{folder}: {refusal}") from None


def _table(path: Path, required: tuple[str, ...], optional: tuple[str, ...]) -> pd.DataFrame:
    """The known columns of a Parquet file, ids as text."""
    try:
        # Opening a pipe would wait for a writer.
        if path.exists() and not path.is_file():
            raise BadRequest(f"{path} is not a regular file; expected Parquet")
        schema = pq.read_schema(path)
        twice = sorted({c for c in schema.names if schema.names.count(c) > 1})
        if twice:
            raise BadRequest(f"{path}: column {twice[0]!r} stands more than once")
        names = [c for c in (*required, *optional) if c in schema.names]
        if missing := [c for c in required if c not in names]:
            raise BadRequest(
                f"{path}: column {missing[0]!r} is missing; found {', '.join(schema.names)}"
            )
        table = pq.read_table(path, columns=names)
        if not table.num_rows:
            raise BadRequest(f"{path} has no rows")
    except FileNotFoundError:
        raise BadRequest(
            f"{path} is missing; a benchmark folder holds {ITEMS} and {SCORES}"
        ) from None
    except PermissionError:
        raise BadRequest(f"{path} may not be read: permission denied") from None
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise BadRequest(f"{path} cannot be read as Parquet: {reason}") from None
    frame = {}
    for column in names:
        values = table[column]
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        # A chance level may be written as a fraction: 1/3.
        number = column in ("score", "repeats") or (column == "chance" and _is_number(values.type))
        frame[column] = _numbers(values, path, column) if number else _texts(values, path, column)
    return pd.DataFrame(frame)


def _near_misses(path: Path) -> list[str]:
    """Columns that are ignored but look like a misspelt optional one."""
    optional = {
        ITEMS: ("category", "prompt_sha256", "subtask", "chance"), SCORES: ("repeats",),
    }[path.name]  # fmt: skip
    names = pq.read_schema(path).names
    hints = []
    for name in names:
        close = difflib.get_close_matches(name.lower(), optional, n=1, cutoff=0.75)
        if name not in optional and close and close[0] not in names:
            hints.append(f"{path.name}: column {name!r} is ignored; did you mean {close[0]!r}?")
    return hints


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _numbers(values: pa.ChunkedArray, path: Path, column: str) -> np.ndarray:
    if not _is_number(values.type):
        raise BadRequest(f"{path}: column {column!r} holds {values.type}, expected numbers")
    return values.cast(pa.float64()).to_numpy()


def _texts(values: pa.ChunkedArray, path: Path, column: str) -> pd.Series:
    try:
        return values.cast(pa.string()).to_pandas().astype(object)
    except pa.ArrowException:
        raise BadRequest(f"{path}: column {column!r} holds {values.type}, expected text") from None


def _check_filled(values: pd.Series, path: Path, column: str) -> None:
    empty = values.isna() | (values.astype(str).str.strip() == "")
    if empty.any():
        row = int(np.argmax(empty.to_numpy())) + 1
        raise BadRequest(f"{path}: row {row} of {len(values)} has an empty {column}")


def _repeats(values: pd.Series, path: Path) -> str:
    numbers = values.to_numpy(dtype=np.float64)
    bad = ~np.isfinite(numbers) | (numbers < 1) | (numbers != np.rint(numbers))
    if bad.any():
        row = int(np.argmax(bad))
        raise BadRequest(
            f"{path}: row {row + 1} of {len(numbers)} has repeats {numbers[row]}, expected a whole "
            "number of runs >= 1"
        )
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def _matrix(long: pd.DataFrame, items: list[str], path: Path) -> tuple[np.ndarray, list[str]]:
    """The complete (models, items) matrix, models in name order."""
    models = sorted(long["model"].unique())
    column = pd.Index(items).get_indexer(pd.Index(long["item_id"]))
    if (column < 0).any():
        row = int(np.argmax(column < 0))
        raise BadRequest(
            f"{path}: row {row + 1} of {len(long)} scores item {long['item_id'].iloc[row]!r}, "
            f"which is not in {ITEMS}"
        )
    place = pd.Index(models).get_indexer(pd.Index(long["model"]))
    cell = place * len(items) + column
    times = np.bincount(cell, minlength=len(models) * len(items)).reshape(len(models), len(items))
    if (times > 1).any():
        m, i = np.argwhere(times > 1)[0]
        raise BadRequest(
            f"{path}: model {models[m]!r} has {times[m, i]} scores for item {items[i]!r}, "
            "expected one (the mean over repeats)"
        )
    missing = (times == 0).sum(axis=1)
    if missing.any():
        worst = int(np.argmax(missing))
        gaps = [items[i] for i in np.flatnonzero(times[worst] == 0)]
        raise BadRequest(
            f"{path}: {(missing > 0).sum()} of {len(models)} models miss items; "
            f"{models[worst]!r} misses {missing[worst]} of {len(items)}: {some(gaps)}; every model "
            "needs every item, so leave out those models or items"
        )
    scores = np.empty(times.shape)
    scores[place, column] = long["score"].to_numpy()
    return scores, models
