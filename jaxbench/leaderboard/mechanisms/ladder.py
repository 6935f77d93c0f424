"""The Ladder: a number is released only where it beats the best one so far by a step.

Source: Blum and Hardt 2015 (ICML, arXiv 1502.04585), Algorithm 1; spec of the mechanisms, rule 6.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission, spread
from jaxbench.leaderboard.mechanisms.rounding import round_to_grid


class Ladder(Mechanism):
    """Accept iff r_t < R_{t-1} - eta; then R_t = [r_t]_grid, else R_t = R_{t-1}; release R_t.

    Source: rule 6. Every number has a Ladder of its own. R_0 is infinite for a team, so that its
    first submission is accepted, and the best genuine loss on the grid for a board.

    - `least`: eta in ticks; 0 gives the running minimum.
    - `grid`: what an accepted loss is rounded to: eta (`round=true`), 0 (`round=false`: released
      as it is), or a power of ten (`round=julia`: the authors' Ladder.jl rounds to round(log10 n)
      decimals).
    """

    least: Float64[Array | np.ndarray, "..."]
    grid: Float64[Array | np.ndarray, "..."]

    @property
    def apart(self) -> bool:
        """Every number goes its own way."""
        return True

    @property
    def steady(self) -> bool:
        """It remembers what was accepted."""
        return True

    @property
    def team_row(self) -> str:
        """A team stands where its last accepted submission does."""
        return "last"

    def start(self, first: Any) -> Float64[Array, "*batch numbers"]:
        """R_0 of a team."""
        return jnp.full_like(first.threshold, jnp.inf)

    def start_board(
        self, genuine: Float64[Array, "*batch models numbers"], first: Any
    ) -> Float64[Array, "*batch numbers"]:
        """R_0 of a board."""
        return round_to_grid(jnp.min(genuine, axis=-2), self.grid)

    def step(
        self, state: Float64[Array, "*batch numbers"], submission: Submission, noise: Any
    ) -> tuple[Float64[Array, "*batch numbers"], Feedback]:
        """R_t, and where it is this submission's."""
        losses = submission.losses
        accepted = losses < state - spread(self.least, losses)
        best = jnp.where(accepted, round_to_grid(losses, self.grid), state)
        return best, Feedback(best, jnp.isfinite(best), accepted)


class Gate(NamedTuple):
    """The overall that was released last, and its profile."""

    overall: Float64[Array, "*batch 1"]
    profile: Float64[Array, "*batch numbers"]


class GateLadder(Mechanism):
    """The Ladder on the overall, which decides whether a whole profile is released (`on=gate`).

    If the overall of a submission beats R by more than eta, its profile is released, every
    coordinate on the grid, and R is the overall of that rounded profile. Else the old profile is
    repeated.

    Source: rule 6 (`on=gate`: common ground).

    - `weights`: whole numbers; the overall is their sum with the losses, in ticks of its own.
    - `least`: eta in ticks of the overall (last axis 1).
    - `grid`: what every coordinate of an accepted profile is rounded to, in its own ticks.
    """

    weights: Float64[Array | np.ndarray, "..."]
    least: Float64[Array | np.ndarray, "..."]
    grid: Float64[Array | np.ndarray, "..."]

    @property
    def steady(self) -> bool:
        """It remembers what was accepted."""
        return True

    @property
    def team_row(self) -> str:
        """A team stands where its last accepted submission does."""
        return "last"

    def start(self, first: Any) -> Gate:
        """R_0 of a team, infinite."""
        nothing = jnp.full_like(first.threshold, jnp.inf)
        return Gate(nothing[..., :1], nothing)

    def start_board(self, genuine: Float64[Array, "*batch models numbers"], first: Any) -> Gate:
        """The profile of the genuine row with the best overall (the first of equals), rounded."""
        best = jnp.argmin(self._overall(genuine), axis=-2, keepdims=True)
        profile = jnp.take_along_axis(genuine, best, axis=-2)[..., 0, :]
        profile = round_to_grid(profile, self.grid)
        return Gate(self._overall(profile), profile)

    def step(self, state: Gate, submission: Submission, noise: Any) -> tuple[Gate, Feedback]:
        """The profile that is shown, and whether it is this submission's."""
        losses = submission.losses
        overall = self._overall(losses)
        # A number that is missing makes the overall so, and nothing is accepted.
        accepted = overall < state.overall - spread(self.least, overall)
        shown = jnp.broadcast_to(accepted, losses.shape)
        profile = jnp.where(shown, round_to_grid(losses, self.grid), state.profile)
        best = jnp.where(accepted, self._overall(profile), state.overall)
        return Gate(best, profile), Feedback(profile, jnp.isfinite(profile), shown)

    def _overall(self, losses: Float64[Array, "*rows numbers"]) -> Float64[Array, "*rows 1"]:
        return jnp.sum(spread(self.weights, losses) * losses, axis=-1, keepdims=True)
