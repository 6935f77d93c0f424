"""Ranks with ties, and the correlations that rest on them.

Pure functions over any leading axes, jitted, for use inside other kernels as well. Numbers keep
the dtype of the input: call them inside `jax.enable_x64(True)` for float64. Ranks, pairs and their
sums are whole numbers, so equal values are ties, and ties only, whatever the order of addition.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from jaxbench.errors import BadRequest
from jaxbench.stats.quantile import sort_numbers

# Up to this length all pairs are compared in registers, ten times as fast as sorting; from 64 on
# XLA stores them on a CPU.
MOST_PAIRWISE = 32
# n^2 ordered pairs are counted in int32.
MOST_IN_KENDALL = 46_340


@jax.jit
def midranks(values: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """Ranks 1 to n along the last axis, equal values at the mean of the ranks they take.

    A NaN is missing: it has the rank NaN and the others are ranked among themselves, as by
    `scipy.stats.rankdata(method="average", nan_policy="omit")`.
    """
    below, equal = _compared(values)
    doubled = (2 * below + equal + 1).astype(values.dtype)
    return jnp.where(jnp.isnan(values), jnp.nan, 0.5 * doubled)


@jax.jit
def spearman(
    x: Float[Array, "*rows n"],
    y: Float[Array, "*rows n"],
    valid: Bool[Array, "*rows n"] | None = None,
) -> Float[Array, "*rows"]:
    """Spearman's rank correlation along the last axis: Pearson's of the midranks.

    **Arguments:** `valid`: the pairs that count (default: all), for padding and missing pairs.

    NaN where it is undefined: fewer than two pairs, a constant side, or a NaN in a pair that
    counts.
    """
    x, y, broken = _masked(x, y, valid)
    a, b = _centred_ranks(x), _centred_ranks(y)
    ratio = _correlation((a * b).sum(axis=-1), (a * a).sum(axis=-1), (b * b).sum(axis=-1))
    return jnp.where(broken, jnp.nan, ratio)


@jax.jit
def kendall(
    x: Float[Array, "*rows n"],
    y: Float[Array, "*rows n"],
    valid: Bool[Array, "*rows n"] | None = None,
) -> Float[Array, "*rows"]:
    """Kendall's tau-b along the last axis: concordant less discordant pairs, adjusted for ties.

    Arguments and NaN as in `spearman`. Takes time n^2, no memory beyond its input.

    **Errors:** `BadRequest` for n above 46,340, whose pairs would not fit their integers.
    """
    if x.shape[-1] > MOST_IN_KENDALL:
        raise BadRequest(
            f"Kendall's tau of {x.shape[-1]} pairs; expected at most {MOST_IN_KENDALL}, whose "
            "pairs can be counted exactly: use Spearman's correlation"
        )
    x, y, broken = _masked(x, y, valid)

    def against_one(sums: tuple[Array, ...], one: tuple[Array, Array]) -> tuple:
        a, b = _above(one[0], x), _above(one[1], y)
        pairs = (a * b, a * a, b * b)
        return tuple(
            s + p.sum(axis=-1, dtype=jnp.int32) for s, p in zip(sums, pairs, strict=True)
        ), None

    zeros = (jnp.zeros(x.shape[:-1], dtype=jnp.int32),) * 3
    # One element after the other against the row: all pairs at once would be n times the input.
    sums, _ = lax.scan(against_one, zeros, (jnp.moveaxis(x, -1, 0), jnp.moveaxis(y, -1, 0)))
    both, in_x, in_y = (total.astype(x.dtype) for total in sums)
    return jnp.where(broken, jnp.nan, _correlation(both, in_x, in_y))


def _masked(x: Array, y: Array, valid: Array | None) -> tuple[Array, Array, Array]:
    """Both sides with NaN in what does not count, and the rows with a NaN in what does."""
    if valid is None:
        valid = jnp.ones(x.shape, dtype=bool)
    broken = jnp.any(valid & (jnp.isnan(x) | jnp.isnan(y)), axis=-1)
    return jnp.where(valid, x, jnp.nan), jnp.where(valid, y, jnp.nan), broken


def _compared(values: Array) -> tuple[Int32[Array, "*rows n"], Int32[Array, "*rows n"]]:
    """How many values of the row lie below each value, and how many equal it."""
    if values.shape[-1] <= MOST_PAIRWISE:
        mine, others = values[..., :, None], values[..., None, :]
        below = (others < mine).sum(axis=-1, dtype=jnp.int32)
        return below, (others == mine).sum(axis=-1, dtype=jnp.int32)
    length = values.shape[-1]
    flat = values.reshape(-1, length)
    ordered = sort_numbers(flat)
    below = jax.vmap(jnp.searchsorted)(ordered, flat).astype(jnp.int32)
    # Where the run of equal values that starts at `below` ends.
    last = jnp.concatenate(
        [ordered[:, 1:] != ordered[:, :-1], jnp.ones((len(ordered), 1), dtype=bool)], axis=1
    )
    places = jnp.arange(1, length + 1, dtype=jnp.int32)[None]
    end = lax.cummin(jnp.where(last, places, length), axis=1, reverse=True)
    equal = jnp.take_along_axis(end, below, axis=1) - below
    return below.reshape(values.shape), equal.reshape(values.shape)


def _centred_ranks(values: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """Twice the midranks less their mean: whole numbers, 0 where the value is missing."""
    below, equal = _compared(values)
    present = ~jnp.isnan(values)
    count = present.sum(axis=-1, keepdims=True, dtype=jnp.int32)
    return jnp.where(present, 2 * below + equal - count, 0).astype(values.dtype)


def _above(one: Float[Array, "*rows"], row: Float[Array, "*rows n"]) -> Int32[Array, "*rows n"]:
    """1 where the one lies above, -1 where below, 0 where neither: equal, or one of them NaN."""
    # Not the sign of a difference: equal infinities have none.
    one = one[..., None]
    return (one > row).astype(jnp.int32) - (one < row).astype(jnp.int32)


def _correlation(both: Array, in_x: Array, in_y: Array) -> Array:
    """`both / sqrt(in_x in_y)` within -1 and 1, NaN where either side is constant."""
    defined = (in_x > 0) & (in_y > 0)
    # The root of each, since the product of two sums could leave the range of float32.
    scale = jnp.where(in_x == in_y, in_x, jnp.sqrt(in_x) * jnp.sqrt(in_y))
    ratio = both / jnp.where(defined, scale, 1.0)
    return jnp.where(defined, jnp.clip(ratio, -1.0, 1.0), jnp.nan)
