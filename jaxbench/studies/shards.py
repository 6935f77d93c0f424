"""What a shard holds: a table of trials, or their sums.

With `save_trials` a shard is the rows of `trials.parquet`, with the number of the condition within
its cell and of the bank. Without, it holds per condition and bank what a summary adds up: sums and
counts of every metric and budget, by the rows that are resampled (single trials up to 10,000, else
blocks of them).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa

from jaxbench import metrics

CONDITION, BANK = "condition", "bank"
PARTS = ("row", "eligible", "sums", "counts")
# Columns that are not float64 (a shard in which they are empty must not change their type).
TYPES = {
    CONDITION: pa.int32(),
    BANK: pa.int32(),
    **dict.fromkeys(("trial", "budget"), pa.int64()),
    "eligible": pa.bool_(),
    **dict.fromkeys(
        ("endpoint_a", "endpoint_b", "no_attack_model", "selected_model"),
        pa.dictionary(pa.int32(), pa.string()),
    ),
}


def trial_shard(tables: Sequence[tuple[int, int, pd.DataFrame]]) -> pa.Table:
    """Tables of trials, each with its condition and bank, as one."""
    parts = []
    for condition, bank, frame in tables:
        marked = pd.concat(
            [pd.DataFrame({CONDITION: condition, BANK: bank}, index=frame.index), frame], axis=1
        )
        schema = pa.schema([(str(c), TYPES.get(str(c), pa.float64())) for c in marked.columns])
        parts.append(pa.Table.from_pandas(marked, schema, preserve_index=False))
    return pa.concat_tables(parts).unify_dictionaries()


def sum_shard(parts: Sequence[tuple[int, int, metrics.Part]]) -> pa.Table:
    """Parts of summaries, each with its condition and bank, as one table."""
    width = parts[0][2].sums.shape[1]

    def lists(arrays: list[np.ndarray]) -> pa.Array:
        flat = pa.array(np.concatenate(arrays).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, width)

    rows = [len(part.rows) for _, _, part in parts]
    return pa.table(
        {
            CONDITION: pa.array(np.repeat([c for c, _, _ in parts], rows).astype(np.int32)),
            BANK: pa.array(np.repeat([b for _, b, _ in parts], rows).astype(np.int32)),
            "row": pa.array(np.concatenate([part.rows for _, _, part in parts])),
            "eligible": pa.array(np.concatenate([part.eligible for _, _, part in parts])),
            "sums": lists([part.sums for _, _, part in parts]),
            "counts": lists([part.counts for _, _, part in parts]),
        }
    )


def read_parts(table: pa.Table) -> Iterator[tuple[int, int, metrics.Part]]:
    """What `sum_shard` was made of."""
    condition, bank = (table[name].to_numpy() for name in (CONDITION, BANK))
    width = table.schema.field("sums").type.list_size
    arrays = {name: table[name].combine_chunks() for name in PARTS}
    sums, counts = (
        arrays[name].flatten().to_numpy().reshape(-1, width) for name in ("sums", "counts")
    )
    rows, eligible = (arrays[name].to_numpy() for name in ("row", "eligible"))
    for where in _runs(condition, bank):
        yield (
            int(condition[where][0]),
            int(bank[where][0]),
            metrics.Part(rows[where], eligible[where], sums[where], counts[where]),
        )


def read_trials(table: pa.Table) -> Iterator[tuple[int, int, pd.DataFrame]]:
    """What `trial_shard` was made of."""
    condition, bank = (table[name].to_numpy() for name in (CONDITION, BANK))
    bare = table.drop_columns([CONDITION, BANK])
    for where in _runs(condition, bank):
        part = bare.slice(where.start, where.stop - where.start)
        yield int(condition[where.start]), int(bank[where.start]), part.to_pandas()


def _runs(condition: np.ndarray, bank: np.ndarray) -> list[slice]:
    """Neighbouring rows of one condition and bank."""
    if not len(condition):
        return []
    change = (np.diff(condition) != 0) | (np.diff(bank) != 0)
    edges = [0, *(np.flatnonzero(change) + 1).tolist(), len(condition)]
    return [slice(a, b) for a, b in pairwise(edges)]
