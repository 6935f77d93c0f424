"""Thresholdout: the score on a public part, unless the rest differs by more than a noisy threshold.

Source: Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015 (Science 349:636; NeurIPS, arXiv
1506.02629) and 2017 (CACM 60(4):86, Theorem 9); spec of the mechanisms, rule 10.
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
from jaxbench.leaderboard.mechanisms.noise import clipped, laplace, normal

# The three published rules: Laplace noise (the theory), normal noise of the same proportions (the
# paper in Science), and that of the authors' experiment code, whose threshold is not redrawn.
NOISE_RULES = ("laplace", "science", "supplement")


class Held(NamedTuple):
    """The noisy threshold, and how many answers from the rest are left."""

    threshold: Float64[Array, "*batch numbers"]
    left: Float64[Array, "*batch numbers"]


class Thresholdout(Mechanism):
    """Release a_t unless |h_t - a_t| > That + X_t; then release h_t + Z_t, That = T + G_t, B -= 1.

    Source: rule 10. a_t is the loss on the public part and h_t that on the rest. That starts as T +
    G_0. Where B < 1 nothing is released any more.

    - `threshold`: T, `scale`: s, both in ticks; `answers`: B, infinite for no limit.
    - `rule`: `laplace`: G ~ Lap(2s), X ~ Lap(4s), Z ~ Lap(s); `science`: normal with standard
      deviations 2s, 4s, s; `supplement`: G = 0, X and Z normal with standard deviation s.
    - `most`: ticks per score of 1 where noisy releases are clipped to [0, most].
    """

    threshold: Float64[Array | np.ndarray, "..."]
    scale: Float64[Array | np.ndarray, "..."]
    answers: Float64[Array | np.ndarray, "..."]
    most: Float64[Array | np.ndarray, "..."] | None = None
    rule: str = eqx.field(static=True, default="laplace")

    @property
    def slots(self) -> tuple[int, ...]:
        """All three."""
        return (THRESHOLD, COMPARISON, RELEASE)

    def noise(self, uniforms: Float64[Array, "*batch numbers slots"]) -> Noise:
        """G, X and Z."""
        draw = laplace if self.rule == "laplace" else normal
        threshold, comparison, release = (
            draw(uniforms[..., slot], self.scale) for slot in range(3)
        )
        if self.rule == "supplement":
            return Noise(jnp.zeros_like(threshold), comparison, release)
        return Noise(2.0 * threshold, 4.0 * comparison, release)

    def start(self, first: Any) -> Held:
        """The first noisy threshold, and every answer left."""
        like = first.threshold
        return Held(spread(self.threshold, like) + like, spread(self.answers, like))

    def step(self, state: Held, submission: Submission, noise: Noise) -> tuple[Held, Feedback]:
        """The state after one submission, and its loss on one of the two parts."""
        held = submission.losses
        if submission.public is None:
            raise ValueError("thresholdout needs losses on a public part")
        apart = jnp.abs(held - submission.public)
        open_ = state.left >= 1.0
        answered = open_ & (apart > state.threshold + noise.comparison)
        noisy = clipped(held + noise.release, self.most)
        released = jnp.where(answered, noisy, submission.public)
        fresh = spread(self.threshold, held) + noise.threshold
        after = Held(
            jnp.where(answered, fresh, state.threshold),
            state.left - jnp.where(answered, 1.0, 0.0),
        )
        return after, Feedback(released, open_, answered)
