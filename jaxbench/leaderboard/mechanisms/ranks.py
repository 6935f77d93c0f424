"""Ranks and percentile buckets in place of a score.

They act on one number, the overall loss in ticks, and release whole numbers of which smaller ones
are better. Source: spec of the mechanisms, rules 12 and 13.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Int32, Shaped

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission, spread


def count_below(
    pool: Float64[Array | np.ndarray, "*rows models"], losses: Float64[Array, "..."]
) -> Float64[Array, "..."]:
    """How many entries of a row's pool lie below each of its losses, by binary search.

    **Arguments:** `pool`: sorted, rising; `losses`: the axes of the pool's rows come first, any
    others behind them (candidates, numbers). An axis of rows of length 1 serves all.

    **Returns:** a whole number for every loss, in the shape of `losses`.
    """

    def one(pool, losses):
        return jnp.searchsorted(pool, losses, side="left", method="scan_unrolled")

    return by_row(one, pool, losses).astype(jnp.float64)


def by_row(
    rule: Callable[[Array, Array], Array],
    table: Float64[Array | np.ndarray, "*rows entries"],
    losses: Float64[Array, "..."],
) -> Shaped[Array, "..."]:
    """A rule of every row of a table and the losses of that row; rows are as in `count_below`."""
    rows = table.shape[:-1]
    fits = len(rows) <= losses.ndim and all(
        n in (1, m) for n, m in zip(rows, losses.shape, strict=False)
    )
    if not fits:
        raise ValueError(f"losses {losses.shape} do not start with the rows of {table.shape}")
    for n in reversed(rows):
        rule = jax.vmap(rule, in_axes=(None if n == 1 else 0, 0))
    # An axis that serves all is not walked along, so that nothing is repeated.
    return rule(jnp.reshape(table, (*(n for n in rows if n != 1), table.shape[-1])), losses)


def everything(
    released: Float64[Array, "*batch 1"], place: Float64[Array, "*batch 1"] | None = None
) -> Feedback:
    """Feedback in which every submission gets a number of its own."""
    seen = jnp.ones(released.shape, dtype=bool)
    return Feedback(released, seen, seen, place)


class Rank(Mechanism):
    """Rank among the genuine models: 1 + the number of genuine losses below r.

    Source: rule 12. Ties with a genuine model share its rank; earlier submissions do not count
    (`pool=genuine`). `pool` has the sorted losses of the genuine models; its rows are the leading
    axes of a batch.
    """

    pool: Float64[Array | np.ndarray, "*rows models"]

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

    Source: rule 13. c is the number of genuine losses below r. `pool` is as for `Rank`; an infinite
    loss in it is padding and no model.
    """

    pool: Float64[Array | np.ndarray, "*rows models"]
    buckets: Float64[Array | np.ndarray, "..."]

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

    Source: rule 12. `capacity` bounds how many submissions are kept: at least as many as are made,
    as one that comes later would take the place of the last.
    """

    pool: Float64[Array | np.ndarray, "*rows models"]
    capacity: int = eqx.field(static=True)

    def start(self, first: Any) -> Earlier:
        """No submission so far."""
        batch = first.threshold.shape[:-1]
        empty = jnp.full((*batch, self.capacity), jnp.inf, dtype=jnp.float64)
        return Earlier(empty, jnp.zeros((), dtype=jnp.int32))

    def start_board(self, genuine: Float64[Array, "*batch models numbers"], first: Any) -> Earlier:
        """The same: the pool has the genuine rows, as everything before releases them."""
        return self.start(first)

    def step(self, state: Earlier, submission: Submission, noise: Any) -> tuple[Earlier, Feedback]:
        """The rank of one submission, which counts from then on."""
        losses = submission.losses
        mine = state.losses < losses
        ahead = jnp.sum(mine, axis=-1, keepdims=True).astype(jnp.float64)
        feedback = everything(1.0 + count_below(self.pool, losses) + ahead, losses)
        kept = jax.lax.dynamic_update_slice_in_dim(state.losses, losses, state.count, axis=-1)
        return Earlier(kept, state.count + 1), feedback
