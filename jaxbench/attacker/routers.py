"""Random routers: which endpoint each candidate sends a prompt to.

Source: spec of the attack, section 4. The published bank is a keyed hash of the prompt hash, so
anyone can rebuild it bit for bit; the simulation bank draws fresh routers in every trial from
counters. Either way equal prompts are routed alike by construction.
"""

import hashlib
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Int8, Num, UInt8, UInt32

from jaxbench.counters import words

# Candidates per pair of random words: the block of a fresh bank.
FRESH_BLOCK = 64


class SharedBank(eqx.Module):
    """One bank for all trials: signs per slot and candidate, and tie signs per slot.

    One blank (signs 0) stands in front of candidate 0, so that budgets of 128, 256, ... end where
    blocks do; it has no vote, and the score of the endpoints' midpoint, which is no record. The
    candidates are padded to a multiple of the block they are asked for in.
    """

    signs: Int8[Array, "slots candidates"]
    tie_signs: Int8[Array, " slots"]
    blanks: int = eqx.field(static=True, default=1)

    def block(
        self, index: Int[Array, ""], size: int, dtype: jnp.dtype, slots: slice
    ) -> Num[Array, "slots size"]:
        """Signs of candidates `index * size - 1` and on, on some of the slots."""
        here = self.signs[slots]
        return lax.dynamic_slice_in_dim(here, index * size, size, axis=1).astype(dtype)

    def ties_to_a(self) -> Bool[Array, "1 slots"]:
        """True where a tied vote goes to endpoint A."""
        return (self.tie_signs > 0)[None, :]


class FreshBank(eqx.Module):
    """Routers of their own for every trial, drawn where they are needed.

    The sign of candidate j on a prompt is a bit of the word at counters (prompt, j // 64) under
    the trial's key: only prompts that hold a slot are drawn, and a sign does not depend on what
    else is drawn.
    """

    keys: UInt32[Array, "rows 2"]
    tie_keys: UInt32[Array, "rows 2"]
    prompts: UInt32[Array, "rows slots"]
    blanks: int = eqx.field(static=True, default=0)

    def block(
        self, index: Int[Array, ""], size: int, dtype: jnp.dtype, slots: slice
    ) -> Num[Array, "rows size slots"]:
        """Signs of candidates `index * 64` to `index * 64 + 63`, on some of the slots.

        Slots come last: a word is spread over candidates by copying rows, and products read
        their second operand as it lies.
        """
        assert size == FRESH_BLOCK
        counter = jnp.asarray(index, dtype=jnp.uint32)[None, None]
        pair = words(self.keys[:, None, :], self.prompts[:, slots], counter)
        shifts = jnp.arange(32, dtype=jnp.uint32)[None, :, None]
        bits = jnp.concatenate([(word[:, None, :] >> shifts) & 1 for word in pair], axis=1)
        return (2 * bits.astype(jnp.int32) - 1).astype(dtype)

    def ties_to_a(self) -> Bool[Array, "rows slots"]:
        """True where a tied vote goes to endpoint A."""
        zero = jnp.zeros((1, 1), dtype=jnp.uint32)
        return (words(self.tie_keys[:, None, :], self.prompts, zero)[0] & 1) == 1


def hash_bank(
    prompts: Sequence[str], *, routing_seed: str, candidates: int
) -> UInt8[np.ndarray, "candidates bytes"]:
    """The published routers as packed bits (`numpy.packbits` order), bit 1 for sign +1.

    Candidate j sends a prompt to endpoint A (+1) if the lowest bit of
    BLAKE2b(prompt hash, key=SHA-256 of `probe|{routing_seed}|{j}`, one byte) is 1.

    **Arguments:** `prompts`: prompt hashes as text; `candidates`: routers 0 to candidates - 1.
    """
    encoded = [prompt.encode() for prompt in prompts]
    packed = np.empty((candidates, (len(encoded) + 7) // 8), dtype=np.uint8)
    for j in range(candidates):
        key = hashlib.sha256(f"probe|{routing_seed}|{j}".encode()).digest()
        packed[j] = np.packbits(_lowest_bits(encoded, key))
    return packed


def hash_ties(prompts: Sequence[str], tie_seed: str) -> Int8[np.ndarray, " prompts"]:
    """The sign that a zero vote takes, per prompt."""
    key = hashlib.sha256(f"tie|{tie_seed}".encode()).digest()
    return _signs(_lowest_bits([prompt.encode() for prompt in prompts], key))


def unpack_signs(
    packed: UInt8[np.ndarray, "candidates bytes"], prompts: int
) -> Int8[np.ndarray, "candidates prompts"]:
    """Packed bits as signs: +1 to endpoint A, -1 to endpoint B."""
    return _signs(np.unpackbits(packed, axis=1, count=prompts))


def _lowest_bits(encoded: list[bytes], key: bytes) -> UInt8[np.ndarray, " prompts"]:
    blake2b = hashlib.blake2b
    digests = b"".join([blake2b(p, key=key, digest_size=1).digest() for p in encoded])
    return np.frombuffer(digests, dtype=np.uint8) & 1


def _signs(bits: np.ndarray) -> np.ndarray:
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)
