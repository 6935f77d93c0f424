"""The Shaky Ladder: noisy comparisons and releases.

Source: Hardt 2017 (arXiv 1706.02733), whose noise scales are not in open text: these follow the
accounting of the sparse vector technique (Dwork and Roth, Foundations of Differential Privacy,
section 3.6). Spec of the mechanisms, rule 8.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64

from jaxbench.leaderboard.mechanisms.base import (
    COMPARISON,
    RELEASE,
    THRESHOLD,
    Feedback,
    Mechanism,
    Noise,
    Submission,
    spread,
)
from jaxbench.leaderboard.mechanisms.noise import clipped, laplace
from jaxbench.leaderboard.mechanisms.rounding import round_to_grid


class Shaken(NamedTuple):
    """R and the smallest R so far, the noise of the threshold, and how many were accepted."""

    best: Float64[Array, "*batch numbers"]
    lowest: Float64[Array, "*batch numbers"]
    shift: Float64[Array, "*batch numbers"]
    accepted: Float64[Array, "*batch numbers"]


class ShakyLadder(Mechanism):
    """Accept iff c < C and r_t + X_t < R - eta + g; then R = r_t + Z_t, g = G_t, c += 1.

    Source: rule 8. R is released, so that releases may rise; after C acceptances it is repeated for
    ever. g starts as G_0; G ~ Lap(2b), X ~ Lap(4b), Z ~ Lap(b).

    - `least`: eta in ticks; `scale`: b in ticks; with b = 0 it is the Ladder without rounding
      while c < C.
    - `cap`: C.
    - `most`: ticks per score of 1 where releases are clipped to [0, most].
    - `monotone`: the smallest R so far is released.
    """

    least: Float64[Array | np.ndarray, "..."]
    scale: Float64[Array | np.ndarray, "..."]
    cap: Float64[Array | np.ndarray, "..."]
    most: Float64[Array | np.ndarray, "..."] | None = None
    monotone: bool = eqx.field(static=True, default=False)

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
        return "best" if self.monotone else "last"

    @property
    def slots(self) -> tuple[int, ...]:
        """All three."""
        return (THRESHOLD, COMPARISON, RELEASE)

    def noise(self, uniforms: Float64[Array, "*batch numbers slots"]) -> Noise:
        """G, X and Z."""
        b = self.scale
        return Noise(
            2.0 * laplace(uniforms[..., 0], b),
            4.0 * laplace(uniforms[..., 1], b),
            laplace(uniforms[..., 2], b),
        )

    def start(self, first: Any) -> Shaken:
        """R_0 of a team, infinite, with a noisy threshold."""
        nothing = jnp.full_like(first.threshold, jnp.inf)
        return Shaken(nothing, nothing, first.threshold, jnp.zeros_like(nothing))

    def start_board(self, genuine: Float64[Array, "*batch models numbers"], first: Any) -> Shaken:
        """R_0 of a board: the best genuine loss, rounded to the step."""
        best = round_to_grid(jnp.min(genuine, axis=-2), self.least)
        return Shaken(best, best, first.threshold, jnp.zeros_like(best))

    def step(self, state: Shaken, submission: Submission, noise: Noise) -> tuple[Shaken, Feedback]:
        """R after one submission, and where it is this submission's."""
        losses = submission.losses
        bar = state.best - spread(self.least, losses) + state.shift
        accepted = (state.accepted < spread(self.cap, losses)) & (losses + noise.comparison < bar)
        best = jnp.where(accepted, losses + noise.release, state.best)
        shift = jnp.where(accepted, noise.threshold, state.shift)
        lowest = jnp.minimum(state.lowest, best)
        after = Shaken(best, lowest, shift, state.accepted + jnp.where(accepted, 1.0, 0.0))
        released, own = best, accepted
        if self.monotone:
            # An accepted submission above the smallest one shows nothing of its own.
            released, own = lowest, accepted & (best < state.lowest)
        return after, Feedback(clipped(released, self.most), jnp.isfinite(best), own)
