"""What comes back on a block of submissions, and which weights their submitter gives them.

Submissions of a block are known before any of them is answered: routers do not depend on feedback.
So losses and noise of a block are computed at once, a mechanism with a memory goes over it in
order, and the board's row of the team is found behind it, for all submissions together. Every
number's submissions lie side by side; a mechanism whose numbers do not see each other takes each
for a trial of its own.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Num

from jaxbench.attacker import decoder
from jaxbench.engine.channel import Channel, Team, number_uniforms, ordered, uniforms
from jaxbench.engine.history import Board
from jaxbench.leaderboard.mechanisms import Feedback, Mechanism, Submission

# A mechanism's step is short: some of them in one pass of the loop cost less.
TOGETHER = 4


class Block(NamedTuple):
    """A block of submissions in front of a channel: losses in ticks, both true scores, noise.

    The noise lies as the mechanism takes it.
    """

    losses: Float64[Array, "rows numbers submissions"]
    reused: Float64[Array, "rows submissions"]
    heldout: Float64[Array, "rows submissions"]
    noise: Any


class Answer(NamedTuple):
    """What is released about a block; fields as in `Feedback`."""

    released: Float64[Array, "rows numbers submissions"]
    visible: Bool[Array, "rows numbers submissions"]
    answered: Bool[Array, "rows numbers submissions"]
    place: Float64[Array, "rows numbers submissions"] | None


def by_number(channel: Channel) -> Channel:
    """A channel whose mechanism takes every number of every row for a row, where it can."""
    rows, numbers = channel.reference.shape
    if numbers == 1 or not channel.mechanism.apart:
        return channel

    def row(x: Array) -> Array:
        return jnp.broadcast_to(x, (rows, numbers)).reshape(-1, 1)

    return channel.with_mechanism(jax.tree.map(row, channel.mechanism))


def first_state(channel: Channel, state: Any) -> Any:
    """A channel's state before the first submission, as `answer` takes it."""
    if channel.reference.shape[1] == 1 or not channel.mechanism.apart:
        return state
    return jax.tree.map(lambda x: x.reshape(-1, 1), state)


def block_of(
    channel: Channel,
    numerators: Sequence[Float64[Array, "rows submissions"]],
    reused: Float64[Array, "rows submissions"],
    heldout: Float64[Array, "rows submissions"],
    numbers: Int32[Array, " submissions"],
) -> Block:
    """Submissions with true numerators, number by number, and with the noise of their numbers."""
    losses = jnp.stack(
        [
            (channel.denominators[:, n, None] - x) * channel.factor[:, n, None]
            for n, x in enumerate(numerators)
        ],
        axis=1,
    )
    mechanism, width = channel.mechanism, channel.reference.shape[1]
    counters = numbers.astype(jnp.uint32)[None]
    if mechanism.apart:
        drawn = number_uniforms(channel.keys, counters, width, mechanism.slots)
        drawn = drawn.reshape(drawn.shape[0] * width, *drawn.shape[2:])
    else:
        drawn = uniforms(channel.keys, counters, width, mechanism.slots)
    return Block(losses, reused, heldout, mechanism.noise(drawn))


def answer(
    channels: Sequence[Channel],
    states: Sequence[Any],
    blocks: Sequence[Block],
    first: Int32[Array, ""],
    last: Int32[Array, ""],
) -> tuple[tuple[Any, ...], tuple[Answer, ...]]:
    """Mechanisms over the submissions `first` to `last - 1` of a block, in order.

    **Returns:** the states behind them, and what is released about every submission of the block
    (what lies outside of the range has no meaning).
    """
    behind: list[Any] = list(states)
    told: list[Feedback | None] = [None] * len(behind)
    losses = [_taken(c.mechanism, b.losses) for c, b in zip(channels, blocks, strict=True)]
    for c, channel in enumerate(channels):
        mechanism, noise = channel.mechanism, blocks[c].noise
        if mechanism.stateless:
            found = mechanism.step(behind[c], Submission(losses[c]), noise)[1]
            # Several look at it: without the barrier a compiler lets each compute it again.
            told[c] = lax.optimization_barrier(found)
        elif mechanism.steady:
            behind[c], told[c] = _by_jumps(mechanism, behind[c], losses[c], noise, first, last)
    in_order = [c for c, found in enumerate(told) if found is None]
    if in_order:
        after, found = _in_order(
            [channels[c].mechanism for c in in_order],
            [behind[c] for c in in_order],
            [(losses[c], blocks[c].noise) for c in in_order],
            first,
            last,
        )
        for c, state, one in zip(in_order, after, found, strict=True):
            behind[c], told[c] = state, one
    answers = []
    for channel, block, found in zip(channels, blocks, told, strict=True):
        assert found is not None
        back = partial(_given, channel.mechanism, rows=len(block.losses))
        place = None if found.place is None else back(found.place)
        parts = map(back, (found.released, found.visible, found.answered))
        answers.append(Answer(*parts, place=place))
    return tuple(behind), tuple(answers)


def _taken(mechanism: Mechanism, x: Float64[Array, "rows numbers submissions"]) -> Array:
    """Numbers as a mechanism takes them: last, or each for a row."""
    return x.reshape(-1, x.shape[2], 1) if mechanism.apart else jnp.moveaxis(x, 1, 2)


