"""A board of the best K only.

It acts on one number, the overall loss in ticks. Source: spec of the mechanisms, rule 11.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission


class Shown(NamedTuple):
    """What the board says about a submission, and the board behind it.

    `rank` is 1 + the number of board entries at or below the loss; the submission is `shown`
    where that is at most K. `board` has the K smallest entries.
    """

    rank: Float64[Array, "*batch 1"]
    shown: Bool[Array, "*batch 1"]
    board: Float64[Array, "*batch entries"]


def smallest(genuine: Float64[Array, "*batch models"], entries: int) -> Float64[Array, "*batch _"]:
    """The board before the first submission: the smallest genuine losses, infinity behind them."""
    kept = jnp.sort(genuine, axis=-1)[..., :entries]
    missing = entries - kept.shape[-1]
    return jnp.pad(kept, [(0, 0)] * (kept.ndim - 1) + [(0, missing)], constant_values=jnp.inf)


def submit(board: Float64[Array, "*batch entries"], losses: Float64[Array, "*batch 1"]) -> Shown:
    """The rank of one submission on a sorted board, and the board with it.

    Ties go to what came earlier. An entry behind the best K decides nothing, now or later.
    """
    rank = 1.0 + jnp.sum(board <= losses, axis=-1, keepdims=True).astype(jnp.float64)
    # Every entry above the loss moves one place back; without room for it nothing changes.
    before = jnp.concatenate([jnp.full_like(losses, -jnp.inf), board[..., :-1]], axis=-1)
    after = jnp.minimum(board, jnp.maximum(before, losses))
    return Shown(rank, rank <= board.shape[-1], after)


class TopK(Mechanism):
    """A submission is seen, with its loss and rank, if it enters the best K; else nothing is.

    Source: rule 11. The board holds the genuine rows and every submission that was shown. `pool` is
    the board before the first submission (see `smallest`); its last axis is K.
    """

    pool: Float64[Array | np.ndarray, "*batch entries"]

    @property
    def steady(self) -> bool:
        """It remembers what was shown."""
        return True

    @property
    def team_row(self) -> str:
        """A team stands where the best of its shown submissions does."""
        return "best"

    def start(self, first: Any) -> Float64[Array, "*batch entries"]:
        """The board of the genuine rows."""
        batch = first.threshold.shape[:-1]
        return jnp.broadcast_to(self.pool, (*batch, self.pool.shape[-1]))

    def start_board(
        self, genuine: Float64[Array, "*batch models numbers"], first: Any
    ) -> Float64[Array, "*batch entries"]:
        """The same: the pool has the genuine rows, as everything before releases them."""
        return self.start(first)

    def step(
        self, state: Float64[Array, "*batch entries"], submission: Submission, noise: Any
    ) -> tuple[Float64[Array, "*batch entries"], Feedback]:
        """The loss of one submission, where it is shown."""
        found = submit(state, submission.losses)
        return found.board, Feedback(submission.losses, found.shown, found.shown)
