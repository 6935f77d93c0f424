"""Ranks and percentile buckets in place of a score.

They act on one number, the overall loss in ticks, and release whole numbers of which smaller ones
are better. Source: spec of the mechanisms, rules 12 and 13.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float64, Int32

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission, spread


def count_below(
    pool: Float64[Array, "*rows models"], losses: Float64[Array, "..."]
) -> Float64[Array, "..."]:
    """How many entries of a row's pool lie below each of its losses, by binary search.

    **Arguments:** `pool`: sorted, rising; `losses`: the axes of the pool's rows come first, any
    others behind them (candidates, numbers).

    **Returns:** a whole number for every loss, in the shape of `losses`.
    """
    rows = pool.ndim - 1
    if rows == 1 and len(pool) == 1:
        pool = jnp.broadcast_to(pool, (len(losses), pool.shape[-1]))
    if pool.shape[:-1] != losses.shape[:rows]:
        raise ValueError(f"losses {losses.shape} do not start with the rows of {pool.shape}")

    def one(pool, losses):
        return jnp.searchsorted(pool, losses, side="left", method="scan_unrolled")

    for _ in range(rows):
        one = jax.vmap(one)
    return one(pool, losses).astype(jnp.float64)


def everything(
    released: Float64[Array, "*batch 1"], place: Float64[Array, "*batch 1"] | None = None
) -> Feedback:
    """Feedback in which every submission gets a number of its own."""
    seen = jnp.ones(released.shape, dtype=bool)
    return Feedback(released, seen, seen, place)


class Rank(Mechanism):
    """Rank among the genuine models: 1 + the number of genuine losses below r.

    Ties with a genuine model share its rank; earlier submissions do not count (`pool=genuine`).
    `pool` has the sorted losses of the genuine models; its rows are the leading axes of a batch.
    """

    pool: Float64[Array, "*rows models"]

    @property
    def stateless(self) -> bool:
        """Only the genuine models count."""
        return True

    def step(self, state: Any, submission: Submission, noise: Any) -> tuple[Any, Feedback]:
        """The rank of one submission (or of a block of them)."""
        losses = submission.losses
        # On a board of ranks a row that is strictly better stands before one of the same rank.
        return state, everything(1.0 + count_below(self.pool, losses), losses)


class Bucket(Mechanism):
    """Percentile bucket of B among G genuine models: floor(B c / (G + 1)), 0 the best.

    c is the number of genuine losses below r. `pool` is as for `Rank`; an infinite loss in it is
    padding and no model.
    """

    pool: Float64[Array, "*rows models"]
    buckets: Float64[Array, "..."]

    @property
    def stateless(self) -> bool:
        """Only the genuine models count."""
        return True

    def step(self, state: Any, submission: Submission, noise: Any) -> tuple[Any, Feedback]:
        """The bucket of one submission (or of a block of them)."""
        below = count_below(self.pool, submission.losses)
        models = jnp.sum(jnp.isfinite(self.pool), axis=-1).astype(jnp.float64)
        models = models.reshape(models.shape + (1,) * (below.ndim - models.ndim))
        # Whole numbers far below 2^53: a quotient short of a whole one is not rounded up to it.
        return state, everything(jnp.floor(spread(self.buckets, below) * below / (models + 1.0)))


class Earlier(eqx.Module):
    """Losses of the submissions so far, in a buffer that is infinite behind them."""

    losses: Float64[Array, "*batch capacity"]
    count: Int32[Array, ""]


class RankAll(Mechanism):
    """Rank among genuine models and earlier submissions: 1 + the number of losses below r.

    `capacity` bounds how many submissions are kept: at least as many as are made, as one that
    comes later would take the place of the last.
    """

    pool: Float64[Array, "*rows models"]
    capacity: int = eqx.field(static=True)

    def start(self, first: Any) -> Earlier:
        """No submission so far."""
        batch = first.threshold.shape[:-1]
        empty = jnp.full((*batch, self.capacity), jnp.inf, dtype=jnp.float64)
        return Earlier(empty, jnp.zeros((), dtype=jnp.int32))

    def step(self, state: Earlier, submission: Submission, noise: Any) -> tuple[Earlier, Feedback]:
        """The rank of one submission, which counts from then on."""
        losses = submission.losses
        mine = state.losses < losses
        ahead = jnp.sum(mine, axis=-1, keepdims=True).astype(jnp.float64)
        feedback = everything(1.0 + count_below(self.pool, losses) + ahead, losses)
        kept = jax.lax.dynamic_update_slice_in_dim(state.losses, losses, state.count, axis=-1)
        return Earlier(kept, state.count + 1), feedback
