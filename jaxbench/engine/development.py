"""Ordinary development: no attack, but changes that are kept where the released score rises.

A submitter with a model of its own, which starts as the best genuine one. What comes of it is what
a leaderboard is for; how far its feedback misleads such work is what an attack is compared with.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float64, Int32, UInt32

from jaxbench.counters import words
from jaxbench.engine.submitters import Best, Keeping, Move, Stage


class Development(Keeping):
    """Every submission redraws the answers on a share of the prompts, each right with some chance.

    A prompt is touched with chance `change`. A touched one is right with chance
    min(1, h + gain/change), h the current submission's share of points on the unit's items that
    are held out (of all of them where the unit has none): by that it truly gains `gain` in the
    mean, whatever the split. Answers are right or wrong: counts are `denominator` or 0. Both words
    are those at counters (prompt, submission).

    - `start_answers`: twice the counts of the best genuine model; `start_released`: its released
      overall loss.
    - `heldout`: slots of held-out items; `spans`: first and last slot (not included) of every
      unit, in the order of the slots.
    """

    gain: Float64[Array, ""]
    change: Float64[Array, ""]
    denominator: Int32[Array, ""]
    keys: UInt32[Array, "rows 2"]
    prompts: UInt32[Array, "rows slots"]
    start_answers: Int32[Array, "rows slots"]
    start_released: Float64[Array, " rows"]
    heldout: Bool[Array, "rows slots"]
    spans: tuple[tuple[int, int], ...] = eqx.field(static=True)

    @property
    def static_first(self) -> bool:
        """With a single submission it is the genuine model."""
        return False

    def start(self, stage: Stage) -> tuple[Any, Any]:
        """The genuine model."""
        return (), Best(self.start_answers, self.start_released)

    def propose(self, stage, own, memory, number, candidate):
        """The current answers, some of them redrawn."""
        counter = number.astype(jnp.uint32)[None, None]
        touch, right = words(self.keys[:, None], self.prompts, counter)
        touched = touch.astype(jnp.float64) < self.change * 2.0**32
        chance = self._level(memory.answers) + self.gain / self.change
        new = jnp.where(right.astype(jnp.float64) < chance * 2.0**32, 2 * self.denominator, 0)
        return own, Move(jnp.where(touched, new, memory.answers), None, number[None])

    def _level(self, answers: Int32[Array, "rows slots"]) -> Float64[Array, "rows slots"]:
        """The share of points on held-out items of a slot's unit, or of all units."""
        points = jnp.where(self.heldout, answers, 0).astype(jnp.float64)
        full = jnp.where(self.heldout, 2 * self.denominator, 0).astype(jnp.float64)

        def share(x, of):
            return jnp.sum(x, axis=1, keepdims=True) / jnp.sum(of, axis=1, keepdims=True)

        everywhere = share(points, full)
        levels = []
        for start, stop in self.spans:
            own = share(points[:, start:stop], full[:, start:stop])
            some = jnp.any(self.heldout[:, start:stop], axis=1, keepdims=True)
            level = jnp.where(some, own, everywhere)
            levels.append(jnp.broadcast_to(level, (len(level), stop - start)))
        return jnp.concatenate(levels, axis=1)
