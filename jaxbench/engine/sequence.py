"""The attack on one condition, submission after submission, as one compiled program.

For submitters whose next submission depends on feedback, and for mechanisms that need more of a
submission than its scores. The block kernel (`kernel`) does the others many candidates at a time.

A submission is a whole number x per slot, and its count on a unit of a side is
`(sum + sum_slots difference * x) / 2`: for a router x = +-1 and the differences are those of the
endpoints. For a submission that answers items itself x is twice its counts, sums are 0 and the
differences say which items a side has (1 or 0). Counts are whole numbers, and so nothing depends
on how slots are padded, on the block, or on what other rows there are.

Budget k is the stream's first k - 1 submissions and then the final one, which passes the channel
as submission k and leaves the stream as if it had not been.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Int64, UInt32

from jaxbench.attacker import FreshBank, SharedBank
from jaxbench.benchmark.scoring import Overall
from jaxbench.engine import channel as channels
from jaxbench.engine.channel import Channel, Entry, Team
from jaxbench.engine.desk import Delay, Desk, Mail, deliver, finals_of, post, reported
from jaxbench.engine.history import History, extend_by_one
from jaxbench.engine.submitters import Move, Places, Stage, Submitter, Told
from jaxbench.leaderboard import Release, evaluate
from jaxbench.leaderboard.mechanisms.chain import MechanismChain

REUSED, HELDOUT, PRIVATE = 0, 1, 2


class Rows(eqx.Module):
    """The trials of a call under one condition, as the evaluator holds them.

    - `differences`: per side and slot, 0 elsewhere; `sums`: per side and unit. Side 0 is what
      truly counts as reused (the public part where finals are private), 1 the held-out one, 2 the
      private part, or the rest where 3 is the public part of a mechanism that compares two.
    - `best_reused`, `best_heldout`, `gap`: the history of the genuine models.
    - `static`: released numerators of endpoint A less those of B, the router for budget 1.
    """

    differences: Int32[Array, "rows sides slots"]
    sums: Float64[Array, "rows sides units"]
    best_reused: Float64[Array, " rows"]
    best_heldout: Float64[Array, " rows"]
    gap: Float64[Array, " rows"]
    static: Float64[Array, "rows numbers"]


class Rules(eqx.Module):
    """What is released, and what scores are on the sides (reused, held out, private if any).

    `reads` are the sides of the releases: one, or the rest and the public part. `aware` says
    whether a number that is repeated is known for what it is.
    """

    releases: tuple[Release, ...]
    overalls: tuple[Overall, ...]
    aware: Bool[Array, ""]
    reads: tuple[int, ...] = eqx.field(static=True, default=(REUSED,))


class Outcomes(NamedTuple):
    """What a call returns, budgets first.

    `reused` and `heldout` are contrasts of the final submissions per unit: twice the count less
    the sum. `best_*` and `gap` are the history without the final submission. `team` is what the
    board shows once it has passed: with several accounts the best standing one, the answers of
    all and the largest error of any. `routes` are the final routers (True: to endpoint A).
    """

    reused: Int64[Array, "budgets rows units"]
    heldout: Int64[Array, "budgets rows units"]
    best_reused: Float64[Array, "budgets rows"]
    best_heldout: Float64[Array, "budgets rows"]
    gap: Float64[Array, "budgets rows"]
    team: Team
    routes: Bool[Array, "budgets rows slots"] | None


class _Stream(NamedTuple):
    """Everything that goes on from submission to submission; `desks` have accounts in front."""

    desks: Desk
    own: Any
    mail: Mail
    history: History


@partial(jax.jit, static_argnames=("spans", "block", "accounts", "finals", "keep_routes"))
def attack_in_order(
    rows: Rows,
    bank: SharedBank | FreshBank | None,
    budgets: Int32[Array, " budgets"],
    rules: Rules,
    channel: Channel,
    submitter: Submitter,
    delay: Delay | None = None,
    *,
    spans: tuple[tuple[int, int], ...],
    block: int,
    accounts: int = 1,
    finals: int = 0,
    keep_routes: bool = False,
) -> Outcomes:
    """Attack every row under every budget.

    **Arguments:**

    - `bank`: at least `max(budgets) - 1` candidates where the submitter submits them, else one
      (None where it needs none).
    - `budgets`: rising submission counts.
    - `spans`: first slot of every unit and that behind its last; together they are all slots.
    - `block`: candidates that are taken from the bank at a time; the result does not depend on it.
    - `accounts`: submission t belongs to account (t - 1) mod `accounts`.
    - `finals`: entries that are scored on the private part in the end (0: there is none).

    Call inside `jax.enable_x64(True)`.
    """
    judge = _Judge(rows, rules, channel, spans)
    stage = _stage(rows, bank, rules, channel, spans, block)
    static = stage.places.per_slot(jnp.sign(rows.static))

    def enter(desks: Desk, answers: Array, number: Array) -> tuple[Desk, "_Judged", Told]:
        """A submission at the desk of its account."""
        account = jnp.remainder(number - 1, accounts)
        desk = jax.tree.map(lambda x: x[account], desks)
        judged = judge(answers, desk.accepted)
        line, feedback = channels.submit(channel, desk.line, judged.entry, number)
        whole = jnp.all(feedback.visible, axis=-1)
        released = channels.overall(channel, feedback.released)
        told = Told(
            feedback.released,
            feedback.visible,
            jnp.where(rules.aware, feedback.answered, feedback.visible),
            jnp.where(whole, released, jnp.inf),
        )
        # A repeated number is no entry of its own.
        own = jnp.any(feedback.answered, axis=-1) | (channel.mechanism.team_row == "own")
        accepted = desk.accepted
        if accepted is not None:
            new = jnp.any(feedback.answered, axis=-1)[:, None]
            accepted = jnp.where(new, answers, accepted)
        entries = desk.finals
        if entries is not None:
            public = jnp.where(own, told.overall, jnp.inf)
            entries = finals_of(entries, public, judged.scores)
        desk = Desk(line, accepted, entries)
        return jax.tree.map(lambda x, y: x.at[account].set(y), desks, desk), judged, told

    def one(number, stream: _Stream, candidate: Array | None) -> _Stream:
        own, move = submitter.propose(stage, stream.own, stream.mail.seen, number, candidate)
        desks, judged, told = enter(stream.desks, move.answers, number)
        react = partial(submitter.react, stage)
        mail = post(stream.mail, move, told, delay, react)
        mail = deliver(mail, number, delay, react)
        history = extend_by_one(stream.history, judged.scores[REUSED], judged.scores[HELDOUT])
        return _Stream(desks, own, mail, history)

    def stretch(number, stream: _Stream, stop) -> tuple[Array, _Stream]:
        """Submissions from `number` on to the last of a block, or up to `stop`."""
        if not submitter.banked:
            body = partial(one, candidate=None)
            return stop, lax.fori_loop(number, stop, body, stream)
        assert bank is not None
        column = number - 1 + bank.blanks
        index = column // block
        signs = _columns(bank, index, block, rows.static.shape[0])
        # The number of the submission in the block's first column.
        first = index * block - bank.blanks + 1
        last = jnp.minimum(first + block, stop)

        def body(number, stream):
            here = lax.dynamic_index_in_dim(signs, number - first, axis=0, keepdims=False)
            return one(number, stream, here.astype(jnp.int32))

        return last, lax.fori_loop(number, last, body, stream)

    def settle(carry, budget):
        """The stream up to a budget, and what its final submission comes to."""
        number, stream = carry
        number, stream = lax.while_loop(
            lambda state: state[0] < budget,
            lambda state: stretch(*state, budget),
            (number, stream),
        )
        answers = submitter.final(stage, stream.own, stream.mail.seen)
        if submitter.static_first:
            # Before anything came back there is only what the board shows.
            late = jnp.int32(1) if delay is None else delay.batch
            answers = jnp.where(budget <= late, stage.route(static), answers)
        desks, judged, _ = enter(stream.desks, answers, budget)
        found = Outcomes(
            judged.contrasts[:, REUSED],
            judged.contrasts[:, HELDOUT],
            *stream.history,
            team=reported(desks),
            routes=answers > 0 if keep_routes else None,
        )
        return (number, stream), found

    own, memory = submitter.start(stage)
    stream = _Stream(
        _desks(rows, channel, accounts, finals),
        own,
        Mail.start(memory, _nothing(submitter, stage, own, memory, rows), delay),
        History(rows.best_reused, rows.best_heldout, rows.gap),
    )
    return lax.scan(settle, (jnp.int32(1), stream), budgets)[1]


class _Judged(NamedTuple):
    """A submission as the evaluator knows it; `scores` are true ones, per side that has any."""

    contrasts: Int64[Array, "rows sides units"]
    scores: tuple[Float64[Array, " rows"], ...]
    entry: Entry


class _Judge:
    """From answers to everything that is true about them."""

    def __init__(self, rows: Rows, rules: Rules, channel: Channel, spans):
        self.rows, self.rules, self.channel, self.spans = rows, rules, channel, spans
        self.weights = None
        if channel.mechanism.persistent_slots:
            if channel.prompts is None:
                raise ValueError("draws by content need the prompts of the slots")
            # Of what a submission is, only answers that some score depends on: no padding.
            counted = jnp.any(rows.differences[:, : HELDOUT + 1] != 0, axis=1)
            drawn = channels.prompt_words(channel.keys, channel.prompts)
            self.weights = jnp.where(counted[:, :, None], drawn, jnp.uint32(0))

    def __call__(self, answers: Array, accepted: Array | None) -> _Judged:
        rows, rules, channel = self.rows, self.rules, self.channel
        contrasts = self._by_unit(rows.differences * answers[:, None])
        scores = tuple(
            evaluate.candidate_scores(
                overall,
                [contrasts[:, side, unit, None] for unit in range(len(self.spans))],
                rows.sums[:, side],
            )[:, 0]
            for side, overall in enumerate(rules.overalls)
        )
        numerators = []
        for release, side in zip(rules.releases, rules.reads, strict=True):
            counts = 0.5 * (rows.sums[:, side] + contrasts[:, side].astype(jnp.float64))
            numbers = release.chain(counts[:, None], jnp)
            numerators.append([numbers[:, :, c] for c in range(release.coordinates)])
        public = totals = squares = None
        if len(numerators) > 1:
            public = channels.public_losses(channel, numerators[1])[:, 0]
        if accepted is not None:
            # Half of a difference of two odd or two even numbers.
            apart = rows.differences[:, REUSED] * ((answers - accepted) // 2)
            sums = self._by_unit(jnp.stack([apart, apart * apart], axis=1)).astype(jnp.float64)
            totals, squares = sums[:, 0], sums[:, 1]
        entry = Entry(
            channels.losses(channel, numerators[0])[:, 0],
            scores[REUSED],
            scores[HELDOUT],
            public=public,
            totals=totals,
            squares=squares,
            content=self._content(answers),
        )
        return _Judged(contrasts, scores, entry)

    def _by_unit(self, values: Int32[Array, "rows kinds slots"]) -> Int64[Array, "rows kinds _"]:
        parts = [jnp.sum(values[:, :, a:b], axis=2, dtype=jnp.int64) for a, b in self.spans]
        return jnp.stack(parts, axis=2)

    def _content(self, answers: Int32[Array, "rows slots"]) -> UInt32[Array, "rows 2"] | None:
        if self.weights is None:
            return None
        # 1 for endpoint A and 0 for B, or the count, modulo 2^32.
        counts = ((answers + 1) // 2).astype(jnp.uint32)
        return jnp.sum(self.weights * counts[:, :, None], axis=1, dtype=jnp.uint32)


def _stage(rows: Rows, bank, rules: Rules, channel: Channel, spans, block: int) -> Stage:
    number, _, slots = rows.differences.shape
    owner = rules.releases[0].coordinate_of_unit()
    runs, end = [], 0
    for unit in sorted(range(len(spans)), key=lambda unit: spans[unit]):
        start, stop = spans[unit]
        if start != end:
            raise ValueError(f"unit {unit} starts at slot {start}; expected {end}")
        end = stop
        if runs and runs[-1][0] == int(owner[unit]):
            runs[-1] = (runs[-1][0], runs[-1][1], stop)
        else:
            runs.append((int(owner[unit]), start, stop))
    if end != slots:
        raise ValueError(f"the units have {end} slots; expected {slots}")
    first = ties = None
    if bank is not None:
        ties = bank.ties_to_a()
        column = bank.blanks
        block_of_it = _columns(bank, jnp.int32(column // block), block, number)
        first = block_of_it[column % block].astype(jnp.int32)
    return Stage(channel.reference, Places(tuple(runs)), ties, first)


def _columns(bank: SharedBank | FreshBank, index: Array, block: int, rows: int) -> Array:
    """Signs of a block of candidates, `(block, rows, slots)`."""
    signs = bank.block(index, block, jnp.dtype(jnp.int8), slice(None))
    if signs.ndim == 3:
        return jnp.moveaxis(signs, 1, 0)
    return jnp.broadcast_to(signs.T[:, None, :], (block, rows, signs.shape[0]))


def _desks(rows: Rows, channel: Channel, accounts: int, finals: int) -> Desk:
    """Desks of all accounts before the first submission."""
    number, _, slots = rows.differences.shape
    accepted = None
    mechanism = channel.mechanism
    if mechanism.compares_items:
        behind = mechanism.parts[1:] if isinstance(mechanism, MechanismChain) else ()
        if not all(part.stateless for part in behind):
            raise ValueError("what compares items can only be followed by stateless parts")
        accepted = jnp.zeros((number, slots), dtype=jnp.int32)
    entries = None
    if finals:
        entries = jnp.full((4, finals, number), jnp.inf, dtype=jnp.float64)
    every = [Desk(channels.start(channel, a), accepted, entries) for a in range(accounts)]
    return jax.tree.map(lambda *x: jnp.stack(x), *every)


def _nothing(submitter, stage: Stage, own, memory, rows: Rows) -> tuple[Move, Told]:
    """A submission that was not, and no feedback on it."""
    number, numbers = stage.reference.shape
    shape = jax.eval_shape(
        lambda: submitter.propose(stage, own, memory, jnp.int32(1), stage.first)[1]
    )
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
    move = Move(blank.answers, blank.mean, jnp.zeros((number,), dtype=jnp.int32))
    unseen = jnp.zeros((number, numbers), dtype=bool)
    infinite = jnp.full((number, numbers), jnp.inf, dtype=jnp.float64)
    return move, Told(infinite, unseen, unseen, infinite[:, 0])
