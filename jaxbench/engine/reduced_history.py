"""The history of submissions in the reduced simulator: best scores and gaps along candidates.

By blocks, every candidate is drawn. Where a score weighs every item alike, a candidate's is one
binomial on each side, and only records are drawn: the wait for the next candidate that beats either
best so far is geometric, and what it then scores has the binomial's tail. Both are exact (to 2^-32
in probability); a few dozen records stand for thousands of candidates.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float64, Int32, UInt32

from jaxbench.counters import words
from jaxbench.engine.history import History, extend_history


def by_blocks(
    start: History, ends: Int32[Array, " budgets"], scores: Callable, block: int
) -> History:
    """The history before every budget's final router, `(budgets, rows)`.

    **Arguments:** `ends`: rising numbers of candidates; `scores`: of a block by its number, on
    both sides, each `(rows, block)`.
    """

    def one(index, carry):
        history, found = carry
        extended = extend_history(history, *(side.T for side in scores(index)))
        # Budgets that end in this block or later; later blocks overwrite.
        so_far = ends - index * block
        place = jnp.clip(so_far - 1, 0, block - 1)
        here = (so_far > 0)[:, None]
        found = History(
            *(jnp.where(here, new[place], old) for new, old in zip(extended, found, strict=True))
        )
        return History(*(new[-1] for new in extended)), found

    count, rows = ends.shape[0], start.gap.shape[0]
    found = History(*(jnp.broadcast_to(x[None, :], (count, rows)) for x in start))
    blocks = (ends[-1] + block - 1) // block
    return lax.fori_loop(jnp.zeros((), blocks.dtype), blocks, one, (start, found))[1]


class Binomial(NamedTuple):
    """Scores `low + slope X` of X ~ Bin(size, 1/2) on one side; `tails[row, x] = P(X >= x)`."""

    tails: Float64[Array, "rows values"]
    low: Float64[Array, " rows"]
    slope: Float64[Array, " rows"]

    def score(self, x: Array) -> Array:
        """The score of x right items."""
        return self.low + self.slope * x.astype(jnp.float64)

    def needed(self, best: Array) -> Int32[Array, " rows"]:
        """The smallest x whose score is above `best` (the table's end where none is)."""
        last = self.tails.shape[1] - 1
        # Equal scores differ by rounding of 1e-16, unequal ones by a slope of 1e-9 or more.
        exact = (best - self.low) / self.slope
        return jnp.clip(jnp.floor(exact + 1e-6).astype(jnp.int32) + 1, 0, last)

    def chance(self, needed: Array) -> Float64[Array, " rows"]:
        """P(X >= needed)."""
        return jnp.take_along_axis(self.tails, needed[:, None], axis=1)[:, 0]

    def draw(self, u: Array, floor: Array) -> Int32[Array, " rows"]:
        """X given that it is in the tail of probability `floor`, from a uniform u."""
        reached = self.tails >= (u * floor)[:, None]
        return jnp.sum(reached, axis=1, dtype=jnp.int32) - 1


def by_records(
    start: History,
    early: History,
    first: int,
    ends: Int32[Array, " budgets"],
    reused: Binomial,
    heldout: Binomial,
    keys: UInt32[Array, "rows 2"],
) -> History:
    """The same from records alone.

    **Arguments:** `early`: the history after each of the first candidates, at least `first` of
    them, `(candidates, rows)`; from there on records are drawn.
    """
    known = jnp.clip(ends, 0, first)[:, None]
    found = History(
        *(
            jnp.where(known > 0, soon[jnp.maximum(known[:, 0] - 1, 0)], before[None, :])
            for soon, before in zip(early, start, strict=True)
        )
    )
    history = History(*(soon[first - 1] for soon in early))
    last = ends[-1].astype(jnp.float64)
    ends = ends.astype(jnp.float64)[:, None]

    def going(state):
        return jnp.any(state[1] <= last)

    def one(state):
        event, at, history, found = state
        number = jnp.arange(2, dtype=jnp.uint32)[:, None]
        pair = words(keys[None, :, :], event[None, None], number)
        (wait, one), (which, two) = ((w.astype(jnp.float64) + 0.5) * 2.0**-32 for w in pair)
        need = reused.needed(history.best_reused), heldout.needed(history.best_heldout)
        p, q = reused.chance(need[0]), heldout.chance(need[1])
        either = p + q - p * q
        some = either > 0.0
        jump = jnp.ceil(jnp.log(wait) / jnp.log1p(-jnp.where(some, jnp.minimum(either, 0.75), 0.5)))
        then = jnp.where(some, at + jnp.maximum(jump, 1.0), jnp.inf)
        # Budgets from here to before the next record see the history as it is.
        here = (ends >= at[None, :]) & (ends < then[None, :]) & (ends > first)
        found = History(
            *(jnp.where(here, new[None, :], old) for new, old in zip(history, found, strict=True))
        )
        # Of the candidate: a record on the reused side, on the held-out side, or on both.
        spot = which * either
        public, private = spot < p, (spot < p * q) | (spot >= p)
        values = reused.score(reused.draw(one, p)), heldout.score(heldout.draw(two, q))
        best_reused = jnp.where(public & some, values[0], history.best_reused)
        best_heldout = jnp.where(private & some, values[1], history.best_heldout)
        gap = jnp.maximum(history.gap, jnp.abs(best_reused - best_heldout))
        return event + 1, then, History(best_reused, best_heldout, gap), found

    at = jnp.full(start.gap.shape, float(first), dtype=jnp.float64)
    event = jnp.zeros((), dtype=jnp.uint32)
    return lax.while_loop(going, one, (event, at, history, found))[-1]
