"""An interval in place of a score, and ranks by intervals that do not overlap.

Intervals are 95 % intervals of the loss whose ends are rounded outward to a grid: without that they
would give the score away. Source: spec of the mechanisms, rule 17; Wilson (1927).
"""

from fractions import Fraction
from statistics import NormalDist
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.base import Mechanism, Submission, spread
from jaxbench.leaderboard.mechanisms.ranks import by_row, count_below, everything
from jaxbench.stats.intervals import wilson_interval

LEVEL = 0.95
# An end this close to a grid point, in grid steps, lies on it.
GUARD = 1e-9


def outward(
    low: np.ndarray, high: np.ndarray, grid: Fraction
) -> tuple[Float64[np.ndarray, "..."], Float64[np.ndarray, "..."]]:
    """Ends in whole grid steps: the lower one rounded down, the upper one up.

    They may pass 1 where the grid does not divide it.

    **Errors:** `BadRequest` unless the grid is above 0 and at most 1.
    """
    if not 0 < grid <= 1:
        raise BadRequest(
            f"an interval on the grid {grid}: expected a fraction of the score above 0 and at "
            "most 1 (0.01 = one percentage point)"
        )
    steps = grid.denominator / grid.numerator
    return np.floor(low * steps + GUARD), np.ceil(high * steps - GUARD)


def wilson_table(
    items: int, grid: Fraction | None
) -> tuple[Float64[np.ndarray, " counts"], Float64[np.ndarray, " counts"]]:
    """Wilson intervals of a 0/1 loss for every possible count of wrong items, 0 to `items`.

    **Returns:** lower and upper ends in steps of `grid`, or as fractions where it is None.
    """
    counts = np.arange(items + 1)
    _, low, high = wilson_interval(counts, np.full(items + 1, items), LEVEL)
    return (low, high) if grid is None else outward(low, high, grid)


def mean_ends(sums: Any, squares: Any, items: int, xp: ModuleType = np) -> tuple[Any, Any]:
    """Ends of `mean -+ z s / sqrt(n)`, clipped to [0, 1], for losses that are not 0 or 1.

    **Arguments:** `sums`, `squares`: sums of the item losses and of their squares, as fractions
    of the score, in one shape; `items`: n; `xp`: numpy or jax.numpy.

    s has divisor n - 1. One item alone says nothing: its interval is [0, 1].
    """
    if items < 2:
        return xp.zeros_like(sums), xp.ones_like(sums)
    mean = sums / items
    variance = xp.maximum(squares - sums * mean, 0.0) / (items - 1)
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2) * xp.sqrt(variance / items)
    return xp.clip(mean - reach, 0.0, 1.0), xp.clip(mean + reach, 0.0, 1.0)


def mean_interval(
    losses: Float64[np.ndarray, "*batch items"], grid: Fraction
) -> tuple[Float64[np.ndarray, "*batch"], Float64[np.ndarray, "*batch"]]:
    """Released ends, in grid steps, of the mean of item losses between 0 and 1."""
    sums = losses.sum(axis=-1)
    # Around the mean, where squares lose nothing to a common level.
    items = losses.shape[-1]
    apart = ((losses - sums[..., None] / items) ** 2).sum(axis=-1)
    low, high = mean_ends(sums, apart + sums**2 / items, items)
    return outward(low, high, grid)


def look_up(
    table: Float64[Array, "*rows counts"],
    losses: Float64[Array, "..."],
    per_item: Float64[Array, "..."],
) -> Float64[Array, "..."]:
    """The entries of a row's table at its losses.

    **Arguments:** `losses`: ticks; the axes of the table's rows come first, and one of length 1
    serves all; `per_item`: ticks of one wrong item, of which every loss is a whole multiple.
    """

    def one(table, counts):
        return jnp.take(table, counts.astype(jnp.int32), mode="clip")

    return by_row(one, table, jnp.rint(losses / spread(per_item, losses)))


class Interval(Mechanism):
    """Releases the interval of the loss; its midpoint, in half grid steps, stands for it.

    Source: rule 17. What is released is a pair of ends. Boards and submitters order by one number,
    and which one is not in the rule: we take the midpoint (low + high, a whole number of half
    steps). `table` has it for every count of wrong items (`wilson_table`: the sum of both ends);
    its rows are the leading axes of a batch. `per_item`: ticks of one wrong item.
    """

    table: Float64[Array, "*rows counts"]
    per_item: Float64[Array, "..."]

    @property
    def stateless(self) -> bool:
        """An interval depends on its own submission alone."""
        return True

    def step(self, state: Any, submission: Submission, noise: Any) -> tuple[Any, Any]:
        """The interval of one submission (or of a block of them)."""
        return state, everything(look_up(self.table, submission.losses, self.per_item))


class IntervalRank(Mechanism):
    """1 + how many genuine models are surely better: the upper end of theirs below its lower end.

    Source: rule 17. `lower` has the lower end for every count of wrong items, `uppers` the sorted
    upper ends of the genuine models in the same unit; rows are the leading axes of a batch.
    `per_item`: ticks of one wrong item.
    """

    lower: Float64[Array, "*rows counts"]
    uppers: Float64[Array, "*trials models"]
    per_item: Float64[Array, "..."]

    @property
    def stateless(self) -> bool:
        """Only the genuine models count."""
        return True

    def step(self, state: Any, submission: Submission, noise: Any) -> tuple[Any, Any]:
        """The rank of one submission (or of a block of them)."""
        low = look_up(self.lower, submission.losses, self.per_item)
        return state, everything(1.0 + count_below(self.uppers, low))
