"""The attack on one benchmark as a single compiled program over trials, budgets and conditions.

One pass over the candidates serves every budget and every condition. For a block of candidates the
evaluator's contrasts are computed unit by unit, released under each condition, added at once to the
running votes, and dropped, so nothing of size trials x candidates x items, nor trials x candidates
x coordinates, exists. Where a budget ends, the votes so far are its final routers. Budgets,
endpoints, splits, banks, interfaces, scoring weights and a mechanism's parameters are data:
changing them compiles nothing.

A *view* is what conditions can share beside the routers: an endpoint pair and a set of reused
items. Conditions of one view differ in what is released only, so that its contrasts and candidate
scores are computed once for all granularities, precisions and mechanisms.

A contrast is twice a candidate's count less those of the endpoints (`leaderboard.evaluate`);
everything up to the scores is in whole numbers. Where a mechanism stands between a number and its
release the condition has a *channel* (`engine.channel`), which turns contrasts into what is
released, in ticks, and the final router passes it as the last submission of its budget.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Int64

from jaxbench.attacker import FreshBank, SharedBank, decoder
from jaxbench.benchmark.scoring import Overall
from jaxbench.engine import channel as channels_room
from jaxbench.engine import feedback
from jaxbench.engine.channel import Channel, Team
from jaxbench.engine.history import Board, History, extend_board, extend_with_boards
from jaxbench.engine.plan import Arithmetic
from jaxbench.engine.segments import (
    contrasts_of,
    scores_of,
    segments_of,
    static_votes,
    unit_slots,
)
from jaxbench.leaderboard import Release, evaluate
from jaxbench.leaderboard.mechanisms import Mechanism


class Rows(eqx.Module):
    """The trials of a call, as the evaluator holds them.

    `public` and `private` are counts of endpoint A less those of B per slot, on the reused and on
    the held-out side (0 elsewhere). `sums_*` are counts of A plus those of B per unit on each
    side. `best_*` and `gap` are the history of the genuine models: best scores so far, largest gap
    so far. `static` and `released` are numerators of A less, and plus, those of B per coordinate,
    one array per condition: of what is released, and of what is true. `channels` has the fields of
    a `Channel` but for its mechanism, or None for a condition without one.
    """

    public: Int32[Array, "rows views slots"]
    private: Int32[Array, "rows views slots"]
    sums_reused: Float64[Array, "rows views units"]
    sums_heldout: Float64[Array, "rows views units"]
    best_reused: Float64[Array, "rows views"]
    best_heldout: Float64[Array, "rows views"]
    gap: Float64[Array, "rows views"]
    static: tuple[Float64[Array, "rows _"], ...]
    released: tuple[Float64[Array, "rows _"], ...]
    channels: tuple[dict[str, Any] | None, ...]


class Rules(eqx.Module):
    """What is released under every condition, and what scores are on each side of every view.

    `mechanisms` has one for every condition with a channel. `view_of` is the view of every
    condition, `decoders` says how it reads repeated numbers (`feedback.weigh`).
    """

    releases: tuple[Release, ...]
    reused: tuple[Overall, ...]
    heldout: tuple[Overall, ...]
    mechanisms: tuple[Mechanism | None, ...]
    view_of: tuple[int, ...] = eqx.field(static=True)
    decoders: tuple[str, ...] = eqx.field(static=True)
    submitter: str = eqx.field(static=True, default="linear")


class Outcomes(NamedTuple):
    """What a call returns, budgets first.

    `reused` and `heldout` are contrasts of the final routers per unit; `best_*` and `gap` the
    history of genuine models and candidates, the final router not yet in it. `teams` are the
    board's rows of the submitter's team behind the final router, one per channel. `routes` are the
    final routers themselves (True: to endpoint A), where asked for.
    """

    reused: Int64[Array, "budgets rows conditions units"]
    heldout: Int64[Array, "budgets rows conditions units"]
    best_reused: Float64[Array, "budgets rows views"]
    best_heldout: Float64[Array, "budgets rows views"]
    gap: Float64[Array, "budgets rows views"]
    teams: tuple[Team, ...]
    routes: Bool[Array, "budgets rows conditions slots"] | None


@partial(jax.jit, static_argnames=("sizes", "arithmetic", "block", "keep_routes"))
def attack_rows(
    rows: Rows,
    bank: SharedBank | FreshBank,
    budgets: Int32[Array, " budgets"],
    rules: Rules,
    *,
    sizes: tuple[int, ...],
    arithmetic: Arithmetic,
    block: int,
    keep_routes: bool = False,
) -> Outcomes:
    """Attack every row under every budget and condition.

    **Arguments:**

    - `bank`: at least `max(budgets) - 1` candidates.
    - `budgets`: rising submission counts k; k - 1 candidates vote, k = 1 is the static router.
    - `sizes`: slots of every unit; units stand in the order of the first condition's coordinates.
    - `block`: candidates per product; the result does not depend on it.

    Call inside `jax.enable_x64(True)`: scores are float64, whatever the products are.
    """
    product, total = jnp.dtype(arithmetic.product), jnp.dtype(arithmetic.total)
    view_of, submitter = rules.view_of, rules.submitter
    units = unit_slots(rules.releases[0], sizes)
    segments = segments_of(rules.releases, units)
    public, private = rows.public.astype(product), rows.private.astype(product)
    # Totals are all that `item_mean` asks of the held-out side: no unit has to be told apart.
    total_hidden = rules.heldout[0].total
    ties_to_a = bank.ties_to_a()[:, None, :]
    static = jnp.concatenate([static_votes(segment, rows.static) for segment in segments], axis=2)
    public_of, private_of = (x[:, list(view_of)] for x in (rows.public, rows.private))
    channels = {
        c: Channel(mechanism=mechanism, **fields)
        for c, (mechanism, fields) in enumerate(zip(rules.mechanisms, rows.channels, strict=True))
        if mechanism is not None and fields is not None
    }
    lines = [channels_room.start(channel) for channel in channels.values()]
    first_states = tuple(
        feedback.first_state(channel, line.state)
        for channel, line in zip(channels.values(), lines, strict=True)
    )
    channels = {c: feedback.by_number(channel) for c, channel in channels.items()}
    ends = budgets - 1
    count = budgets.shape[0]

    def released(c, contrasts):
        """Contrasts of what is true, per coordinate of a condition."""
        sums = rows.sums_reused[:, view_of[c]]
        return evaluate.released_contrasts(rules.releases[c], contrasts, sums, rows.released[c])

    def block_of(c, contrasts, reused, heldout, numbers):
        """Submissions as they reach a channel."""
        numerators = [
            0.5 * (x.astype(jnp.float64) + rows.released[c][:, n, None])
            for n, x in enumerate(contrasts)
        ]
        return feedback.block_of(channels[c], numerators, reused, heldout, numbers)

    def one_block(index, carry):
        votes, history, boards, lines, due, outcomes = carry
        # Candidate numbers of this block; a shared bank has a blank in front of candidate 0.
        first = index * block - bank.blanks
        signs = [bank.block(index, block, product, segment.slots) for segment in segments]
        contrasts = contrasts_of(public, signs, segments, units)
        hidden = contrasts_of(private, signs, segments, None if total_hidden else units)
        reused = scores_of(rules.reused, contrasts, rows.sums_reused)
        heldout = scores_of(rules.heldout, hidden, rows.sums_heldout)
        weights = [released(c, [x[:, view] for x in contrasts]) for c, view in enumerate(view_of)]
        # Submission j + 1 is candidate j; the blank is none.
        numbers = first + jnp.arange(block, dtype=first.dtype) + 1
        blocks = {
            c: block_of(c, weights[c], reused[:, view_of[c]], heldout[:, view_of[c]], numbers)
            for c in channels
        }
        start = jnp.maximum(-first, 0)

        def answered(last):
            """States of the channels behind the candidates before `last`, and what is released."""
            return feedback.answer(
                list(channels.values()), lines[0], list(blocks.values()), start, last - first
            )

        states, answers = answered(first + block)
        told = dict(zip(channels, answers, strict=True))
        extended, shown = extend_with_boards(
            history,
            boards,
            jnp.moveaxis(reused, 2, 0),
            jnp.moveaxis(heldout, 2, 0),
            tuple(
                feedback.best_and_shown(channels[c], blocks[c], told[c], numbers >= 1)
                for c in channels
            ),
        )

        def before(last, after, none):
            """What was known of some records before candidate `last`: behind the one before it."""
            so_far = last - first
            return jax.tree.map(
                lambda x, y: jnp.where(so_far > 0, x[jnp.maximum(so_far - 1, 0)], y),
                after,
                none,
            )

        def teams(last):
            """The board's rows of the team behind the candidates before `last`."""
            counted = (numbers >= 1) & (numbers <= last)
            return tuple(
                feedback.show(channels[c], team, blocks[c], told[c], counted, board)
                for c, team, board in zip(
                    channels, lines[1], before(last, shown, boards), strict=True
                )
            )

        weights = [
            feedback.weigh(channels[c], told[c], submitter, rules.decoders[c])
            if c in channels
            else [decoder.cast(w, submitter) for w in weights[c]]
            for c in range(len(view_of))
        ]
        # A row of products per condition, or one per digit of weights of a channel.
        parts = [
            [feedback.digits(w, arithmetic.digits, arithmetic.bits, product) for w in weights[c]]
            if c in channels
            else [[w] for w in weights[c]]
            for c in range(len(view_of))
        ]

        def add(votes, last):
            """The votes with those of this block's candidates before `last`."""
            counts = (first + jnp.arange(block, dtype=first.dtype) < last).astype(product)
            added = []
            for vote, sign, segment in zip(votes, signs, segments, strict=True):
                mine = [
                    [w * counts[None, :] for w in part[at]]
                    for part, at in zip(parts, segment.coordinates, strict=True)
                ]
                stacked = jnp.stack([w for digits in mine for w in digits], axis=1)
                cast = decoder.block_votes(stacked, sign).astype(total)
                added.append(vote + _together(cast, [len(d) for d in mine], arithmetic.bits))
            return added

        whole = add(votes, first + block)

        def all_but_last():
            """The votes without this block's last candidate, whose vote is taken back."""
            kept = []
            for vote, sign, segment in zip(whole, signs, segments, strict=True):
                mine = [
                    w[at][:, -1].astype(total)
                    for w, at in zip(weights, segment.coordinates, strict=True)
                ]
                kept.append(
                    vote - decoder.one_vote(jnp.stack(mine, axis=1), sign[:, -1:].astype(total))
                )
            return kept

        def is_due(state):
            due, _ = state
            return (due < count) & (ends[jnp.minimum(due, count - 1)] <= first + block)

        def settle(state):
            """A budget that ends in this block: its final routers are the votes so far."""
            due, outcomes = state
            last = ends[due]
            # A budget that ends with the block, or one before, needs no product of its own.
            left = jnp.clip(first + block - last, 0, 2)
            cast = jnp.concatenate(
                lax.switch(left, [lambda: whole, all_but_last, lambda: add(votes, last)]), axis=2
            )
            cast = jnp.where(last == 0, static.astype(total), cast)
            to_a = decoder.route(cast, ties_to_a)
            public_now = evaluate.router_contrasts(public_of, to_a, units)
            private_now = evaluate.router_contrasts(private_of, to_a, units)
            reached = lax.cond(left == 0, lambda: states, lambda: answered(last)[0])
            submitted = [
                submit_last(c, state, team, public_now[:, c], private_now[:, c], budgets[due])
                for c, state, team in zip(channels, reached, teams(last), strict=True)
            ]
            found = Outcomes(
                public_now,
                private_now,
                *before(last, extended, history),
                teams=tuple(submitted),
                routes=to_a if keep_routes else None,
            )
            return due + 1, jax.tree.map(lambda kept, new: kept.at[due].set(new), outcomes, found)

        due, outcomes = lax.while_loop(is_due, settle, (due, outcomes))
        history, boards = jax.tree.map(lambda x: x[-1], (extended, shown))
        return whole, history, boards, (states, teams(first + block)), due, outcomes

    def submit_last(c, state, team, public_now, private_now, number):
        """The team's row once the final router of a budget is in."""
        view, channel = view_of[c], channels[c]
        mine, hidden = (
            [x[:, u, None].astype(jnp.float64) for u in range(len(units))]
            for x in (public_now, private_now)
        )
        reused = evaluate.candidate_scores(rules.reused[view], mine, rows.sums_reused[:, view])
        heldout = evaluate.candidate_scores(rules.heldout[view], hidden, rows.sums_heldout[:, view])
        block = block_of(c, released(c, mine), reused, heldout, number[None])
        _, (told,) = feedback.answer(
            [channel], [state], [block], jnp.zeros_like(number), jnp.ones_like(number)
        )
        one = jnp.ones((1,), dtype=bool)
        losses = feedback.best_and_shown(channel, block, told, one)
        board = extend_board(Board(team.best, team.shown, team.error), *(x[0] for x in losses))
        return feedback.show(channel, team, block, told, one, board)

    number, views, slots = public.shape
    conditions = len(view_of)
    per_unit = jnp.zeros((count, number, conditions, len(sizes)), dtype=jnp.int64)
    per_row = jnp.zeros((count, number, views), dtype=jnp.float64)
    first_teams = tuple(line.team for line in lines)
    routes = None
    if keep_routes:
        routes = jnp.zeros((count, number, conditions, slots), dtype=bool)
    carry = (
        [
            jnp.zeros((number, conditions, s.slots.stop - s.slots.start), dtype=total)
            for s in segments
        ],
        History(rows.best_reused, rows.best_heldout, rows.gap),
        tuple(Board(team.best, team.shown, team.error) for team in first_teams),
        (first_states, first_teams),
        jnp.zeros((), dtype=jnp.int32),
        Outcomes(
            per_unit, per_unit, per_row, per_row, per_row,
            jax.tree.map(lambda x: jnp.zeros((count, *x.shape), x.dtype), first_teams),
            routes,
        ),
    )  # fmt: skip
    # One block at least: budget 1 is settled in it though it has no candidates.
    blocks = jnp.maximum((ends[-1] + bank.blanks + block - 1) // block, 1)
    return lax.fori_loop(jnp.zeros((), blocks.dtype), blocks, one_block, carry)[-1]


def _together(cast: Array, digits: list[int], bits: int) -> Array:
    """Votes of every condition, from those of its digits."""
    if max(digits) == 1:
        return cast
    found, at = [], 0
    for count in digits:
        mine = [cast[:, at + d] * 2.0 ** (bits * d) for d in range(count)]
        found.append(sum(mine[1:], start=mine[0]))
        at += count
    return jnp.stack(found, axis=1)
