"""Tables from CSV, Parquet and JSON, every column as it stands in the file."""

import contextlib
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from jaxbench.errors import BadRequest
from jaxbench.sources.files import HEAD, json_lines, read_bytes, read_json, read_text, start_of

PARQUET, GZIP = b"PAR1", b"\x1f\x8b"
# How columns without a name are called, with their number.
UNNAMED = "unnamed column"
DELIMITERS = ",;\t|"


def column_names(path: Path, head: bytes) -> list[str]:
    """The columns of a table, from its first bytes where they say so.

    **Errors:** `BadRequest` where it cannot be read.
    """
    if head.startswith(PARQUET):
        return _schema(path).names
    text = start_of(head)
    if text.lstrip()[:1] == "[":
        return _keys(_first_of_list(text.lstrip()) or read_json(path))
    if text.lstrip()[:1] == "{":
        return _keys([record for _, record in zip(range(100), _records(path), strict=False)])
    if head.startswith(GZIP):
        raise BadRequest(f"{path} is compressed; unpack it first")
    return _header(path, head)[0]


def read_table(path: Path, columns: list[str]) -> pa.Table:
    """Some columns of a table.

    **Arguments:** `columns`: names that it has.

    **Errors:** `BadRequest` where the file is damaged.
    """
    head = read_bytes(path, HEAD)
    if head.startswith(PARQUET):
        _schema(path)
        try:
            return pq.read_table(path, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise _not_parquet(path, error) from None
    start = start_of(head).lstrip()[:1]
    if start == "[":
        return _from_records(path, enumerate(read_json(path), start=1), columns)
    if start == "{":
        return _from_records(path, json_lines(path), columns)
    return _read_csv(path, head, columns)


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
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise BadRequest(f"{path}: column {twice[0]!r} stands more than once")


def _header(path: Path, head: bytes) -> tuple[list[str], str]:
    """The column names of delimited text, and the delimiter: the one that cuts most."""
    while True:
        text = start_of(head).lstrip("\r\n")
        if "\0" in text:
            raise BadRequest(f"{path} holds zero bytes: neither Parquet nor text saved as UTF-8")
        # The header may hold quoted delimiters and line breaks.
        bare = re.split(r"[\r\n]", re.sub(r'"(?:[^"]|"")*"', "", text), maxsplit=1)
        if len(bare) > 1 or len(more := read_bytes(path, 8 * len(head))) <= len(head):
            break
        # Thousands of columns.
        head = more
    delimiter = max(DELIMITERS, key=bare[0].count)
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        raise BadRequest(f"{path} cannot be read as CSV: {error}") from None
    return [name.strip() or f"{UNNAMED} {n}" for n, name in enumerate(names, start=1)], delimiter


def _read_csv(path: Path, head: bytes, columns: list[str]) -> pa.Table:
    text = read_text(path).lstrip("\r\n")
    names, delimiter = _header(path, head)
    _refuse_twice(path, names)
    # A header alone needs its line end to be told from a row.
    data = (text if text.endswith("\n") else text + "\n").encode()
    del text
    bad: list[Any] = []

    def read(handler: Callable[[Any], str] | None = None, **settings: Any) -> pa.Table:
        return pyarrow.csv.read_csv(
            pa.BufferReader(data),
            # Named by us: what is read must be what was detected, spaces stripped.
            pyarrow.csv.ReadOptions(column_names=names, skip_rows_after_names=1, **settings),
            pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=handler
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                strings_can_be_null=False,
            ),
        )

    def first_bad(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        return read()
    except pa.ArrowException:
        # A line longer than a block, or a bad row, which only a single thread can number.
        try:
            return read(first_bad, block_size=len(data) + 1, use_threads=False)
        except (pa.ArrowException, OverflowError) as error:
            reason = f"{path} cannot be read as CSV: {str(error).splitlines()[0][:200]}"
    if bad:
        found = " ".join(bad[0].text.split())
        raise BadRequest(
            f"{path}: row {bad[0].number - 1} has {bad[0].actual_columns} fields, expected "
            f"{len(names)} as in the header: {found if len(found) <= 80 else found[:80] + '...'}"
        )
    raise BadRequest(reason)


def _first_of_list(text: str) -> list[Any]:
    """The records of a JSON list that lie in its first characters as a whole."""
    decoder, records, place = json.JSONDecoder(), [], 1
    while len(records) < 100:
        place += len(text[place:]) - len(text[place:].lstrip(" \t\r\n,"))
        try:
            record, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        records.append(record)
    return records


def _records(path: Path):
    return (record for _, record in json_lines(path))


def _keys(records: Any) -> list[str]:
    keys: dict[str, None] = {}
    for record in records[:100] if isinstance(records, list) else []:
        # What is no record is told with its number when all are read.
        keys.update(dict.fromkeys(record if isinstance(record, dict) else ()))
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
    return pa.table({name: _array(values, path, name) for name, values in taken.items()})


def _array(values: list[object], path: Path, name: str) -> pa.Array:
    """Values of one kind as they are; of several kinds as text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and str not in kinds:
        # Whole numbers can be too large.
        with contextlib.suppress(pa.ArrowException, OverflowError):
            return pa.array(values)
    try:
        return pa.array([None if v is None else str(v) for v in values], type=pa.string())
    except UnicodeEncodeError as error:
        row = next(r for r, v in enumerate(values) if v == error.object)
        raise BadRequest(
            f"{path}: entry {row + 1}: {name!r} holds text that cannot be written as UTF-8"
        ) from None
