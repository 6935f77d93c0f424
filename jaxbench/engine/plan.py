"""How a run is cut up, and in which arithmetic its votes are exact.

Votes are whole numbers: a candidate's contrast on a coordinate is at most the sum D of the
endpoints' differences there, a vote over R candidates at most D * R (spec: attack, section 5).
The narrowest arithmetic in which no partial sum can pass its exact range is chosen; nothing is
computed that no arithmetic can hold.
"""

from dataclasses import dataclass

from jaxbench.errors import BadRequest

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


# Candidates per product. On a CPU a block's contrasts should stay in cache; an accelerator wants
# few, large products.
CANDIDATE_BLOCK = {"cpu": 64, "gpu": 512, "tpu": 512}
# Working memory of one kernel call, bytes: decides how many trials go through together.
CALL_BYTES = 256 * 2**20


def rows_per_call(trials: int, slots: int, budgets: int, coordinates: int, block: int) -> int:
    """How many trials one kernel call takes, so that its arrays stay within `CALL_BYTES`."""
    # Differences on both sides and votes per slot; contrasts of a block per coordinate; outputs.
    per_row = 8 * (4 * slots + 2 * block * (coordinates + 4) + 2 * budgets * coordinates)
    most = max(1, CALL_BYTES // per_row)
    if trials <= most:
        return trials
    # Equal calls share one compiled shape and waste little padding in the last one.
    calls = -(-trials // most)
    return -(-trials // calls)
