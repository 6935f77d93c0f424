"""Mechanisms one after the other, and whole ticks at the end.

Source: spec of the mechanisms, "common ground": a list of mechanisms applies left to right, and
what is released is brought to the interface's tick afterwards.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float64

from jaxbench.leaderboard.mechanisms.base import (
    Feedback,
    Mechanism,
    State,
    Submission,
    no_noise,
)

# Which of two ways to show a team wins.
_TEAM_ROWS = ("own", "last", "best")
SLOTS = 3


class MechanismChain(Mechanism):
    """Every part takes what the part before releases as its losses.

    A number is visible, or answered, where it is so behind every part. A part gets an infinite
    loss for a number that the parts before do not show. Losses on the public part and sums over
    items are for the first part only. What comes out is in whole ticks, halves to even, and
    infinite where nothing is visible. Without parts every loss is released as it is. Rows are
    placed as the last part places them.

    Noise and state are tuples with an entry per part; slots are 3 * part + slot.
    """

    parts: tuple[Mechanism, ...]

    @property
    def stateless(self) -> bool:
        """Whether no part remembers anything."""
        return all(part.stateless for part in self.parts)

    @property
    def apart(self) -> bool:
        """Whether no part sees several numbers."""
        return all(part.apart for part in self.parts)

    @property
    def steady(self) -> bool:
        """Whether every part that remembers changes seldom."""
        return all(part.stateless or part.steady for part in self.parts)

    @property
    def compares_items(self) -> bool:
        """Whether the first part looks at items: the others see what it releases only."""
        return any(part.compares_items for part in self.parts)

    @property
    def team_row(self) -> str:
        """That of the parts which goes furthest from `own`: `best`, then `last`."""
        rows = [part.team_row for part in self.parts]
        return max(rows, key=_TEAM_ROWS.index, default="own")

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots of every part, in their order."""
        return tuple(SLOTS * i + slot for i, part in enumerate(self.parts) for slot in part.slots)

    @property
    def persistent_slots(self) -> tuple[int, ...]:
        """Those of every part, in their order."""
        return tuple(
            SLOTS * i + slot for i, part in enumerate(self.parts) for slot in part.persistent_slots
        )

    def noise(self, uniforms: Float64[Array, "*batch numbers slots"]) -> Any:
        """The noise of every part, from uniform draws in the order of `slots`."""
        noise, start = [], 0
        for part in self.parts:
            end = start + len(part.slots)
            noise.append(part.noise(uniforms[..., start:end]))
            start = end
        return tuple(noise)

    def start(self, first: Any) -> State:
        """The state of every part before the first submission of a team."""
        return tuple(part.start(noise) for part, noise in zip(self.parts, first, strict=True))

    def start_board(
        self,
        genuine: Float64[Array, "*batch models numbers"],
        first: Any,
        noise: Any = None,
    ) -> State:
        """The state of every part on a board that starts from its genuine rows.

        A part starts from the genuine rows as the stateless parts before it release them.

        **Arguments:** `genuine`: their losses in ticks; `first`: the noise row in front of the
        table; `noise`: that of the genuine rows themselves (default: none).
        """
        states = []
        for i, part in enumerate(self.parts):
            if not part.stateless:
                states.append(part.start_board(genuine, first[i]))
                continue
            states.append(part.start(first[i]))
            drawn = no_noise(genuine) if noise is None else noise[i]
            feedback = part.step(states[-1], Submission(genuine), drawn)[1]
            genuine = _seen(feedback.released, feedback.visible & jnp.isfinite(genuine))
        return tuple(states)

    def step(self, state: State, submission: Submission, noise: Any) -> tuple[State, Feedback]:
        """The state of every part after one submission, and what the last one releases."""
        states, place = [], None
        visible = answered = jnp.ones(submission.losses.shape, dtype=bool)
        for part, before, drawn in zip(self.parts, state, noise, strict=True):
            after, feedback = part.step(before, submission, drawn)
            states.append(after)
            # A part may make a number of what an earlier one hides: clipping does.
            visible, answered = visible & feedback.visible, answered & feedback.answered
            place = feedback.place
            submission = Submission(_seen(feedback.released, visible))
        released = jnp.rint(submission.losses)
        return tuple(states), Feedback(released, visible, answered, place)


def _seen(
    released: Float64[Array, "*batch numbers"], visible: Bool[Array, "*batch numbers"]
) -> Float64[Array, "*batch numbers"]:
    """What is released as losses of what comes next: infinite where there is nothing."""
    return jnp.where(visible, released, jnp.inf)
