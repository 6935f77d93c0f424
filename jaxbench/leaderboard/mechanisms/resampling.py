"""Scores on resampled items: the exact laws of 0/1 scores, given how many items are wrong.

A release is the inverse of the cdf at one uniform draw. Source: spec of the mechanisms, rules 4 and
5.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int32

from jaxbench.leaderboard.mechanisms.base import (
    RELEASE,
    Feedback,
    Mechanism,
    Noise,
    Submission,
    spread,
)
from jaxbench.leaderboard.mechanisms.noise import normal_score
from jaxbench.leaderboard.mechanisms.resampling_tables import END, NODES, WIDTH


class _Resampled(Mechanism):
    """Numbers of which every one is a mean of items' losses of 0 or 1.

    - `per_item`: ticks per item; `items`: their number.
    - `row`: where a number's table starts; tables have a leading axis of length 1.

    A row is for r wrong items of n with 2r <= n; r above that is n - r seen from the other side.
    """

    per_item: Float64[Array | np.ndarray, "..."]
    items: Float64[Array | np.ndarray, "..."]
    row: Int32[Array | np.ndarray, "..."]

    @property
    def stateless(self) -> bool:
        """A number depends on its own submission and draw only."""
        return True

    @property
    def slots(self) -> tuple[int, ...]:
        """The release alone."""
        return (RELEASE,)

    def noise(self, uniforms: Float64[Array, "*batch numbers slots"]) -> Noise:
        """The uniform draw itself, at which the cdf is inverted."""
        drawn = uniforms[..., 0]
        none = jnp.zeros_like(drawn)
        return Noise(none, none, drawn)

    def _wrong(
        self, losses: Float64[Array, "*batch numbers"]
    ) -> tuple[Int32[Array, "*batch numbers"], Bool[Array, "*batch numbers"]]:
        """The rarer of wrong and right items, and where those are the right ones."""
        items = spread(self.items, losses)
        wrong = jnp.rint(losses / spread(self.per_item, losses))
        other = 2.0 * wrong > items
        return jnp.where(other, items - wrong, wrong).astype(jnp.int32), other


class Subsample(_Resampled):
    """Every submission is scored on m reused items of n, drawn without replacement.

    With r wrong items of n the count of wrong ones among the m is hypergeometric. Source: rule 4.

    - `per_scored`: ticks per scored item; `scored`: their number m.
    - `cdf`: of the count from `low` on, a row per r.
    """

    per_scored: Float64[Array | np.ndarray, "..."]
    scored: Float64[Array | np.ndarray, "..."]
    low: Int32[Array | np.ndarray, "1 rows"]
    cdf: Float64[Array | np.ndarray, "1 rows width"]

    def step(self, state: Any, submission: Submission, noise: Noise) -> tuple[Any, Feedback]:
        """The loss on the drawn items."""
        losses = submission.losses
        rarer, other = self._wrong(losses)
        row = spread(self.row, losses) + rarer
        level = 0.5 + jnp.where(other, -noise.release, noise.release)
        cdf = jnp.reshape(self.cdf, self.cdf.shape[-2:])
        width = cdf.shape[1]
        # How many entries lie below the level; the last one is 1.
        place = jnp.zeros_like(row)
        for bit in reversed(range((width - 1).bit_length())):
            probe = place + (2**bit - 1)
            below = (probe < width) & (cdf[row, jnp.minimum(probe, width - 1)] < level)
            place = jnp.where(below, place + 2**bit, place)
        count = (jnp.reshape(self.low, (-1,))[row] + place).astype(jnp.float64)
        count = jnp.where(other, spread(self.scored, losses) - count, count)
        released = count * spread(self.per_scored, losses)
        shown = jnp.ones(losses.shape, dtype=bool)
        return state, Feedback(released, shown, shown)


class Bootstrap(_Resampled):
    """Every submission is scored with fresh random weights: sum w_i l_i, w ~ Dirichlet(1, ..., 1).

    With r wrong items of n it is Beta(r, n - r); 0 for r = 0 and 1 for r = n. After Neto and
    others 2016 (arXiv 1607.00091), without their gate. Source: rule 5.

    - `per_score`: ticks per score of 1.
    - `quantiles`: at fixed normal scores, with slope and curvature there, a row per r.
    """

    per_score: Float64[Array | np.ndarray, "..."]
    quantiles: Float64[Array | np.ndarray, "1 rows nodes 3"]

    def step(self, state: Any, submission: Submission, noise: Noise) -> tuple[Any, Feedback]:
        """The loss under the drawn weights."""
        losses = submission.losses
        rarer, other = self._wrong(losses)
        row = spread(self.row, losses) + rarer
        z = normal_score(jnp.where(other, -noise.release, noise.release))
        table = jnp.reshape(self.quantiles, self.quantiles.shape[-3:])
        mean = interpolated(table, row, z)
        mean = jnp.where(other, 1.0 - mean, mean)
        released = mean * spread(self.per_score, losses)
        shown = jnp.ones(losses.shape, dtype=bool)
        return state, Feedback(released, shown, shown)


def interpolated(
    quantiles: Float64[Array, "rows nodes 3"],
    row: Int32[Array, "*shape"],
    z: Float64[Array, "*shape"],
) -> Float64[Array, "*shape"]:
    """A row's quantile at a normal score, by Hermite polynomials of degree 5 between nodes."""
    at = jnp.clip((z + END) / WIDTH, 0.0, float(NODES - 1))
    node = jnp.minimum(jnp.floor(at), float(NODES - 2))
    t = at - node
    left = node.astype(jnp.int32)
    a, b = quantiles[row, left], quantiles[row, left + 1]
    s = 1.0 - t
    # The weights of the right end are those of the left end seen from there.
    value, slope, curve = _hermite(t)
    value_b, slope_b, curve_b = _hermite(s)
    found = a[..., 0] * value + a[..., 1] * slope + a[..., 2] * curve
    found = found + (b[..., 0] * value_b - b[..., 1] * slope_b + b[..., 2] * curve_b)
    return jnp.clip(found, 0.0, 1.0)


def _hermite(t: Float64[Array, "*shape"]) -> tuple[Array, Array, Array]:
    """Weights of value, slope and curvature at t = 0."""
    cube, s = t * t * t, 1.0 - t
    value = 1.0 - cube * (10.0 - t * (15.0 - 6.0 * t))
    slope = t * s * s * s * (1.0 + 3.0 * t)
    return value, slope, 0.5 * t * t * s * s * s
