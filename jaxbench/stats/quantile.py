"""Quantiles along the last axis, NaN left out.

A pure function over any leading axes, jitted, for use inside other kernels as well. Numbers keep
the dtype of the input: call it inside `jax.enable_x64(True)` for float64.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxbench.errors import unknown

METHODS = ("linear", "lower", "higher", "inverted_cdf")


@partial(jax.jit, static_argnames="method")
def quantiles(
    values: Float[Array, "*rows n"],
    at: Float[Array, " k"] | Float[Array, "*rows k"],
    weights: Float[Array, "*rows n"] | None = None,
    *,
    method: str = "linear",
) -> Float[Array, "*rows k"]:
    """Quantiles of every row, NaN where no value is left or `at` lies outside 0 to 1.

    **Arguments:**

    - `at`: fractions, the same for all rows or each row's own.
    - `weights`: how often every value stands there, not negative. Whole numbers, as a bootstrap
      draws them; `inverted_cdf` takes any.
    - `method`: one of `METHODS`, as in `numpy.quantile`. All but `linear` return a value that is
      there, so that a row may hold infinities; `linear` between a finite and an infinite one is
      infinite or NaN.

    A row with a negative or NaN weight gives NaN.
    """
    if method not in METHODS:
        raise unknown("quantile method", method, METHODS)
    at = jnp.broadcast_to(
        at.reshape((1,) * (values.ndim - at.ndim) + at.shape), (*values.shape[:-1], at.shape[-1])
    )
    if not values.shape[-1]:
        return jnp.full(at.shape, jnp.nan, dtype=values.dtype)
    present = ~jnp.isnan(values)
    if weights is None:
        ordered, upto = sort_numbers(values), None
        total = present.sum(axis=-1, keepdims=True, dtype=jnp.int32).astype(values.dtype)
    else:
        broken = jnp.any(present & ~(weights >= 0), axis=-1, keepdims=True)
        # What stands there no times is as good as missing, and goes to the end with it.
        present = present & (weights > 0)
        ordered, sorted_weights = lax.sort(
            (jnp.where(present, values, jnp.nan), jnp.where(present, weights, 0.0)),
            dimension=-1,
            num_keys=1,
        )
        upto = jnp.cumsum(sorted_weights, axis=-1)
        total = jnp.where(broken, jnp.nan, upto[..., -1:])
    last_present = present.sum(axis=-1, keepdims=True, dtype=jnp.int32) - 1

    def look_up(upto: Array, position: Array, side: str) -> Array:
        """The first value at which the running total `upto` reaches (or passes) the position."""
        rows = (part.reshape(-1, part.shape[-1]) for part in (upto, position))
        index = jax.vmap(lambda row, of: jnp.searchsorted(row, of, side=side))(*rows)
        index = jnp.minimum(index.reshape(position.shape).astype(jnp.int32), last_present)
        return jnp.take_along_axis(ordered, jnp.maximum(index, 0), axis=-1)

    def standing(position: Array) -> Array:
        """The value at a position, counted from 0, among as many as there are."""
        position = jnp.clip(position, 0, jnp.maximum(total - 1, 0))
        if upto is None:
            return jnp.take_along_axis(ordered, position.astype(jnp.int32), axis=-1)
        return look_up(upto, position, "right")

    # XLA may contract a product with what follows, whereupon 0.1 * 10 is more than 1, or divide by
    # way of the reciprocal, whereupon x / x is less than 1. Both have to be rounded as in numpy.
    position = lax.optimization_barrier((total if method == "inverted_cdf" else total - 1) * at)
    if method == "inverted_cdf" and upto is not None:
        whole = lax.optimization_barrier(jnp.broadcast_to(total, upto.shape))
        found = look_up(upto / whole, at, "left")
    elif method == "inverted_cdf":
        found = standing(jnp.ceil(position) - 1)
    elif method == "lower":
        found = standing(jnp.floor(position))
    elif method == "higher":
        found = standing(jnp.ceil(position))
    else:
        below = jnp.floor(position)
        found = _between(standing(below), standing(below + 1), position - below)
    return jnp.where((at >= 0) & (at <= 1) & (total > 0), found, jnp.nan)


def sort_numbers(values: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """Sorted along the last axis, NaN last, -0.0 before 0.0.

    The bits of a float, those of a negative one turned round, are an integer of the same order.
    XLA sorts these five times as fast on a CPU.
    """
    whole = jnp.int64 if values.dtype == jnp.float64 else jnp.int32

    def turn(bits: Array) -> Array:
        return jnp.where(bits < 0, bits ^ jnp.iinfo(whole).max, bits)

    plain = jnp.where(jnp.isnan(values), jnp.nan, values)
    ordered = jnp.sort(turn(lax.bitcast_convert_type(plain, whole)), axis=-1)
    return lax.bitcast_convert_type(turn(ordered), values.dtype)


def _between(low: Array, high: Array, share: Array) -> Array:
    """`low` plus a share of the way to `high`, rounded as numpy rounds it."""
    step = high - low
    near = jnp.where(share < 0.5, low + step * share, high - step * (1 - share))
    # Nothing to add, and between infinities nothing that could be added.
    return jnp.where((share == 0) | (low == high), low, near)