def _given(mechanism: Mechanism, x: Array, rows: int) -> Array:
    """The same back."""
    return x.reshape(rows, -1, x.shape[1]) if mechanism.apart else jnp.moveaxis(x, 2, 1)


def _by_jumps(
    mechanism: Mechanism,
    state: Any,
    losses: Float64[Array, "rows submissions numbers"],
    noise: Any,
    first: Int32[Array, ""],
    last: Int32[Array, ""],
) -> tuple[Any, Feedback]:
    """A mechanism whose memory seldom changes.

    Every row's submissions are answered with the memory as it is up to the first that changes it,
    which changes it, and so on. What counts as a change is seen from the memory itself.
    """
    rows, size = losses.shape[:2]
    place = jnp.arange(size, dtype=first.dtype)[None, :]

    def answers(state):
        """Every submission as if it were the next, and which of them change the memory."""
        wide = jax.tree.map(
            lambda x: jnp.broadcast_to(x[:, None], (rows, size, *x.shape[1:])), state
        )
        new, told = mechanism.step(wide, Submission(losses), noise)
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
    mechanisms: Sequence[Mechanism],
    states: Sequence[Any],
    given: Sequence[tuple[Array, Any]],
    first: Int32[Array, ""],
    last: Int32[Array, ""],
) -> tuple[list[Any], list[Feedback]]:
    """Mechanisms that remember, one submission after the other."""
    # Submissions first, so that one of them is one piece of memory.
    rows = jax.tree.map(lambda x: jnp.moveaxis(x, 1, 0), list(given))
    size = rows[0][0].shape[0]

    def one(states, row):
        place, mine = row
        counts = (place >= first) & (place < last)
        after, found = [], []
        for mechanism, state, (losses, noise) in zip(mechanisms, states, mine, strict=True):
            new, told = mechanism.step(state, Submission(losses), noise)
            after.append(jax.tree.map(lambda a, b: jnp.where(counts, a, b), new, state))
            found.append(told)
        return after, found

    places = jnp.arange(size, dtype=first.dtype)
    unroll = min(TOGETHER, size)
    after, told = lax.scan(one, list(states), (places, rows), unroll=unroll)
    return after, jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), told)


def overall(
    channel: Channel, released: Float64[Array, "rows numbers submissions"]
) -> Float64[Array, "rows submissions"]:
    """As `channel.overall`, in the same order."""
    shares = [channel.shares[:, n, None] for n in range(released.shape[1])]
    return sum(
        (released[:, n] * shares[n] for n in range(1, len(shares))),
        start=released[:, 0] * shares[0],
    )


def best_and_shown(
    channel: Channel, block: Block, told: Answer, counted: Bool[Array, " submissions"]
) -> tuple[Float64[Array, "submissions rows"], Float64[Array, "submissions rows"]]:
    """True and released overall losses, infinite where there are none, for boards."""
    whole = jnp.all(told.visible, axis=1) & counted[None, :]
    true = jnp.where(counted[None, :], overall(channel, block.losses), jnp.inf)
    seen = jnp.where(whole, overall(channel, told.released), jnp.inf)
    return true.T, seen.T


def show(
    channel: Channel,
    team: Team,
    block: Block,
    told: Answer,
    counted: Bool[Array, " submissions"],
    board: Board,
) -> Team:
    """The team's row behind a block of submissions, of which some are counted.

    **Arguments:** `board`: of the team behind the last that is counted.
    """
    place = overall(channel, told.released if told.place is None else told.place)
    whole = jnp.all(told.visible, axis=1) & counted[None, :]
    own = jnp.any(told.answered, axis=1) & counted[None, :]
    kind, size = channel.mechanism.team_row, len(counted)
    if kind == "best":
        held = jnp.where(own & whole, place, jnp.inf)
        # The earliest of the smallest.
        at = jnp.argmin(ordered(held), axis=1)
        stands = _pick(held, at)
        takes = ordered(stands) < ordered(team.standing)
    else:
        takers = own & whole if kind == "last" else jnp.broadcast_to(counted[None, :], own.shape)
        at = size - 1 - jnp.argmax(takers[:, ::-1], axis=1)
        takes = jnp.any(takers, axis=1)
        stands = _pick(jnp.where(whole, place, jnp.inf), at)
    return Team(
        standing=jnp.where(takes, stands, team.standing),
        reused=jnp.where(takes, _pick(block.reused, at), team.reused),
        heldout=jnp.where(takes, _pick(block.heldout, at), team.heldout),
        answers=team.answers + jnp.sum(own, axis=1, dtype=jnp.int32),
        best=board.best,
        shown=board.shown,
        error=board.error,
    )


def weigh(
    channel: Channel, told: Answer, submitter: str, read_as: str
) -> list[Num[Array, "rows submissions"]]:
    """The weights of a block of candidates, a coordinate at a time.

    **Arguments:** `read_as`: `aware` takes a number for a candidate's own only where it is,
    `naive` wherever one is seen.
    """
    seen = told.answered if read_as == "aware" else told.visible
    found = []
    for n in range(told.released.shape[1]):
        weights = decoder.feedback_weights(told.released[:, n], seen[:, n], channel.reference[:, n])
        found.append(jnp.where(seen[:, n], decoder.cast(weights, submitter), 0.0))
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
