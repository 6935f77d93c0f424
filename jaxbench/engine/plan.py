"""How a run is cut up, and in which arithmetic its votes are exact.

Votes are whole numbers: a candidate's contrast on a coordinate is at most the sum D of the
endpoints' differences there, a vote over R candidates at most D * R (spec: attack, section 5).
The narrowest arithmetic in which no partial sum can pass its exact range is chosen; nothing is
computed that no arithmetic can hold.
"""

import os
from dataclasses import dataclass

from jaxbench.attacker.routers import FRESH_BLOCK
from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket

FLOAT32 = 2**24
INT32 = 2**31
FLOAT64 = 2**53


@dataclass(frozen=True)
class Arithmetic:
    """Types of the kernel: products of signs and contrasts, and the sums of those products.

    Weights that a mechanism lets through may be too large for the products: those are taken apart
    into `digits` whole numbers of `bits` bits.
    """

    name: str
    product: str
    total: str
    digits: int = 1
    bits: int = 0


LADDER = (
    Arithmetic("float32", "float32", "float32"),
    Arithmetic("float32 products in int32", "float32", "int32"),
    Arithmetic("float64", "float64", "float64"),
)


def choose_arithmetic(
    largest_contrast: int,
    largest_total: int,
    candidates: int,
    block: int,
    largest_weight: int = 0,
) -> Arithmetic:
    """The narrowest exact arithmetic for votes over `candidates`, added in blocks of `block`.

    **Arguments:** bounds in counts: `largest_contrast` on |contrast| of any candidate on one
    coordinate of the reused side, `largest_total` on that over all coordinates of either side;
    `largest_weight` on what a mechanism makes of one, in ticks (0: there is none).

    **Errors:** `BadRequest` where even float64 could round.
    """
    plain = _plain(largest_contrast, largest_total, candidates, block)
    votes = largest_weight * max(candidates, 1)
    if votes >= FLOAT64:
        raise BadRequest(
            f"votes of up to {votes:.3g} ticks cannot be added exactly in float64 (2^53); use "
            "fewer budgets, or a mechanism with rounder numbers"
        )
    fits = votes < FLOAT32 and plain.total == "float32"
    if votes == 0 or fits or plain.product == "float64":
        return plain
    # A digit is at most 2^(bits - 1), so that a block of them stays below 2^24.
    bits = 24 - (block - 1).bit_length()
    digits = 1
    while largest_weight > 2 ** (bits * digits - 1):
        digits += 1
    name = f"float32 products of {digits} digits in float64"
    return Arithmetic(name, plain.product, "float64", digits, bits)


def _plain(largest_contrast: int, largest_total: int, candidates: int, block: int) -> Arithmetic:
    """The same where nothing stands between a number and its release."""
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
# bank's signs are made and used block by block, on a CPU best within a cache.
CALL_BYTES = {
    "cpu": {"shared": 256 * 2**20, "fresh": 8 * 2**20},
    "gpu": {"shared": 2 * 2**30, "fresh": 2 * 2**30},
}
# Host memory of one chunk of trials (splits, tallies, tables), bytes.
CHUNK_BYTES = 32 * 2**20
# A bank has a byte per candidate and slot.
BANK_BYTES = 4 * 2**30


def block(backend: str, *, fresh: bool) -> int:
    """Candidates per product."""
    return FRESH_BLOCK if fresh else SHARED_BLOCK.get(backend, SHARED_BLOCK["cpu"])


def workers(backend: str) -> int:
    """Kernel calls with fresh routers at a time: one per core, or one ahead of an accelerator."""
    if backend != "cpu":
        return 2
    mine = getattr(os, "sched_getaffinity", None)
    return len(mine(0)) if mine else os.cpu_count() or 1


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


@dataclass(frozen=True)
class Shape:
    """The sizes that memory depends on: of one call of the kernel, and of a chunk of trials."""

    slots: int
    units: int
    budgets: int
    conditions: int
    views: int
    items: int
    models: int
    block: int
    fresh: bool
    backend: str
    reduced: bool = False
    channelled: int = 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one trial in a kernel call: inputs, votes, contrasts of a block, outputs."""
        if self.reduced:
            # One condition at a time: signs of a block and their bits, votes, normals, tails.
            return (
                12 * self.slots * self.block
                + 4 * self.slots * (self.budgets + 1)
                + 8 * 12 * self.slots
                + 8 * 3 * self.block * (self.units + 4)
                + 8 * 2 * self.budgets * (self.units + 3)
            )
        # A condition with a channel holds a block's numbers a few times over.
        per_row = 8 * 12 * self.block * self.channelled
        per_row += 8 * (2 * self.views * self.slots + 3 * self.conditions * self.slots)
        per_row += 8 * 2 * self.block * self.views * (self.units + 4)
        per_row += 8 * self.block * self.conditions * self.units
        per_row += 8 * 2 * self.budgets * self.conditions * (self.units + 3)
        if self.fresh:
            per_row += 4 * self.slots * self.block
        return per_row

    @property
    def trial_bytes(self) -> int:
        """Bytes of one trial on the host: splits, tallies, endpoints, metrics and tables."""
        sides = 24 * self.items * self.views
        boards = 8 * self.models * (4 * self.units * self.views + 3 * self.budgets)
        return sides + boards + 400 * self.budgets * self.conditions

    def most_rows(self, most_bytes: int | None = None) -> int:
        """Trials of a kernel call whose arrays stay within its memory (`most_bytes` at most)."""
        by_backend = CALL_BYTES.get(self.backend, CALL_BYTES["cpu"])
        call = by_backend["fresh" if self.fresh else "shared"]
        if most_bytes is not None:
            call = min(call, most_bytes)
        return max(1, call // self.row_bytes)

    def rows_per_call(self, trials: int, most_bytes: int | None = None) -> int:
        """How many of `trials` one kernel call takes: the fewest equal calls that fit."""
        return even_parts(trials, self.most_rows(most_bytes))

    def trials_per_chunk(self, trials: int, most_bytes: int | None = None) -> int:
        """How many trials are split, tallied and tabled at a time."""
        chunk = CHUNK_BYTES if most_bytes is None else min(CHUNK_BYTES, most_bytes)
        return even_parts(trials, chunk // self.trial_bytes)


def even_parts(number: int, most: int) -> int:
    """The size of the fewest equal parts of about `most`: one shape, little padding.

    Padded to its bucket, so that another number of trials seldom is another program.
    """
    parts = -(-number // max(1, min(most, number)))
    return bucket(-(-number // parts))
