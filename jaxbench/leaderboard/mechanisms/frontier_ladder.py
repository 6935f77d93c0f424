"""The Frontier Ladder: a profile is released only where no earlier one dominates it.

Provisional: a reconstruction from what open text says of Allouah and Duchi 2026 (arXiv
2609.32109), that feedback is restricted to nondominated task profiles. Spec of the mechanisms,
rule 9.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Int32

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission, spread
from jaxbench.leaderboard.mechanisms.rounding import round_to_grid

# What a report says beside its numbers.
PROVISIONAL = (
    "frontier_ladder is a provisional reconstruction: the rule's own section (Allouah and Duchi "
    "2026) was not to be had"
)


class Frontier(NamedTuple):
    """The profiles that were released: infinite behind the first `size`."""

    members: Float64[Array, "*batch capacity numbers"]
    size: Int32[Array, "*batch"]


class FrontierLadder(Mechanism):
    """Accept iff no f in F has f_j <= r_tj + eta for all j; then release [r_t]_eta and add it to F.

    Source: rule 9. Else nothing is released. F starts empty for a team, and from the genuine
    profiles on the grid for a board. Members that a new one dominates stay: they change no later
    decision. eta = 0 is the Pareto rule in which an equal profile counts as dominated; with one
    number it is the Ladder, release for release.

    - `least`: eta in ticks of every number.
    - `capacity`: how many profiles F can hold: as many as there are submissions, and genuine rows
      where it starts from them.
    """

    least: Float64[Array | np.ndarray, "..."]
    capacity: int = eqx.field(static=True)

    @property
    def team_row(self) -> str:
        """A team stands where the best of its released profiles does."""
        return "best"

    def start(self, first: Any) -> Frontier:
        """No profile so far."""
        like = first.threshold
        members = jnp.full((*like.shape[:-1], self.capacity, like.shape[-1]), jnp.inf, like.dtype)
        return Frontier(members, jnp.zeros(like.shape[:-1], jnp.int32))

    def start_board(self, genuine: Float64[Array, "*batch models numbers"], first: Any) -> Frontier:
        """The genuine profiles, on the grid.

        **Errors:** `BadRequest` where there are more than F can hold.
        """
        models = genuine.shape[-2]
        if models > self.capacity:
            raise BadRequest(
                f"mechanism=frontier_ladder: {models} genuine rows, and room for {self.capacity}"
            )
        empty = self.start(first)
        members = empty.members.at[..., :models, :].set(round_to_grid(genuine, self.least))
        return Frontier(members, jnp.full_like(empty.size, models))

    def step(
        self, state: Frontier, submission: Submission, noise: Any
    ) -> tuple[Frontier, Feedback]:
        """F after one submission, and its profile where it is not dominated."""
        losses = submission.losses
        reach = (losses + spread(self.least, losses))[..., None, :]
        dominated = jnp.any(jnp.all(state.members <= reach, axis=-1), axis=-1)
        # A profile that lacks a number is not compared.
        accepted = ~dominated & jnp.all(jnp.isfinite(losses), axis=-1)
        profile = round_to_grid(losses, self.least)
        places = jnp.arange(self.capacity, dtype=jnp.int32)
        here = (jnp.expand_dims(places, range(state.size.ndim)) == state.size[..., None]) & (
            accepted[..., None]
        )
        members = jnp.where(here[..., None], profile[..., None, :], state.members)
        size = state.size + accepted.astype(jnp.int32)
        shown = jnp.broadcast_to(accepted[..., None], losses.shape)
        released = jnp.where(shown, profile, jnp.inf)
        return Frontier(members, size), Feedback(released, shown, shown)
