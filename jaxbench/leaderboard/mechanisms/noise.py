"""Laplace and normal noise on every released number.

Source: spec of the mechanisms, "common ground" (draws) and rule 3.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float64

from jaxbench.leaderboard.mechanisms.base import (
    RELEASE,
    Feedback,
    Mechanism,
    Noise,
    Submission,
    spread,
)


def laplace(
    uniforms: Float64[Array, "..."], scale: Float64[Array | np.ndarray, "..."]
) -> Float64[Array, "..."]:
    """Lap(b), of variance 2 b^2, from uniforms in (-1/2, 1/2): -b sign(u) log1p(-2|u|)."""
    size = -jnp.log1p(-2.0 * jnp.abs(uniforms))
    return spread(scale, uniforms) * jnp.sign(uniforms) * size


def normal_score(uniforms: Float64[Array, "..."]) -> Float64[Array, "..."]:
    """Standard normal numbers from uniforms in (-1/2, 1/2), by the inverse of its cdf.

    Taken from the nearer tail, so that no digit is lost to 1 - p and both sides are alike.
    """
    return -jnp.sign(uniforms) * ndtri(0.5 - jnp.abs(uniforms))


def normal(
    uniforms: Float64[Array, "..."], sd: Float64[Array | np.ndarray, "..."]
) -> Float64[Array, "..."]:
    """N(0, sd^2) from uniforms in (-1/2, 1/2)."""
    return spread(sd, uniforms) * normal_score(uniforms)


def clipped(
    released: Float64[Array, "*batch numbers"], most: Float64[Array | np.ndarray, "..."] | None
) -> Float64[Array, "*batch numbers"]:
    """Noisy losses within 0 and `most`, the loss of a score of 0; as they are without it."""
    if most is None:
        return released
    return jnp.clip(released, 0.0, spread(most, released))


class _Additive(Mechanism):
    """Every number plus noise of one size.

    - `size`: in ticks.
    - `most`: ticks per score of 1 where the noisy number is clipped to [0, most] (`clip=true`).
    - `persistent`: a submission that comes again gets the same noise. It is the caller who keys
      the draws by what a submission is in place of when it comes.
    """

    size: Float64[Array | np.ndarray, "..."]
    most: Float64[Array | np.ndarray, "..."] | None = None
    persistent: bool = eqx.field(static=True, default=False)

    @property
    def apart(self) -> bool:
        """Every number has noise of its own."""
        return True

    @property
    def stateless(self) -> bool:
        """A number depends on its own submission and noise only."""
        return True

    @property
    def slots(self) -> tuple[int, ...]:
        """The release alone."""
        return (RELEASE,)

    @property
    def persistent_slots(self) -> tuple[int, ...]:
        """The release, where the same submission gets the same noise."""
        return self.slots if self.persistent else ()

    def _drawn(self, uniforms: Float64[Array, "*batch numbers"]) -> Float64[Array, "..."]:
        raise NotImplementedError

    def noise(self, uniforms: Float64[Array, "*batch numbers slots"]) -> Noise:
        """Noise on the release."""
        drawn = self._drawn(uniforms[..., 0])
        none = jnp.zeros_like(drawn)
        return Noise(none, none, drawn)

    def step(self, state: Any, submission: Submission, noise: Noise) -> tuple[Any, Feedback]:
        """The losses plus their noise."""
        released = clipped(submission.losses + noise.release, self.most)
        shown = jnp.ones(released.shape, dtype=bool)
        return state, Feedback(released, shown, shown)


class Gaussian(_Additive):
    """r + N(0, s^2); `size` is s in ticks. Source: rule 3."""

    def _drawn(self, uniforms: Float64[Array, "*batch numbers"]) -> Float64[Array, "..."]:
        return normal(uniforms, self.size)


class Laplace(_Additive):
    """r + Lap(b), of variance 2 b^2; `size` is b in ticks. Source: rule 3."""

    def _drawn(self, uniforms: Float64[Array, "*batch numbers"]) -> Float64[Array, "..."]:
        return laplace(uniforms, self.size)
