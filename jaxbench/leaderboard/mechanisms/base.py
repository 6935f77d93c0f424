"""What a mechanism is: a pure step along the submissions of a trial, batched over trials.

A mechanism sees the true losses of one submission after the other, as whole ticks (loss = 1 -
score; lower is better), and says what is released. Losses are whole numbers held in float64, which
is exact below 2^53, so that comparisons and ties are those of the integers. Random numbers come
from a table that the caller gives, a row per submission, so that nothing depends on how work is
cut up.

Source: spec of the mechanisms, "common ground".
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float64, Shaped

# Slots of the table of draws.
THRESHOLD, COMPARISON, RELEASE = 0, 1, 2
# Whatever a mechanism remembers: a tree of arrays with the batch in front.
State = Any


class Submission(eqx.Module):
    """One submission as the evaluator knows it, in ticks.

    `losses` has a number per released number; `public` is the same on the public part, for a
    mechanism that compares two parts (and then `losses` are those of the other part). `totals` and
    `squares` are sums over the items of every unit of the difference to the last accepted
    submission in counts, and of its square, for a mechanism that compares items.
    """

    losses: Float64[Array, "*batch numbers"]
    public: Float64[Array, "*batch numbers"] | None = None
    totals: Float64[Array, "*batch units"] | None = None
    squares: Float64[Array, "*batch units"] | None = None


class Noise(eqx.Module):
    """Noise of one submission in ticks, by slot (0 where a mechanism draws none)."""

    threshold: Float64[Array, "*batch numbers"]
    comparison: Float64[Array, "*batch numbers"]
    release: Float64[Array, "*batch numbers"]


class Feedback(eqx.Module):
    """What is released about one submission.

    `released` are losses in ticks, `visible` where there is a number at all. `answered` says where
    it is this submission's own, and not an earlier one repeated: what a submitter who knows the
    mechanism takes it for. Behind a chain, what is not visible is infinite. `place` is what orders
    the rows of the board, where that tells more than what is released.
    """

    released: Float64[Array, "*batch numbers"]
    visible: Bool[Array, "*batch numbers"]
    answered: Bool[Array, "*batch numbers"]
    place: Float64[Array, "*batch numbers"] | None = None


class Mechanism(eqx.Module):
    """A rule between true losses and what is released.

    Fields that are arrays are data: another value compiles nothing. They have the leading axes of
    the batch (trials), of length 1 where all trials are alike, and the numbers last (see
    `spread`).

    - `stateless`: a release depends on its own submission and noise alone; `step` may then be
      given a whole block of submissions as one batch.
    - `apart`: numbers do not see each other, so that each could be a trial of its own.
    - `steady`: few submissions change what is remembered, so that it pays to look for the next one
      that does (`step` on a block, memory as it is) rather than to go one by one.
    - `compares_items`: it needs `totals` and `squares` of a submission.
    - `team_row`: which submission the board shows a team by: its latest where that is visible
      (`own`), the last that was accepted (`last`), or the best of those (`best`).
    """

    @property
    def stateless(self) -> bool:
        """Whether nothing is remembered."""
        return False

    @property
    def apart(self) -> bool:
        """Whether numbers do not see each other."""
        return False

    @property
    def steady(self) -> bool:
        """Whether few submissions change what is remembered."""
        return False

    @property
    def compares_items(self) -> bool:
        """Whether it looks at single items of the last accepted submission."""
        return False

    @property
    def team_row(self) -> str:
        """Which submission a team is shown by."""
        return "own"

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots of the table that it draws from (a chain: 3 * part + slot)."""
        return ()

    @property
    def persistent_slots(self) -> tuple[int, ...]:
        """Those of `slots` that are keyed by what a submission is, not by when it comes."""
        return ()

    def noise(self, uniforms: Float64[Array, "*batch numbers slots"]) -> Any:
        """Noise at this mechanism's scales, from uniform draws in (-1/2, 1/2) of its slots.

        **Returns:** a `Noise` (a chain: one of each part).
        """
        if self.slots:
            raise NotImplementedError
        return no_noise(jnp.zeros(uniforms.shape[:-1], dtype=jnp.float64))

    def start(self, first: Any) -> State:
        """The state of a team that has not submitted.

        **Arguments:** `first`: the noise row in front of the table, of which thresholds are used;
        its shape is that of the batch and the numbers.
        """
        return ()

    def at(self, rows: Any) -> "Mechanism":
        """The mechanism of some trials; what is the same in all of them stays."""
        return jax.tree.map(lambda x: x if len(x) == 1 else x[rows], self)

    def start_board(self, genuine: Float64[Array, "*batch models numbers"], first: Any) -> State:
        """The state of a whole board that starts from its genuine rows (`state=global`)."""
        raise NotImplementedError

    def step(self, state: State, submission: Submission, noise: Any) -> tuple[State, Feedback]:
        """The state after one submission, and what is released about it."""
        raise NotImplementedError


def spread(
    parameter: Shaped[Array | np.ndarray, "..."], over: Float64[Array, "..."]
) -> Shaped[Array, "..."]:
    """A parameter for every entry of an array.

    Axes of `over` that the parameter lacks lie between its leading ones and its last one:
    `(trials, numbers)` fits `(trials, submissions, numbers)`.
    """
    shape = np.shape(parameter)
    if shape:
        missing = over.ndim - len(shape)
        parameter = jnp.reshape(parameter, (*shape[:-1], *(1,) * missing, shape[-1]))
    return jnp.broadcast_to(parameter, over.shape)


def no_noise(like: Float64[Array, "*batch numbers"]) -> Noise:
    """Noise of a mechanism that draws none."""
    none = jnp.zeros_like(like)
    return Noise(none, none, none)


def run(
    mechanism: Mechanism, submissions: Submission, noise: Any, state: State
) -> tuple[State, Feedback]:
    """A mechanism along a sequence; the submissions are the first axis of every array.

    **Returns:** the state behind the last one, and the feedback on each.
    """

    def one(state, row):
        submission, noise = row
        return mechanism.step(state, submission, noise)

    return lax.scan(one, state, (submissions, noise))
