"""The native form of a benchmark: `items.parquet` and `scores.parquet` in one folder.

`items.parquet` has one row per item: `item_id`, `task`, optional `category` and `prompt_sha256`,
and for `scoring=chance_normalised` `subtask` and `chance`.
`scores.parquet` is long: `model`, `item_id`, `score` in [0, 1], optional `repeats` (runs that the
score is the mean of). Several rows of a model and item are repeats. Other columns are ignored, but
for those that tell wordings or metrics apart (`variant_id`, `axis`, `metric`, ...), of which one
has to be chosen. Row order means nothing; ids are text.
"""

import difflib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from jaxbench.errors import BadRequest, some
from jaxbench.options import ReadOptions
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.score_values import as_fractions
from jaxbench.sources.tables.roles import VARIANTS, check_variants

ITEMS, SCORES = "items.parquet", "scores.parquet"
# Key of the Parquet metadata under which jaxbench writes the denominator of its scores.
DENOMINATOR = b"jaxbench.denominator"


def read_pair(folder: Path, options: ReadOptions) -> Outcomes:
    """Read a native pair.

    **Errors:** `BadRequest` naming file, column, model or item: a file that is missing or not
    Parquet, a missing column, an empty id, a repeated item, a score that is none, or a score of an
    unknown item.
    """
    items = _table(
        folder / ITEMS, ("item_id", "task"), ("category", "prompt_sha256", "subtask", "chance")
    )
    _check_options(folder, options)
    if options.score:
        options = replace(options, where={"metric": options.score[:1], **options.where})
    wanted = ("repeats", *options.where, *_variants(folder / SCORES), *_given(options, "epoch"))
    long = _table(folder / SCORES, ("model", "item_id", "score"), tuple(dict.fromkeys(wanted)))
    for table, file, columns in (
        (items, folder / ITEMS, [c for c in items.columns if c != "chance"]),
        (long, folder / SCORES, ["model", "item_id"]),
    ):
        for column in columns:
            _check_filled(table[column], file, column)
    if repeated := items["item_id"][items["item_id"].duplicated()].unique().tolist():
        raise BadRequest(f"{folder / ITEMS}: item_id stands more than once: {some(repeated)}")
    strange = ~long["item_id"].isin(items["item_id"]).to_numpy()
    if strange.any():
        row = int(np.argmax(strange))
        raise BadRequest(
            f"{folder / SCORES}: row {row + 1} of {len(long)} scores item "
            f"{long['item_id'].iloc[row]!r}, which is not in {ITEMS}"
        )
    notes = [Note(f"read from {ITEMS} and {SCORES}")]
    if "prompt_sha256" not in items:
        notes.append(Note(f"no prompt_sha256 in {ITEMS}: every item counts as its own prompt"))
    if "repeats" in long:
        check_repeats(long["repeats"], folder / SCORES)
        runs = long["score"] * long["repeats"]
        if off := int((np.abs(runs - np.rint(runs)) > 1e-3).sum()):
            text = f"{off} of {len(long)} scores are no whole number of successes in their repeats"
            notes.append(Note(text, shown=True))
    for file in (ITEMS, SCORES):
        notes += [Note(hint, shown=True) for hint in _near_misses(folder / file)]
    long = _where(long, options, folder / SCORES).reset_index(drop=True)
    epoch = options.columns.get("epoch")
    if epoch:
        long["epoch"] = long[epoch].astype(str)
    check_variants(long, {})

    def place(row: int) -> str:
        return f"{folder / SCORES}: model {long['model'].iloc[row]!r}"

    scores = long["score"].to_numpy(dtype=np.float64)
    if (nothing := np.isnan(scores)).any():
        row = long.iloc[int(np.argmax(nothing))]
        raise BadRequest(
            f"{folder / SCORES}: score nan of model {row['model']!r} on item {row['item_id']!r}: "
            "expected a number in [0, 1]"
        )
    # This form holds fractions; what else a column may be is not guessed at.
    if options.max_score is not None:
        long["score"], told = as_fractions(
            scores, place, max_score=options.max_score, percent=False
        )
        notes.append(Note(str(told), shown=True))
    return Outcomes(
        long,
        items=items.rename(columns={"prompt_sha256": "prompt_hash"}),
        notes=tuple(notes),
        denominator=_denominator(folder / SCORES),
        file=str(folder / SCORES),
    )


def _check_options(folder: Path, options: ReadOptions) -> None:
    """Refuse what would be passed over: this form has its own columns and list of items."""
    other = [role for role, name in options.columns.items() if role not in ("epoch", name)]
    if other:
        raise BadRequest(
            f"{folder}: columns={{{other[0]}:...}} means nothing for {ITEMS} and {SCORES}, whose "
            "columns have their names"
        )
    if options.items is not None:
        raise BadRequest(f"{folder}: {ITEMS} is the list of items; leave items= out")
    if options.score and "metric" not in _variants(folder / SCORES):
        raise BadRequest(
            f"{folder / SCORES} has no column 'metric' to choose score={options.score[0]} by"
        )


def _where(long: pd.DataFrame, options: ReadOptions, path: Path) -> pd.DataFrame:
    """The rows that the user asked for."""
    for column, values in options.where.items():
        if column not in long:
            raise BadRequest(f"{path} has no column {column!r} (where)")
        there = long[column].astype(str)
        if lack := [value for value in values if not (there == value).any()]:
            found = some(there.unique(), most=8)
            raise BadRequest(f"{path}: no row has {column}={lack[0]}; found {found}")
        long = long[there.isin(values)]
    return long


def _given(options: ReadOptions, role: str) -> list[str]:
    return [options.columns[role]] if role in options.columns else []


def _variants(path: Path) -> list[str]:
    """Columns that tell scores of one model and item apart and are no repeats."""
    try:
        # Opening a pipe would wait for a writer.
        names = pq.read_schema(path).names if path.is_file() else []
    except (OSError, pa.ArrowException):
        # `_table` says what is wrong.
        return []
    return [name for name in names if name in VARIANTS]


def _denominator(path: Path) -> int | None:
    """What scores are multiples of one over, where jaxbench wrote the file."""
    spelled = (pq.read_schema(path).metadata or {}).get(DENOMINATOR, b"").decode()
    return int(spelled) if spelled.isdecimal() and 0 < int(spelled) <= 10**6 else None


def _table(path: Path, required: tuple[str, ...], optional: tuple[str, ...]) -> pd.DataFrame:
    """The known columns of a Parquet file, ids as text."""
    try:
        # Opening a pipe would wait for a writer.
        if path.exists() and not path.is_file():
            raise BadRequest(f"{path} is not a regular file; expected Parquet")
        schema = pq.read_schema(path)
        twice = sorted(name for name, times in Counter(schema.names).items() if times > 1)
        if twice:
            raise BadRequest(f"{path}: column {twice[0]!r} stands more than once")
        names = [c for c in dict.fromkeys((*required, *optional)) if c in schema.names]
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


def check_repeats(values: pd.Series, path: Path) -> None:
    """Refuse numbers of runs that are none."""
    numbers = values.to_numpy(dtype=np.float64)
    bad = ~np.isfinite(numbers) | (numbers < 1) | (numbers != np.rint(numbers))
    if bad.any():
        row = int(np.argmax(bad))
        raise BadRequest(
            f"{path}: row {row + 1} of {len(numbers)} has repeats {numbers[row]}, expected a whole "
            "number of runs >= 1"
        )
