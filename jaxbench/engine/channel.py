"""Between the scores of submissions and what their submitter sees: mechanisms inside of a kernel.

A channel is one condition's mechanism with what it acts on. It turns counts into true losses in
ticks, draws the noise of every submission from counters, and keeps what the board shows of the
submitter's team. Kernels hand it submissions in order, some at a time or one by one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float64, Int32, UInt32

from jaxbench.counters import words
from jaxbench.leaderboard.mechanisms import Feedback, Mechanism, Submission

# Numbers of the rows in front of the table of draws of further accounts: behind all submissions,
# before the genuine rows.
ACCOUNTS = 2**30
# Released overall losses are sums of floats: equal ones differ by less, others by more.
CLOSE = 1e-13
# Counters of the keys that draws by content are made with, which no submission has.
BY_CONTENT = 2**32 - 1


class Channel(eqx.Module):
    """One condition's mechanism and what it acts on; every array has the rows in front.

    - `keys`: of the draws. `prompts` (of every slot): only where draws depend on the answers.
    - `denominators`: what the released numerators are out of; `factor`: ticks per numerator.
    - `shares`: what one tick of a number is in the released overall loss.
    - `reference`: released losses of both endpoints together, in ticks.
    - `genuine`: true losses of the genuine models, where the board starts from them; `so_far`:
      their smallest true and smallest released overall loss, from which its error counts then.
    - `public_denominators`, `public_factor`: the same for the public part, where a mechanism
      compares two parts.
    """

    mechanism: Mechanism
    keys: UInt32[Array, "rows 2"]
    denominators: Float64[Array, "rows numbers"]
    factor: Float64[Array, "rows numbers"]
    shares: Float64[Array, "rows numbers"]
    reference: Float64[Array, "rows numbers"]
    genuine: Float64[Array, "rows models numbers"] | None = None
    prompts: UInt32[Array, "rows slots"] | None = None
    public_denominators: Float64[Array, "rows numbers"] | None = None
    public_factor: Float64[Array, "rows numbers"] | None = None
    so_far: Float64[Array, "rows 2"] | None = None

    def with_mechanism(self, mechanism: Mechanism) -> "Channel":
        """The same with another mechanism."""
        return replace(self, mechanism=mechanism)


class Team(eqx.Module):
    """What the board shows of the submitter's team so far, and how well that tells its best.

    - `standing`: released overall loss of the team's row (infinite where it shows none).
    - `reused`, `heldout`: true scores of the submission behind it.
    - `answers`: submissions about which a number of their own was released.
    - `best`, `shown`: smallest true and smallest released overall loss so far; `error`: largest
      difference of the two so far.
    - `private`: score of the submission behind it on the private part, where there is one; then
      `standing` is its loss there.
    """

    standing: Float64[Array, " rows"]
    reused: Float64[Array, " rows"]
    heldout: Float64[Array, " rows"]
    answers: Int32[Array, " rows"]
    best: Float64[Array, " rows"]
    shown: Float64[Array, " rows"]
    error: Float64[Array, " rows"]
    private: Float64[Array, " rows"] | None = None


class Entry(NamedTuple):
    """Some submissions as they reach a channel: true losses in ticks, and both true scores.

    `public`, `totals` and `squares` are those of a `Submission`; `content` are two words that tell
    submissions apart by what they are, for draws that are keyed so (else by when they come).
    """

    losses: Float64[Array, "*batch numbers"]
    reused: Float64[Array, "*batch"]
    heldout: Float64[Array, "*batch"]
    public: Float64[Array, "*batch numbers"] | None = None
    totals: Float64[Array, "*batch units"] | None = None
    squares: Float64[Array, "*batch units"] | None = None
    content: UInt32[Array, "*batch 2"] | None = None


class Line(eqx.Module):
    """A channel's memory: that of its mechanism, and the team's row."""

    state: Any
    team: Team


def start(channel: Channel, account: int = 0) -> Line:
    """Before the first submission of an account."""
    rows, _ = channel.reference.shape
    # The row in front of the table of draws has number 0; submissions count from 1.
    number = ACCOUNTS + account if account else 0
    first = draws(channel, jnp.full((1, 1), number, dtype=jnp.uint32))
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


def public_losses(
    channel: Channel, numerators: Sequence[Float64[Array, "rows submissions"]]
) -> Float64[Array, "rows submissions numbers"]:
    """The same on the public part.

    **Errors:** `ValueError` where the channel does not say what these are out of.
    """
    if channel.public_denominators is None or channel.public_factor is None:
        raise ValueError("the channel lacks the denominators of the public part")
    stacked = jnp.stack(numerators, axis=2)
    return (channel.public_denominators[:, None] - stacked) * channel.public_factor[:, None]


def submit(
    channel: Channel, line: Line, entry: Entry, number: Int32[Array, ""]
) -> tuple[Line, Feedback]:
    """Pass one submission `(rows,)` through a channel; `number` counts from 1."""
    alone = jax.tree.map(lambda x: x[:, None], entry)
    noise = draws(channel, number.astype(jnp.uint32)[None, None], alone.content)
    noise = jax.tree.map(lambda x: x[:, 0], noise)
    if channel.mechanism.compares_items and entry.totals is None:
        raise ValueError("the mechanism compares items, and the submission comes without sums")
    submission = Submission(entry.losses, entry.public, entry.totals, entry.squares)
    state, told = channel.mechanism.step(line.state, submission, noise)
    return Line(state, _shown(channel, line.team, entry, told)), told


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


def draws(
    channel: Channel,
    numbers: UInt32[Array, "#rows submissions"],
    content: UInt32[Array, "rows submissions 2"] | None = None,
) -> Any:
    """Noise of submissions `(rows, submissions)`, keyed by their numbers, or by what they are."""
    mechanism = channel.mechanism
    width, slots = channel.reference.shape[1], mechanism.slots
    drawn = uniforms(channel.keys, numbers, width, slots)
    if content is not None and mechanism.persistent_slots:
        again = content_uniforms(channel.keys, content, width, slots)
        lasting = jnp.array([slot in mechanism.persistent_slots for slot in slots], dtype=bool)
        drawn = jnp.where(lasting[None, None, None], again, drawn)
    return mechanism.noise(drawn)


def uniforms(
    keys: UInt32[Array, "rows 2"],
    submissions: UInt32[Array, "#rows submissions"],
    numbers: int,
    slots: tuple[int, ...],
) -> Float64[Array, "rows submissions numbers slots"]:
    """Uniform draws in (-1/2, 1/2), keyed by row, submission, number and slot.

    Of 52 bits, and never an end: 2^-53 lies between the draws and the ends.
    """
    return _uniforms(keys[:, None], submissions, numbers, slots)


def number_uniforms(
    keys: UInt32[Array, "rows 2"],
    submissions: UInt32[Array, "#rows submissions"],
    numbers: int,
    slots: tuple[int, ...],
) -> Float64[Array, "rows numbers submissions 1 slots"]:
    """The same draws, number by number."""
    place = _places(numbers, slots)[None, :, None, :]
    drawn = words(keys[:, None, None, None], submissions[:, None, :, None], place)
    return _to_uniform(*drawn)[:, :, :, None]


def content_uniforms(
    keys: UInt32[Array, "rows 2"],
    content: UInt32[Array, "rows submissions 2"],
    numbers: int,
    slots: tuple[int, ...],
) -> Float64[Array, "rows submissions numbers slots"]:
    """The same, keyed by the content of a submission in place of its number."""
    above = _content_keys(keys, 1)
    own = jnp.stack(words(above[:, None], content[..., 0], content[..., 1]), axis=-1)
    return _uniforms(own, jnp.zeros((1, 1), dtype=jnp.uint32), numbers, slots)


def prompt_words(
    keys: UInt32[Array, "rows 2"], prompts: UInt32[Array, "rows slots"]
) -> UInt32[Array, "rows slots 2"]:
    """Two words for every prompt, of whose sums the content of a submission is made."""
    drawn = words(_content_keys(keys, 0)[:, None], prompts, jnp.zeros((1, 1), dtype=jnp.uint32))
    return jnp.stack(drawn, axis=-1)


def _content_keys(keys: UInt32[Array, "rows 2"], which: int) -> UInt32[Array, "rows 2"]:
    last = jnp.full((1,), BY_CONTENT, dtype=jnp.uint32)
    return jnp.stack(words(keys, last, last - jnp.uint32(which)), axis=-1)


def _uniforms(
    keys: UInt32[Array, "rows #submissions 2"],
    submissions: UInt32[Array, "#rows #submissions"],
    numbers: int,
    slots: tuple[int, ...],
) -> Float64[Array, "rows _ numbers slots"]:
    place = _places(numbers, slots)[None, None]
    return _to_uniform(*words(keys[:, :, None, None], submissions[:, :, None, None], place))


def _places(numbers: int, slots: tuple[int, ...]) -> UInt32[Array, "numbers slots"]:
    slot = jnp.array(slots, dtype=jnp.uint32).reshape(-1)
    return jnp.arange(numbers, dtype=jnp.uint32)[:, None] * 64 + slot[None, :]


def _to_uniform(high: UInt32[Array, "*shape"], low: UInt32[Array, "*shape"]) -> Array:
    whole = (high >> 6).astype(jnp.float64) * 2.0**26 + (low >> 6).astype(jnp.float64)
    return (whole + 0.5) * 2.0**-52 - 0.5
