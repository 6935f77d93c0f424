"""A mechanism as a package of somebody else declares it (see `test_every_mechanism`)."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64

from jaxbench.leaderboard.mechanisms import Feedback, Mechanism
from jaxbench.leaderboard.mechanisms.base import spread
from jaxbench.options.mechanism import MechanismSpec, Parameter


class Halving(Mechanism):
    """Releases share * r_t + (1 - share) * R_{t-1}, from R_0 = r_1. Source: these tests."""

    share: Float64[Array | np.ndarray, "..."]

    def start(self, first):
        return jnp.full_like(first.threshold, jnp.inf)

    def step(self, state, submission, noise):
        losses = submission.losses
        share = spread(self.share, losses)
        mixed = share * losses + (1.0 - share) * state
        released = jnp.where(jnp.isfinite(state), mixed, losses)
        seen = jnp.isfinite(released)
        return released, Feedback(released, seen, seen)


class _Plugin:
    spec = MechanismSpec(
        "halving", "a moving mean of what was released",
        (
            Parameter("share", "share", "weight of the new one", least=Fraction(0),
                      most=Fraction(1), open_least=True, default=Fraction(1, 2)),
        ),
        state=True, places=("overall", "coordinates"),
    )  # fmt: skip

    @staticmethod
    def build(values, ticks, on):
        return Halving(np.full((1, 1), float(values["share"])))


PLUGIN = _Plugin()
NOT_ONE = object()


class Wrong:
    """Builds something else."""

    spec = MechanismSpec("wrong", "no mechanism")

    @staticmethod
    def build(values, ticks, on):
        return "a mechanism"
