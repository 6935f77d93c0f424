"""Tables from CSV, Parquet and JSON, every column as it stands in the file."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from jaxbench.errors import BadRequest
from jaxbench.sources.files import encoding_of, json_lines, read_bytes, read_json, read_text

PARQUET = b"PAR1"
DELIMITERS = ",;\t|"


def column_names(path: Path, head: bytes) -> list[str]:
    """The columns of a table, from its first bytes where they say so.

    **Errors:** `BadRequest` where it cannot be read.
    """
    if head.startswith(PARQUET):
        return _schema(path).names
    if head.lstrip()[:1] == b"[":
        records = read_json(path)
        return _keys(records if isinstance(records, list) else [])
    if head.lstrip()[:1] == b"{":
        return _keys([record for _, record in zip(range(100), _records(path), strict=False)])
    return _header(path, head)[0]


def read_table(path: Path, columns: list[str]) -> pa.Table:
    """Some columns of a table.

    **Arguments:** `columns`: names that it has.

    **Errors:** `BadRequest` where the file is damaged.
    """
    head = read_bytes(path, 4096)
    if head.startswith(PARQUET):
        _schema(path)
        try:
            return pq.read_table(path, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise _not_parquet(path, error) from None
    start = head.lstrip()[:1]
    if start == b"[":
        return _from_records(path, enumerate(read_json(path), start=1), columns)
    if start == b"{":
        return _from_records(path, json_lines(path), columns)
    return _read_csv(path, columns)


def place_in(path: Path, rows: int) -> Callable[[int], str]:
    """How errors name a row of a table."""
    return lambda row: f"{path}: row {row + 1} of {rows}"


def texts(values: pa.ChunkedArray, path: Path, column: str) -> pa.ChunkedArray:
    """A column as text, dictionary-encoded.

    **Errors:** `BadRequest` where it holds lists or the like.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    try:
        return values.cast(pa.string()).dictionary_encode()
    except pa.ArrowException:
        raise BadRequest(f"{path}: column {column!r} holds {kind}, expected text") from None


def _schema(path: Path) -> pa.Schema:
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise _not_parquet(path, error) from None
    _refuse_twice(path, schema.names)
    return schema


def _not_parquet(path: Path, error: Exception) -> BadRequest:
    return BadRequest(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}")


def _refuse_twice(path: Path, names: list[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadRequest(f"{path}: column {twice[0]!r} stands more than once")


def _header(path: Path, head: bytes) -> tuple[list[str], str]:
    """The column names of delimited text, and the delimiter."""
    text = head.decode(encoding_of(head), errors="replace").lstrip("\ufeff")
    line = next(csv.reader(io.StringIO(text), delimiter="\0"), [""])
    # The header may hold quoted line breaks; the delimiter that cuts most wins.
    first = text.splitlines()[0] if text else ""
    delimiter = max(DELIMITERS, key=first.count)
    if not first.count(delimiter):
        return line, ","
    names = next(csv.reader(io.StringIO(text), delimiter=delimiter))
    return [name.strip() for name in names], delimiter


def _read_csv(path: Path, columns: list[str]) -> pa.Table:
    text = read_text(path).removeprefix("\ufeff")
    names, delimiter = _header(path, text[:65536].encode())
    _refuse_twice(path, names)
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(text.encode()),
            # Named by us: what is read must be what was detected, spaces stripped.
            pyarrow.csv.ReadOptions(column_names=names, skip_rows_after_names=1),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        raise BadRequest(f"{path} cannot be read as CSV: {str(error).splitlines()[0]}") from None
    return table


def _records(path: Path):
    return (record for _, record in json_lines(path))


def _keys(records: list[Any]) -> list[str]:
    keys: dict[str, None] = {}
    for record in records[:100]:
        if not isinstance(record, dict):
            return []
        keys.update(dict.fromkeys(record))
    return list(keys)


def _from_records(path: Path, records, columns: list[str]) -> pa.Table:
    taken: dict[str, list[object]] = {name: [] for name in columns}
    for number, record in records:
        if not isinstance(record, dict):
            raise BadRequest(f"{path}: entry {number} is no JSON object")
        for name in columns:
            value = record.get(name)
            if isinstance(value, list | dict):
                raise BadRequest(
                    f"{path}: entry {number}: {name!r} holds {type(value).__name__}, expected one "
                    "value"
                )
            taken[name].append(value)
    return pa.table({name: _array(values) for name, values in taken.items()})


def _array(values: list[object]) -> pa.Array:
    """Values of one kind as they are; of several kinds as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        try:
            return pa.array([float(v) for v in values] if kinds == {int, float} else values)  # pyright: ignore
        except (pa.ArrowException, TypeError, OverflowError):
            pass
    return pa.array([None if v is None else str(v) for v in values], type=pa.string())
