"""Rounding to a grid, in exact whole ticks.

Source: spec of the mechanisms, "common ground" and rule 2.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission, spread


def round_to_grid(
    x: Float64[Array, "..."], h: Float64[Array | np.ndarray, "..."]
) -> Float64[Array, "..."]:
    """`[x]_h`: x to the nearest multiple of h, halves to even; x itself where h is 0.

    Exact for whole numbers below 2^52, and for x that are none, whatever a compiler makes of a
    quotient: the remainder of the nearest multiple tells. `h` is whole and not negative. What is
    infinite stays so.
    """
    h = spread(h, x)
    rounded = jnp.isfinite(x) & (h > 0.0)
    grid, inside = jnp.where(rounded, h, 1.0), jnp.where(rounded, x, 0.0)
    near = jnp.rint(inside / grid)
    rest = 2.0 * (inside - near * grid)
    # Off by one at most.
    near = near + jnp.where(jnp.abs(rest) > grid, jnp.sign(rest), 0.0)
    rest = 2.0 * (inside - near * grid)
    odd_half = (jnp.abs(rest) == grid) & (2.0 * jnp.floor(0.5 * near) != near)
    near = jnp.where(odd_half, near + jnp.sign(rest), near)
    return jnp.where(rounded, near * grid, x)


def floor_to_grid(
    x: Float64[Array, "..."], h: Float64[Array | np.ndarray, "..."]
) -> Float64[Array, "..."]:
    """The largest multiple of h that is not above x; x itself where h is 0. Exact as above."""
    h = spread(h, x)
    rounded = jnp.isfinite(x) & (h > 0.0)
    grid, inside = jnp.where(rounded, h, 1.0), jnp.where(rounded, x, 0.0)
    near = jnp.floor(inside / grid)
    rest = inside - near * grid
    near = near + jnp.where(rest < 0.0, -1.0, jnp.where(rest >= grid, 1.0, 0.0))
    return jnp.where(rounded, near * grid, x)


class Rounding(Mechanism):
    """Every number rounded to a grid: `[r]_h`; with `floor`, the score cut down to the grid.

    `grid` is h in ticks; `per_score` is how many ticks a score of 1 has, as truncation is of the
    score and not of the loss. Source: rule 2.
    """

    grid: Float64[Array | np.ndarray, "..."]
    per_score: Float64[Array | np.ndarray, "..."]
    floor: bool = eqx.field(static=True, default=False)

    @property
    def apart(self) -> bool:
        """Every number goes its own way."""
        return True

    @property
    def stateless(self) -> bool:
        """A number depends on its own submission only."""
        return True

    def step(self, state: Any, submission: Submission, noise: Any) -> tuple[Any, Feedback]:
        """The rounded losses."""
        losses = submission.losses
        if self.floor:
            whole = spread(self.per_score, losses)
            released = whole - floor_to_grid(whole - losses, self.grid)
        else:
            released = round_to_grid(losses, self.grid)
        shown = jnp.ones(losses.shape, dtype=bool)
        return state, Feedback(released, shown, shown)
