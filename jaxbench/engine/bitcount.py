"""How many of many packed bits are set, for 32 candidates to a word at once.

The same bit of every slot's word belongs to one candidate. Words are added as numbers written
downwards, one word per binary digit (carry-save addition), so that a slot costs some ten word
operations for 32 candidates rather than a shift, a mask and an addition for each.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int32, UInt32


def count_bits(words: UInt32[Array, "rows slots parts"]) -> Int32[Array, "rows candidates"]:
    """How many slots have the bit of a candidate set.

    Candidate `32 p + b` is bit b of part p. No slot at all counts 0.
    """
    rows, slots, parts = words.shape
    if slots == 0:
        return jnp.zeros((rows, 32 * parts), dtype=jnp.int32)
    # digits[d][:, n]: binary digit d of the n-th number, 32 candidates a word.
    digits = [words]
    while digits[0].shape[1] > 1:
        number = digits[0].shape[1]
        half = number // 2
        sums = _add([d[:, :half] for d in digits], [d[:, half : 2 * half] for d in digits])
        if number % 2:
            # The odd one out joins the next round.
            rest = [d[:, 2 * half :] for d in digits]
            rest.append(jnp.zeros_like(rest[0]))
            sums = [jnp.concatenate(pair, axis=1) for pair in zip(sums, rest, strict=True)]
        digits = sums
    shifts = jnp.arange(32, dtype=jnp.uint32)[None, None, :]
    found = jnp.zeros((rows, parts, 32), dtype=jnp.uint32)
    for place, digit in enumerate(digits):
        found += ((digit[:, 0, :, None] >> shifts) & 1) << place
    return found.reshape(rows, 32 * parts).astype(jnp.int32)


def _add(one: list[Array], other: list[Array]) -> list[Array]:
    """Digits of the sums of numbers given by their digits, lowest first."""
    carry, digits = None, []
    for a, b in zip(one, other, strict=True):
        differ = a ^ b
        digits.append(differ if carry is None else differ ^ carry)
        carry = a & b if carry is None else (a & b) | (differ & carry)
    assert carry is not None
    return [*digits, carry]
