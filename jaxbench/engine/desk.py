"""What stands around a channel: accounts and their final entries, and feedback that comes late.

Source: spec of the mechanisms, rules 14 to 16.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32

from jaxbench.engine.channel import CLOSE, Line, Team
from jaxbench.engine.submitters import Move, Told

# Places of an entry's numbers: released overall loss, private, reused and held-out score.
_RELEASED, _PRIVATE, _REUSED, _HELDOUT = range(4)
React = Callable[[Any, Move, Told], Any]


class Desk(NamedTuple):
    """What a leaderboard keeps of one account.

    `accepted` are the answers of its last accepted submission, where a mechanism compares with
    them; `finals` its lowest released overall losses so far, the earlier first, with the scores of
    the submissions behind them, infinite where there are none.
    """

    line: Line
    accepted: Int32[Array, "*accounts rows slots"] | None
    finals: Float64[Array, "*accounts numbers entries rows"] | None


def finals_of(
    finals: Float64[Array, "4 entries rows"],
    released: Float64[Array, " rows"],
    scores: tuple[Float64[Array, " rows"], ...],
) -> Float64[Array, "4 entries rows"]:
    """The final entries after one more submission (infinite: it cannot be one).

    **Arguments:** `scores`: reused, held out, private.
    """
    reused, heldout, private = scores
    new = jnp.stack([released, private, reused, heldout])[:, None]
    entries = finals.shape[1]
    place = jnp.sum(finals[_RELEASED] <= released[None] + CLOSE, axis=0)[None, None]
    here = jnp.arange(entries)[None, :, None]
    moved = jnp.roll(finals, 1, axis=1)
    return jnp.where(here < place, finals, jnp.where(here == place, new, moved))


def reported(desks: Desk) -> Team:
    """The team's row: of the account that stands best (the first of equals).

    Answers are those of all accounts together, and the error is the largest of any.
    """
    team = desks.line.team
    if desks.finals is not None:
        team = jax.vmap(_by_private)(team, desks.finals)
    best = jnp.argmin(team.standing, axis=0)[None]
    row = jax.tree.map(lambda x: jnp.take_along_axis(x, best, axis=0)[0], team)
    return eqx.tree_at(
        lambda one: (one.answers, one.error),
        row,
        (jnp.sum(team.answers, axis=0, dtype=jnp.int32), jnp.max(team.error, axis=0)),
    )


def _by_private(team: Team, finals: Float64[Array, "4 entries rows"]) -> Team:
    """An account's row by the best of its final entries on the private part."""
    there = jnp.isfinite(finals[_RELEASED])
    losses = jnp.where(there, 1.0 - finals[_PRIVATE], jnp.inf)
    best = jnp.argmin(losses, axis=0)[None]

    def at(x):
        return jnp.take_along_axis(x, best, axis=0)[0]

    shown = at(there)
    private, reused, heldout = (
        jnp.where(shown, at(finals[n]), 0.0) for n in (_PRIVATE, _REUSED, _HELDOUT)
    )
    rest = team.answers, team.best, team.shown, team.error
    return Team(at(losses), reused, heldout, *rest, private)


class Delay(eqx.Module):
    """Feedback on submission t appears after submission `batch` ceil(t / `batch`).

    `best`: of every batch only the smallest released overall loss, the earliest on ties.
    """

    batch: Int32[Array, ""]
    best: bool = eqx.field(static=True, default=False)


class Mail(NamedTuple):
    """A submitter's memory as it is (`seen`), and as it will be.

    `coming` is None without delay. With the best of every batch only, `held` is the best one of
    this batch so far.
    """

    seen: Any
    coming: Any
    held: tuple[Move, Told] | None

    @classmethod
    def start(cls, memory: Any, nothing: tuple[Move, Told], delay: Delay | None) -> "Mail":
        """Before the first submission; `nothing` is a submission that was not."""
        late = delay is not None
        return cls(
            memory,
            memory if late and not delay.best else None,
            nothing if late and delay.best else None,
        )


def post(mail: Mail, move: Move, told: Told, delay: Delay | None, react: React) -> Mail:
    """The feedback on a submission on its way to the submitter."""
    if delay is None:
        return mail._replace(seen=react(mail.seen, move, told))
    if mail.held is None:
        return mail._replace(coming=react(mail.coming, move, told))
    before, best = mail.held
    better = told.overall < best.overall - CLOSE
    move = move._replace(number=jnp.broadcast_to(move.number, before.number.shape))
    held = jax.tree.map(lambda x, y: _where(better, x, y), (move, told), mail.held)
    return mail._replace(held=held)


def deliver(mail: Mail, number: Int32[Array, ""], delay: Delay | None, react: React) -> Mail:
    """What the submitter knows after submission `number`."""
    if delay is None:
        return mail
    due = jnp.remainder(number, delay.batch) == 0
    if mail.held is None:
        seen = jax.tree.map(lambda x, y: jnp.where(due, x, y), mail.coming, mail.seen)
        return mail._replace(seen=seen)

    def open_it(mail: Mail) -> Mail:
        assert mail.held is not None
        move, told = mail.held
        none = jnp.zeros_like(told.seen)
        empty = Told(told.released, none, none, jnp.full_like(told.overall, jnp.inf))
        return Mail(react(mail.seen, move, told), None, (move, empty))

    return lax.cond(due, open_it, lambda mail: mail, mail)


def _where(rows: Bool[Array, " rows"], new: Array, old: Array) -> Array:
    """Entries of two arrays with rows in front."""
    return jnp.where(jnp.reshape(rows, (-1, *(1,) * (new.ndim - 1))), new, old)
