"""The history of submissions: best scores so far on either side, and the largest gap of them."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float64


class History(NamedTuple):
    """Best scores so far on each side, and the largest gap between them so far."""

    best_reused: Float64[Array, "*shape"]
    best_heldout: Float64[Array, "*shape"]
    gap: Float64[Array, "*shape"]


def extend_history(
    history: History,
    reused: Float64[Array, "candidates *shape"],
    heldout: Float64[Array, "candidates *shape"],
) -> History:
    """The history after every candidate of a block, in order, `(candidates, *shape)`."""

    def step(history, scores):
        history = extend_by_one(history, *scores)
        return history, history

    return lax.scan(step, history, (reused, heldout))[1]


def extend_by_one(
    history: History, reused: Float64[Array, "*shape"], heldout: Float64[Array, "*shape"]
) -> History:
    """The history after one more submission."""
    best_reused = jnp.maximum(history.best_reused, reused)
    best_heldout = jnp.maximum(history.best_heldout, heldout)
    gap = jnp.maximum(history.gap, jnp.abs(best_reused - best_heldout))
    return History(best_reused, best_heldout, gap)
