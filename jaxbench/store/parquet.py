"""The bytes of a shard: Parquet that names what it holds, with a checksum over all of it.

Two entries stand in the footer, beside what Parquet itself puts there. `jaxbench.shard` is JSON:
`format`, `key`, `first`, `last`, `rows`. `jaxbench.checksum` is `jaxbench-sha256:` and 64 digits:
the SHA-256 of the whole file, taken while those digits were zeros. So no byte can change unseen,
be it of a column, of the footer, or of the checksum.
"""

import hashlib
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq

from jaxbench.store.shard import ENDS, Shard, check_shard

FORMAT = 1
IDENTITY, CHECKSUM = "jaxbench.shard", "jaxbench.checksum"
MARK = b"jaxbench-sha256:"
ZEROS = b"0" * 64


class Unsound(Exception):
    """Bytes that are not the shard that was asked for; the message says why."""


def encode(shard: Shard, table: pa.Table) -> bytes:
    """The file of a shard. What pandas or others noted in the schema is left out.

    **Errors:** `ValueError` for a key or a range that is none.
    """
    check_shard(shard)
    table = table.replace_schema_metadata(None)
    identity = {"format": FORMAT, **shard._asdict(), "rows": table.num_rows}
    sink = pa.BufferOutputStream()
    # Trials take few values, and names fewer: dictionaries halve the file of a real table. Nobody
    # filters by statistics.
    with pq.ParquetWriter(sink, table.schema, write_statistics=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {IDENTITY: json.dumps(identity), CHECKSUM: (MARK + ZEROS).decode()}
        )
    data = bytearray(sink.getvalue())
    start = _place(data)
    data[start : start + len(ZEROS)] = _digest(data, start)
    return bytes(data)


def decode(shard: Shard, data: bytes) -> pa.Table:
    """The table of a shard.

    **Errors:** `Unsound` for bytes that `encode` did not give for this very shard.
    """
    check(shard, data)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise Unsound(f"cannot be read as Parquet ({_first_line(error)})") from None
    # Without what tells shards apart, so that their schemas are equal.
    return table.replace_schema_metadata(None)


def check(shard: Shard, data: bytes) -> None:
    """Refuse bytes that `encode` did not give for this very shard.

    **Errors:** `Unsound`.
    """
    if len(data) <= 2 * len(ENDS) or data[:4] != ENDS or data[-4:] != ENDS:
        raise Unsound("is cut off, or no Parquet file")
    try:
        start = _place(data)
    except ValueError:
        raise Unsound("has no checksum of jaxbench") from None
    if data[start : start + len(ZEROS)] != _digest(data, start):
        raise Unsound("has another checksum than when it was written")
    try:
        footer = pq.read_metadata(pa.BufferReader(data))
        found = json.loads((footer.metadata or {})[IDENTITY.encode()])
        held = Shard(found["key"], found["first"], found["last"])
        version, rows = found["format"], found["rows"]
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise Unsound(f"does not say what it holds ({_first_line(error)})") from None
    if version != FORMAT:
        raise Unsound(f"has format {version}, expected {FORMAT}")
    if held.key != shard.key:
        raise Unsound(f"holds other conditions or another version ({held.key[:16]}...)")
    if held != shard:
        raise Unsound(
            f"holds trials {held.first} to {held.last}, expected {shard.first} to {shard.last}"
        )
    if rows != footer.num_rows:
        raise Unsound(f"has {footer.num_rows} rows, expected {rows}")


def _place(data: bytes | bytearray) -> int:
    """Where the digits of the checksum begin: the footer is last, so columns cannot hide it."""
    start = data.rindex(MARK) + len(MARK)
    if not re.match(rb"[0-9a-f]{64}", data[start : start + len(ZEROS)]):
        raise ValueError("no checksum")
    return start


def _digest(data: bytes | bytearray, start: int) -> bytes:
    view = memoryview(data)
    digest = hashlib.sha256(view[:start])
    digest.update(ZEROS)
    digest.update(view[start + len(ZEROS) :])
    view.release()
    return digest.hexdigest().encode()


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
