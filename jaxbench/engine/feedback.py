"""What comes back on a block of submissions, and which weights their submitter gives them.

Submissions of a block are known before any of them is answered: routers do not depend on feedback.
So losses and noise of a block are computed at once, a mechanism with a memory goes over it in
order, and the board's row of the team is found behind it, for all submissions together.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Num

from jaxbench.attacker import decoder
from jaxbench.engine.channel import Channel, Entry, Team, draws, ordered, overall
from jaxbench.leaderboard.mechanisms import Feedback, Submission

# A mechanism's step is short: some of them in one pass of the loop cost less.
TOGETHER = 8


class Asked(NamedTuple):
    """A block of submissions in front of a channel: what they are, and the noise of each."""

    entry: Entry
    noise: Any


def ask(channel: Channel, entry: Entry, numbers: Int32[Array, " submissions"]) -> Asked:
    """Submissions with the noise that their numbers give them."""
    return Asked(entry, draws(channel, numbers.astype(jnp.uint32)[None, :]))


def answer(
    channels: Sequence[Channel],
    states: Sequence[Any],
    asked: Sequence[Asked],
    first: Int32[Array, ""],
    last: Int32[Array, ""],
) -> tuple[tuple[Any, ...], tuple[Feedback, ...]]:
    """Mechanisms over the submissions `first` to `last - 1` of a block, in order.

    **Returns:** the states behind them, and the feedback on every submission of the block (what
    lies outside of the range has no meaning).
    """
    told = [
        channel.mechanism.step(state, Submission(mine.entry.losses), mine.noise)[1]
        if channel.mechanism.stateless
        else None
        for channel, state, mine in zip(channels, states, asked, strict=True)
    ]
    behind = list(states)
    for c, channel in enumerate(channels):
        if told[c] is None and channel.mechanism.steady:
            behind[c], told[c] = _by_jumps(channel, states[c], asked[c], first, last)
    in_order = [c for c, found in enumerate(told) if found is None]
    if not in_order:
        return tuple(behind), tuple(f for f in told if f is not None)
    after, feedback = _in_order(
        [channels[c] for c in in_order],
        [states[c] for c in in_order],
        [asked[c] for c in in_order],
        first,
        last,
    )
    for c, state, found in zip(in_order, after, feedback, strict=True):
        behind[c], told[c] = state, found
    return tuple(behind), tuple(f for f in told if f is not None)


def _by_jumps(
    channel: Channel, state: Any, asked: Asked, first: Int32[Array, ""], last: Int32[Array, ""]
) -> tuple[Any, Feedback]:
    """The same for a channel whose memory seldom changes.

    Every row's submissions are answered with the memory as it is up to the first that changes it,
    which changes it, and so on. What counts as a change is seen from the memory itself.
    """
    losses = asked.entry.losses
    rows, size = losses.shape[:2]
    place = jnp.arange(size, dtype=first.dtype)[None, :]

    def answers(state):
        """Every submission as if it were the next, and which of them change the memory."""
        wide = jax.tree.map(
            lambda x: jnp.broadcast_to(x[:, None], (rows, size, *x.shape[1:])), state
        )
        new, told = channel.mechanism.step(wide, Submission(losses), asked.noise)
        apart = [
            jnp.any((x != y).reshape(rows, size, -1), axis=2)
            for x, y in zip(jax.tree.leaves(new), jax.tree.leaves(wide), strict=True)
        ]
        return new, told, jnp.any(jnp.stack(apart), axis=0)

    def jump(carry):
        state, told, position = carry
        new, found, changes = answers(state)
        ahead = (place >= position[:, None]) & (place < last)
        changes = changes & ahead
        at = jnp.argmax(changes, axis=1)
        jumps = jnp.any(changes, axis=1)
        end = jnp.where(jumps, at.astype(position.dtype) + 1, last)
        mine = ahead & (place < end[:, None])
        told = jax.tree.map(lambda x, y: jnp.where(mine[:, :, None], x, y), found, told)
        state = jax.tree.map(lambda x, y: jnp.where(_like(jumps, y), _pick(x, at), y), new, state)
        return state, told, end

    def left(carry):
        return jnp.any(carry[2] < last)

    # What lies outside of the range is told anything.
    _, told, _ = jax.eval_shape(answers, state)
    told = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), told)
    start = jnp.broadcast_to(first, (rows,))
    state, told, _ = lax.while_loop(left, jump, (state, told, start))
    return state, told


def _pick(x: Array, at: Array) -> Array:
    """One submission of every row."""
    index = at.reshape(-1, *(1,) * (x.ndim - 1))
    return jnp.take_along_axis(x, index, axis=1)[:, 0]


def _like(mask: Array, y: Array) -> Array:
    """A mask of rows for an array with rows in front."""
    return mask.reshape(-1, *(1,) * (y.ndim - 1))


def _in_order(
    channels: Sequence[Channel],
    states: Sequence[Any],
    asked: Sequence[Asked],
    first: Int32[Array, ""],
    last: Int32[Array, ""],
) -> tuple[list[Any], list[Feedback]]:
    """The same for channels that remember."""
    # Submissions first, so that one of them is one piece of memory.
    rows = [
        (jnp.moveaxis(mine.entry.losses, 1, 0), jax.tree.map(_submissions_first, mine.noise))
        for mine in asked
    ]
    size = rows[0][0].shape[0]

    def one(states, row):
        place, mine = row
        counts = (place >= first) & (place < last)
        after, found = [], []
        for channel, state, (losses, noise) in zip(channels, states, mine, strict=True):
            new, told = channel.mechanism.step(state, Submission(losses), noise)
            after.append(jax.tree.map(lambda a, b: jnp.where(counts, a, b), new, state))
            found.append(told)
        return after, found

    places = jnp.arange(size, dtype=first.dtype)
    unroll = min(TOGETHER, size)
    after, told = lax.scan(one, list(states), (places, rows), unroll=unroll)
    return after, [jax.tree.map(_submissions_first, found) for found in told]


def _submissions_first(x: Array) -> Array:
    """The first two axes the other way round."""
    return jnp.moveaxis(x, 1, 0)


def show(
    channel: Channel,
    team: Team,
    entry: Entry,
    told: Feedback,
    counted: Bool[Array, " submissions"],
) -> Team:
    """The team's row behind a block of submissions, of which some are counted."""
    released = overall(channel, told.released)
    place = released if told.place is None else overall(channel, told.place)
    whole = jnp.all(told.visible, axis=-1) & counted[None, :]
    own = jnp.any(told.answered, axis=-1) & counted[None, :]
    kind, size = channel.mechanism.team_row, len(counted)
    if kind == "best":
        held = jnp.where(own & whole, place, jnp.inf)
        # The earliest of the smallest.
        at = jnp.argmin(ordered(held), axis=1)
        best = jnp.take_along_axis(held, at[:, None], axis=1)[:, 0]
        takes, standing = ordered(best) < ordered(team.standing), best
    else:
        takers = own & whole if kind == "last" else jnp.broadcast_to(counted[None, :], own.shape)
        at = size - 1 - jnp.argmax(takers[:, ::-1], axis=1)
        takes = jnp.any(takers, axis=1)
        shown = jnp.where(whole, place, jnp.inf)
        standing = jnp.take_along_axis(shown, at[:, None], axis=1)[:, 0]

    def of_taken(new: Float64[Array, "rows submissions"], old: Float64[Array, " rows"]):
        return jnp.where(takes, jnp.take_along_axis(new, at[:, None], axis=1)[:, 0], old)

    true = jnp.where(counted[None, :], overall(channel, entry.losses), jnp.inf)
    best = lax.cummin(jnp.minimum(true, team.best[:, None]), axis=1)
    seen = jnp.where(whole, released, jnp.inf)
    seen = lax.cummin(jnp.minimum(seen, team.shown[:, None]), axis=1)
    apart = jnp.where(jnp.isinf(seen) | ~counted[None, :], 0.0, jnp.abs(best - seen))
    return Team(
        standing=jnp.where(takes, standing, team.standing),
        reused=of_taken(entry.reused, team.reused),
        heldout=of_taken(entry.heldout, team.heldout),
        answers=team.answers + jnp.sum(own, axis=1, dtype=jnp.int32),
        best=best[:, -1],
        shown=seen[:, -1],
        error=jnp.maximum(team.error, jnp.max(apart, axis=1)),
    )


def weigh(
    channel: Channel, told: Feedback, submitter: str, read_as: str
) -> list[Num[Array, "rows submissions"]]:
    """The weights of a block of candidates, a coordinate at a time.

    **Arguments:** `read_as`: `aware` takes a number for a candidate's own only where it is,
    `naive` wherever one is seen.
    """
    seen = told.answered if read_as == "aware" else told.visible
    found = []
    for n in range(told.released.shape[-1]):
        weights = decoder.feedback_weights(
            told.released[..., n], seen[..., n], channel.reference[:, n]
        )
        found.append(jnp.where(seen[..., n], decoder.cast(weights, submitter), 0.0))
    return found


def digits(
    weights: Num[Array, "rows candidates"], count: int, bits: int, dtype: Any
) -> list[Num[Array, "rows candidates"]]:
    """Whole weights as `count` balanced digits of `bits` bits, the lowest first.

    Products with signs are exact for each where they are not for the whole number.
    """
    base, found = 2.0**bits, []
    for _ in range(count - 1):
        higher = jnp.rint(weights / base)
        found.append((weights - base * higher).astype(dtype))
        weights = higher
    return [*found, weights.astype(dtype)]
