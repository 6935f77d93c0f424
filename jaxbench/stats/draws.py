"""Random draws from counters, so that they do not depend on how the work is cut up.

What resample or permutation number b holds is a function of (seed, purpose, stream, b, slot)
alone: threefry hashes the numbers one by one. Chunks, padding, the default generator of jax and
the device cannot change a draw. All of it runs inside `jax.enable_x64(True)`.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Int32, Key, PyTree, UInt32, UInt64

from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket

# Slots of all draws that are held at a time, at about 32 bytes each.
SLOTS = 2**22
_LARGEST = 2**32


class Purpose(IntEnum):
    """What is drawn: draws of one seed for different purposes are independent.

    Spelled letters, so that they stay clear of the small numbers that others count with.
    """

    BOOTSTRAP = int.from_bytes(b"boot", "big")
    PERMUTATION = int.from_bytes(b"perm", "big")
    SIGN = int.from_bytes(b"sign", "big")


def stream_words(seed: int, purpose: Purpose, stream: int) -> UInt32[np.ndarray, " 2"]:
    """The key data of a stream of draws, for `in_chunks`: `seed` hashed with purpose and stream.

    **Errors:** `BadRequest` for a seed outside 0 to 2^64 - 1, a stream outside 0 to 2^32 - 1.
    """
    if not 0 <= seed < 2**64:
        raise BadRequest(f"seed is {seed}; expected a whole number from 0 to 2^64 - 1")
    if not 0 <= stream < _LARGEST:
        raise BadRequest(f"stream is {stream}; expected a whole number from 0 to 2^32 - 1")
    words = np.array(divmod(seed, _LARGEST), dtype=np.uint32)
    for counter in (purpose, stream):
        words = np.asarray(_fold(jnp.asarray(words), jnp.asarray(counter, dtype=jnp.uint32)))
    return words


@jax.jit
def _fold(words: UInt32[Array, " 2"], counter: UInt32[Array, ""]) -> UInt32[Array, " 2"]:
    return jax.random.key_data(jax.random.fold_in(_key(words), counter))


def _key(words: UInt32[Array, " 2"]) -> Key[Array, ""]:
    # Named, since a user may have set another generator as jax's default.
    return jax.random.wrap_key_data(words, impl="threefry2x32")


@partial(jax.jit, static_argnames=("rows", "pairs"))
def word_pairs(
    stream: UInt32[Array, " 2"], first: UInt32[Array, ""], *, rows: int, pairs: int
) -> UInt32[Array, "{rows} {pairs} 2"]:
    """Pairs of random words: `rows` draws from number `first` on, `pairs` for each.

    A pair is the hash of its number in the draw, hence the same however many there are.
    `jax.random.bits` promises that only under one of its settings. A program of its own, since it
    takes longer to compile than what is done with the words.
    """
    counters = jnp.arange(pairs, dtype=jnp.uint32)

    def of_draw(number: Array) -> Array:
        key = jax.random.fold_in(_key(stream), number)
        return jax.random.key_data(jax.vmap(partial(jax.random.fold_in, key))(counters))

    return jax.vmap(of_draw)(first + jnp.arange(rows, dtype=jnp.uint32))


def long_words(pairs: UInt32[Array, "slots 2"]) -> UInt64[Array, " slots"]:
    """One word of 64 bits for every pair."""
    wide = pairs.astype(jnp.uint64)
    return (wide[:, 0] << np.uint64(32)) | wide[:, 1]


def signs(pairs: UInt32[Array, "pairs 2"], slots: int) -> Float64[Array, " {slots}"]:
    """+1 or -1 per slot, one bit each; needs a pair for 64 slots."""
    bits = (pairs.reshape(-1, 1) >> jnp.arange(32, dtype=jnp.uint32)[None]) & np.uint32(1)
    return 1.0 - 2.0 * bits.reshape(-1)[:slots].astype(jnp.float64)


def multiplicities(
    pairs: UInt32[Array, "pairs 2"],
    start: Int32[Array, " slots"],
    size: Int32[Array, " slots"],
) -> Float64[Array, " slots"]:
    """How often every slot is drawn when each draws one of `start` to `start + size - 1`.

    Needs a pair for two slots. A slot of size 0 (padding) draws nothing. A 32-bit word is scaled
    to the range, which moves no chance by more than 2^-32: less than resamples could show.
    """
    slots = start.shape[0]
    scaled = pairs.reshape(-1)[:slots].astype(jnp.uint64) * size.astype(jnp.uint64)
    drawn = start + (scaled >> np.uint64(32)).astype(jnp.int32)
    counts = jnp.zeros(slots, dtype=jnp.int32)
    # Out of range, hence dropped, where nothing is drawn.
    counts = counts.at[jnp.where(size > 0, drawn, slots)].add(1, mode="drop")
    return counts.astype(jnp.float64)


def pad(values: np.ndarray, shape: tuple[int, ...], fill: float | bool = 0) -> np.ndarray:
    """`values` with `fill` behind them on every axis."""
    padded = np.full(shape, fill, dtype=values.dtype)
    padded[tuple(map(slice, values.shape))] = values
    return padded


def in_chunks(
    use: Callable[..., Array],
    arguments: PyTree,
    stream: UInt32[np.ndarray, " 2"],
    *,
    pairs: int,
    total: int,
    most: int,
    what: str,
) -> np.ndarray:
    """What `use(words, *arguments)` makes of draws 0 to total - 1, at most `most` at a time.

    `words` are those of `word_pairs`, at least `pairs` of them for every draw; `use` gives one
    result per draw, along the first axis. Shapes are the same in every call and padded, so that
    one program serves all of them and most other totals.

    **Errors:** `BadRequest`, naming `what`, unless 1 <= total <= 2^32 and most >= 1.
    """
    if not 1 <= total <= _LARGEST:
        raise BadRequest(f"{what} is {total}; expected a whole number from 1 to 2^32")
    if most < 1:
        raise BadRequest(f"chunk is {most}; expected a whole number from 1 on")
    calls = -(-total // most)
    rows, pairs = min(bucket(-(-total // calls)), most), bucket(pairs)
    parts = []
    with jax.enable_x64(True):
        held = jax.device_put(arguments)
        for first in range(0, total, rows):
            number = jnp.asarray(first, dtype=jnp.uint32)
            words = word_pairs(jnp.asarray(stream), number, rows=rows, pairs=pairs)
            parts.append(np.asarray(use(words, *held)))
    return np.concatenate(parts)[:total]
