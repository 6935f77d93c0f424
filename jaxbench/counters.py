"""Random words from counters: threefry, and nothing that depends on how work is cut up.

A word is a function of (seed, stream, trial, two counters) alone. Chunks, padding, the order of
trials, shards and devices cannot change it. jax's own draws depend on the shape of the draw,
which is why the counters are spelled out here.
"""

from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry2x32_p
from jaxtyping import Array, UInt32


class Stream(IntEnum):
    """What a word is drawn for: streams of one seed are independent of each other."""

    SPLIT = 0
    ROUTER = 1
    TIE = 2
    WORLD = 3
    # Which reused items are kept where there are to be fewer.
    SUBSET = 4
    # The reduced simulator's own: signs, ties, normals of votes, records among candidates.
    REDUCED_SIGN = 5
    REDUCED_TIE = 6
    REDUCED_NORMAL = 7
    REDUCED_RECORD = 8
    # Noise of releases, and whatever else a mechanism draws.
    MECHANISM = 9
    # What a submitter draws as it goes, and answers that ordinary development changes.
    SUBMITTER = 10
    DEVELOPMENT = 11


def words(
    keys: UInt32[Array, "*#shape 2"],
    first: UInt32[Array, "*#shape"],
    second: UInt32[Array, "*#shape"],
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """Two random words for every pair of counters (broadcast against each other)."""
    shape = jnp.broadcast_shapes(keys.shape[:-1], first.shape, second.shape)
    parts = (keys[..., 0], keys[..., 1], first, second)
    one, two = threefry2x32_p.bind(*(jnp.broadcast_to(part, shape) for part in parts))
    return one, two


def trial_keys(
    seed: int, streams: tuple[Stream, ...], trials: np.ndarray
) -> tuple[UInt32[Array, "trials 2"], ...]:
    """The key of every trial, per stream.

    **Arguments:** `seed`: 0 to 2^64 - 1; `trials`: trial numbers, 0 to 2^32 - 1.
    """
    root = np.array(divmod(seed, 2**32), dtype=np.uint32)
    numbers = np.asarray(trials).astype(np.uint32)
    return tuple(_trial_keys(root, np.array(streams, dtype=np.uint32), numbers))


@jax.jit
def _trial_keys(root, streams, trials):
    zeros = jnp.zeros_like(streams)
    stream_keys = jnp.stack(words(root[None, :], streams, zeros), axis=-1)
    keys = words(stream_keys[:, None, :], trials[None, :], zeros[:, None])
    return jnp.stack(keys, axis=-1)


@jax.jit
def trial_words(
    keys: UInt32[Array, "trials 2"], counters: UInt32[Array, " counters"]
) -> tuple[UInt32[Array, "trials counters"], UInt32[Array, "trials counters"]]:
    """Two words for every trial and counter."""
    zero = jnp.zeros((1, 1), dtype=jnp.uint32)
    return words(keys[:, None, :], counters[None, :], zero)
