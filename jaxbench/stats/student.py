"""Student's t without scipy, which jaxbench does not need otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import betainc
from jaxtyping import Array, Float64

from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket
from jaxbench.stats.draws import pad

# Bisection starts from e^-30 to e^30 and ends at neighbouring floats.
_LOGS = 30.0
_STEPS = 64


def tail_of(level: float) -> float:
    """The chance left out at either end, rounded so that 0.95 leaves 0.025 and no neighbour.

    **Errors:** `BadRequest` for a level outside 0 to 1.
    """
    tail = round((1 - level) / 2, 11)
    if not 0 < tail < 0.5:
        raise BadRequest(f"level is {level}; expected a fraction between 0 and 1, such as 0.95")
    return tail


def t_upper_tail(
    t: Float64[np.ndarray, "*shape"], freedom: Float64[np.ndarray, "*shape"]
) -> Float64[np.ndarray, "*shape"]:
    """Chance that Student's t with `freedom` degrees of freedom exceeds `t`; NaN without any."""
    size = (bucket(t.size),)
    with jax.enable_x64(True):
        found = np.asarray(_upper_tail(pad(t.ravel(), size), pad(freedom.ravel(), size, 1.0)))
    return found[: t.size].reshape(t.shape)


def t_critical(
    level: float, freedom: Float64[np.ndarray, "*shape"]
) -> Float64[np.ndarray, "*shape"]:
    """The t that |t| stays below with chance `level`; NaN without a degree of freedom.

    **Errors:** `BadRequest` for a level outside 0 to 1.
    """
    tail = tail_of(level)
    padded = pad(freedom.ravel(), (bucket(freedom.size),), 1.0)
    with jax.enable_x64(True):
        found = np.asarray(_critical(np.asarray(tail), padded))
    return found[: freedom.size].reshape(freedom.shape)


@jax.jit
def _upper_tail(t: Float64[Array, " n"], freedom: Float64[Array, " n"]) -> Float64[Array, " n"]:
    some = jnp.where(freedom > 0, freedom, 1.0)
    beyond = 0.5 * betainc(some / 2, 0.5, some / (some + t * t))
    return jnp.where(freedom > 0, jnp.where(t > 0, beyond, 1 - beyond), jnp.nan)


@jax.jit
def _critical(tail: Float64[Array, ""], freedom: Float64[Array, " n"]) -> Float64[Array, " n"]:
    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        above = _upper_tail(jnp.exp(middle), freedom) > tail
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    ends = jnp.full_like(freedom, -_LOGS), jnp.full_like(freedom, _LOGS)
    low, _ = lax.fori_loop(0, _STEPS, halve, ends)
    return jnp.where(freedom > 0, jnp.exp(low), jnp.nan)
