"""How a run is cut up, and in which arithmetic its votes are exact.

Votes are whole numbers: a candidate's contrast on a coordinate is at most the sum D of the
endpoints' differences there, a vote over R candidates at most D * R (spec: attack, section 5).
The narrowest arithmetic in which no partial sum can pass its exact range is chosen; nothing is
computed that no arithmetic can hold.
"""

from dataclasses import dataclass

from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket

FLOAT32 = 2**24
INT32 = 2**31
FLOAT64 = 2**53


@dataclass(frozen=True)
class Arithmetic:
    """Types of the kernel: products of signs and contrasts, and the sums of those products."""

    name: str
    product: str
    total: str


LADDER = (
    Arithmetic("float32", "float32", "float32"),
    Arithmetic("float32 products in int32", "float32", "int32"),
    Arithmetic("float64", "float64", "float64"),
)


def choose_arithmetic(
    largest_contrast: int, largest_total: int, candidates: int, block: int
) -> Arithmetic:
    """The narrowest exact arithmetic for votes over `candidates`, added in blocks of `block`.

    **Arguments:** bounds in counts: `largest_contrast` on |contrast| of any candidate on one
    coordinate of the reused side, `largest_total` on that over all coordinates of either side.

    **Errors:** `BadRequest` where even float64 could round.
    """
    votes = largest_contrast * max(candidates, 1)
    if max(votes, largest_total) < FLOAT32:
        return LADDER[0]
    in_block = largest_contrast * max(min(block, candidates), 1)
    if max(in_block, largest_total) < FLOAT32 and votes < INT32:
        return LADDER[1]
    if max(votes, largest_total) < FLOAT64:
        return LADDER[2]
    raise BadRequest(
        f"votes of up to {votes:.3g} counts cannot be added exactly in float64 (2^53); use fewer "
        "budgets, or scores with a smaller common denominator"
    )


# Candidates per product of a shared bank. On a CPU a block's contrasts should stay in cache; an
# accelerator wants few, large products. Fresh banks come in blocks of their own.
SHARED_BLOCK = {"cpu": 128, "gpu": 512, "tpu": 512}
# Working memory of one kernel call, bytes: decides how many trials go through together. A fresh
# bank's signs are made and used block by block, best within a cache.
CALL_BYTES = {"shared": 256 * 2**20, "fresh": 8 * 2**20}
# Host memory of one chunk of trials (splits, tallies, tables), bytes.
CHUNK_BYTES = 32 * 2**20


# A bank has a byte per candidate and slot.
BANK_BYTES = 4 * 2**30


def check_bank(candidates: int, slots: int) -> None:
    """Refuse a bank of routers that would not fit in memory.

    **Errors:** `BadRequest` with the largest budget that would.
    """
    if candidates * slots > BANK_BYTES:
        raise BadRequest(
            f"budgets up to {candidates + 1:,} need a bank of {candidates * slots / 2**30:.0f} GB; "
            f"with these items the largest budget is about {BANK_BYTES // slots:,} "
            "(fresh routers, routers=prng, need no bank)"
        )


def rows_per_call(
    trials: int, *, slots: int, budgets: int, units: int, block: int, fresh: bool
) -> int:
    """How many trials one kernel call takes, so that its arrays stay within `CALL_BYTES`."""
    # Differences on both sides and votes per slot; contrasts of a block per unit; outputs.
    per_row = 8 * (4 * slots + 2 * block * (units + 4) + 2 * budgets * units)
    if fresh:
        per_row += 4 * slots * block
    return even_parts(trials, CALL_BYTES["fresh" if fresh else "shared"] // per_row)


def trials_per_chunk(trials: int, *, items: int, models: int, units: int, budgets: int) -> int:
    """How many trials are split, tallied and tabled at a time."""
    per_trial = 4 * items + 8 * models * (4 * units + 3 * budgets) + 400 * budgets
    return even_parts(trials, CHUNK_BYTES // per_trial)


def even_parts(number: int, most: int) -> int:
    """The size of the fewest equal parts of about `most`: one shape, little padding.

    Padded to its bucket, so that another number of trials seldom is another program.
    """
    parts = -(-number // max(1, min(most, number)))
    return bucket(-(-number // parts))
