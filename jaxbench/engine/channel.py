"""Between the scores of submissions and what their submitter sees: mechanisms inside of a kernel.

A channel is one condition's mechanism with what it acts on. It turns counts into true losses in
ticks, draws the noise of every submission from counters, and keeps what the board shows of the
submitter's team. Kernels hand it submissions in order, some at a time.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, UInt32

from jaxbench.counters import words
from jaxbench.leaderboard.mechanisms import Feedback, Mechanism, Submission


class Channel(eqx.Module):
    """One condition's mechanism and what it acts on; every array has the rows in front.

    - `keys`: of the draws. `prompts` (of every slot): only where draws depend on the answers.
    - `denominators`: what the released numerators are out of; `factor`: ticks per numerator.
    - `shares`: what one tick of a number is in the released overall loss.
    - `reference`: released losses of both endpoints together, in ticks.
    - `genuine`: true losses of the genuine models, where the board starts from them; `so_far`:
      their smallest true and smallest released overall loss, from which its error counts then.
    """

    mechanism: Mechanism
    keys: UInt32[Array, "rows 2"]
    denominators: Float64[Array, "rows numbers"]
    factor: Float64[Array, "rows numbers"]
    shares: Float64[Array, "rows numbers"]
    reference: Float64[Array, "rows numbers"]
    genuine: Float64[Array, "rows models numbers"] | None = None
    so_far: Float64[Array, "rows 2"] | None = None
    prompts: UInt32[Array, "rows slots"] | None = None


class Team(eqx.Module):
    """What the board shows of the submitter's team so far, and how well that tells its best.

    - `standing`: released overall loss of the team's row (infinite where it shows none).
    - `reused`, `heldout`: true scores of the submission behind it.
    - `answers`: submissions about which a number of their own was released.
    - `best`, `shown`: smallest true and smallest released overall loss so far; `error`: largest
      difference of the two so far.
    """

    standing: Float64[Array, " rows"]
    reused: Float64[Array, " rows"]
    heldout: Float64[Array, " rows"]
    answers: Int32[Array, " rows"]
    best: Float64[Array, " rows"]
    shown: Float64[Array, " rows"]
    error: Float64[Array, " rows"]


class Entry(NamedTuple):
    """Some submissions as they reach a channel: true losses in ticks, and both true scores."""

    losses: Float64[Array, "*batch numbers"]
    reused: Float64[Array, "*batch"]
    heldout: Float64[Array, "*batch"]


class Line(eqx.Module):
    """A channel's memory: that of its mechanism, and the team's row."""

    state: Any
    team: Team


def start(channel: Channel) -> Line:
    """Before the first submission."""
    rows, _ = channel.reference.shape
    # The row in front of the table of draws has number 0; submissions count from 1.
    first = draws(channel, jnp.zeros((1, 1), dtype=jnp.uint32))
    first = jax.tree.map(lambda x: x[:, 0], first)
    if channel.genuine is None:
        state = channel.mechanism.start(first)
    else:
        state = channel.mechanism.start_board(channel.genuine, first)
    none = jnp.full((rows,), jnp.inf, dtype=jnp.float64)
    zero = jnp.zeros((rows,), dtype=jnp.float64)
    answers = jnp.zeros((rows,), dtype=jnp.int32)
    best, shown = none, none
    if channel.so_far is not None:
        best, shown = channel.so_far[:, 0], channel.so_far[:, 1]
    return Line(state, Team(none, zero, zero, answers, best, shown, zero))


def losses(
    channel: Channel, numerators: Sequence[Float64[Array, "rows submissions"]]
) -> Float64[Array, "rows submissions numbers"]:
    """True losses in ticks, from the released numerators."""
    stacked = jnp.stack(numerators, axis=2)
    return (channel.denominators[:, None] - stacked) * channel.factor[:, None]


def advance(
    channels: Sequence[Channel],
    lines: Sequence[Line],
    entries: Sequence[Entry],
    numbers: Int32[Array, " submissions"],
    counted: Bool[Array, " submissions"],
) -> tuple[tuple[Line, ...], tuple[Feedback, ...]]:
    """Pass submissions through channels, in order.

    **Arguments:** `entries`: per channel, `(rows, submissions)` in front; `numbers`: of the
    submissions, from 1; `counted`: those that there are; the others change nothing.

    **Returns:** the lines behind the last, and per channel the feedback on every submission.
    """
    drawn, at_once = [], []
    for channel, line, entry in zip(channels, lines, entries, strict=True):
        noise = draws(channel, numbers.astype(jnp.uint32)[None, :])
        feedback = None
        if channel.mechanism.stateless:
            # No memory: all of them in one go, and only the board goes in order.
            _, feedback = channel.mechanism.step(line.state, Submission(entry.losses), noise)
            noise = None
        drawn.append(noise)
        at_once.append(feedback)

    def one(lines, row):
        entries, drawn, at_once, counted = row
        after, found = [], []
        for channel, line, entry, noise, feedback in zip(
            channels, lines, entries, drawn, at_once, strict=True
        ):
            state = line.state
            told = feedback
            if told is None:
                state, told = channel.mechanism.step(state, Submission(entry.losses), noise)
            team = _shown(channel, line.team, entry, told)
            new = Line(state, team)
            after.append(jax.tree.map(lambda a, b: jnp.where(counted, a, b), new, line))
            found.append(told if feedback is None else None)
        return tuple(after), tuple(found)

    in_order = jax.tree.map(
        lambda x: jnp.moveaxis(x, 1, 0), (tuple(entries), tuple(drawn), tuple(at_once))
    )
    after, found = lax.scan(one, tuple(lines), (*in_order, counted))
    told = tuple(
        jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), own) if feedback is None else feedback
        for own, feedback in zip(found, at_once, strict=True)
    )
    return after, told


def overall(channel: Channel, released: Float64[Array, "*batch numbers"]) -> Array:
    """The released overall loss; in a fixed order, which a sum over an axis is not."""
    numbers = released.shape[-1]
    extra = (slice(None), *(None,) * (released.ndim - 2))
    shares = [channel.shares[:, n][extra] for n in range(numbers)]
    return sum(
        (released[..., n] * shares[n] for n in range(1, numbers)),
        start=released[..., 0] * shares[0],
    )


def ordered(place: Float64[Array, "*batch"]) -> Float64[Array, "*batch"]:
    """What places are compared by, in whole 1e-10, as all losses are.

    Weighted sums of equal size may differ in their last bits.
    """
    return jnp.rint(place * 1e10)


def _shown(channel: Channel, team: Team, entry: Entry, told: Feedback) -> Team:
    """The team's row after one submission `(rows,)`."""
    whole = jnp.all(told.visible, axis=-1)
    own = jnp.any(told.answered, axis=-1)
    released = overall(channel, told.released)
    place = released if told.place is None else overall(channel, told.place)
    kind = channel.mechanism.team_row
    if kind == "own":
        standing = jnp.where(whole, place, jnp.inf)
        takes = jnp.ones_like(whole)
    else:
        takes = own & whole & ((ordered(place) < ordered(team.standing)) | (kind == "last"))
        standing = jnp.where(takes, place, team.standing)
    best = jnp.minimum(team.best, overall(channel, entry.losses))
    shown = jnp.minimum(team.shown, jnp.where(whole, released, jnp.inf))
    error = jnp.where(jnp.isinf(shown), team.error, jnp.abs(best - shown))
    return Team(
        standing=standing,
        reused=jnp.where(takes, entry.reused, team.reused),
        heldout=jnp.where(takes, entry.heldout, team.heldout),
        answers=team.answers + own.astype(jnp.int32),
        best=best,
        shown=shown,
        error=jnp.maximum(team.error, error),
    )


def draws(channel: Channel, numbers: UInt32[Array, "#rows submissions"]) -> Any:
    """Noise of submissions `(rows, submissions)`, keyed by their numbers."""
    return channel.mechanism.noise(
        uniforms(channel.keys, numbers, channel.reference.shape[1], channel.mechanism.slots)
    )


def uniforms(
    keys: UInt32[Array, "rows 2"],
    submissions: UInt32[Array, "#rows submissions"],
    numbers: int,
    slots: tuple[int, ...],
) -> Float64[Array, "rows submissions numbers slots"]:
    """Uniform draws in (-1/2, 1/2), keyed by row, submission, number and slot.

    Of 52 bits, and never an end: 2^-53 lies between the draws and the ends.
    """
    slot = jnp.array(slots, dtype=jnp.uint32).reshape(-1)
    place = jnp.arange(numbers, dtype=jnp.uint32)[:, None] * 64 + slot[None, :]
    high, low = words(
        keys[:, None, None, None, :], submissions[:, :, None, None], place[None, None]
    )
    whole = (high >> 6).astype(jnp.float64) * 2.0**26 + (low >> 6).astype(jnp.float64)
    return (whole + 0.5) * 2.0**-52 - 0.5
