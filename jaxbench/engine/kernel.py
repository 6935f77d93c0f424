"""The attack on one benchmark as a single compiled program over trials, budgets and conditions.

One pass over the candidates serves every budget and every condition. For a block of candidates the
evaluator's contrasts are computed unit by unit, released under each condition, added at once to the
running votes, and dropped, so nothing of size trials x candidates x items, nor trials x candidates
x coordinates, exists. Where a budget ends, the votes so far are its final routers. Budgets,
endpoints, splits, banks, interfaces and scoring weights are data: changing them compiles nothing.

A *view* is what conditions can share beside the routers: an endpoint pair and a set of reused
items. Conditions of one view differ in what is released only, so that its contrasts and candidate
scores are computed once for all granularities and precisions.

A contrast is twice a candidate's count less those of the endpoints (`leaderboard.evaluate`);
everything up to the scores is in whole numbers.
"""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Int64, Num

from jaxbench.attacker import FreshBank, SharedBank, decoder
from jaxbench.benchmark.scoring import Overall
from jaxbench.engine.history import History, extend_history
from jaxbench.engine.plan import Arithmetic
from jaxbench.leaderboard import Release, evaluate


class Rows(eqx.Module):
    """The trials of a call, as the evaluator holds them.

    `public` and `private` are counts of endpoint A less those of B per slot, on the reused and on
    the held-out side (0 elsewhere). `sums_*` are counts of A plus those of B per unit on each
    side. `best_*` and `gap` are the history of the genuine models: best scores so far, largest gap
    so far. `static` and `released` are the released numerators of A less, and plus, those of B
    per coordinate, one array per condition.
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


class Rules(eqx.Module):
    """What is released under every condition, and what scores are on each side of every view.

    `view_of` is the view of every condition.
    """

    releases: tuple[Release, ...]
    reused: tuple[Overall, ...]
    heldout: tuple[Overall, ...]
    view_of: tuple[int, ...] = eqx.field(static=True)


class Outcomes(NamedTuple):
    """What a call returns, budgets first.

    `reused` and `heldout` are contrasts of the final routers per unit; `best_*` and `gap` the
    history of genuine models and candidates, the final router not yet in it. `routes` are the
    final routers themselves (True: to endpoint A), where asked for.
    """

    reused: Int64[Array, "budgets rows conditions units"]
    heldout: Int64[Array, "budgets rows conditions units"]
    best_reused: Float64[Array, "budgets rows views"]
    best_heldout: Float64[Array, "budgets rows views"]
    gap: Float64[Array, "budgets rows views"]
    routes: Bool[Array, "budgets rows conditions slots"] | None


class _Segment(NamedTuple):
    """Neighbouring units that lie in one coordinate under every condition."""

    slots: slice
    units: tuple[int, ...]
    coordinates: tuple[int, ...]


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
    view_of = rules.view_of
    units = unit_slots(rules.releases[0], sizes)
    segments = _segments(rules.releases, units)
    public, private = rows.public.astype(product), rows.private.astype(product)
    # Totals are all that `item_mean` asks of the held-out side: no unit has to be told apart.
    total_hidden = rules.heldout[0].total
    ties_to_a = bank.ties_to_a()[:, None, :]
    static = jnp.concatenate([_static_votes(segment, rows.static) for segment in segments], axis=2)
    public_of, private_of = (x[:, list(view_of)] for x in (rows.public, rows.private))
    ends = budgets - 1
    count = budgets.shape[0]

    def one_block(index, carry):
        votes, history, due, outcomes = carry
        # Candidate numbers of this block; a shared bank has a blank in front of candidate 0.
        first = index * block - bank.blanks
        signs = [bank.block(index, block, product, segment.slots) for segment in segments]
        contrasts = _contrasts(public, signs, segments, units)
        hidden = _contrasts(private, signs, segments, None if total_hidden else units)
        weights = [
            evaluate.released_contrasts(
                release, [c[:, view] for c in contrasts], rows.sums_reused[:, view], released
            )
            for release, view, released in zip(rules.releases, view_of, rows.released, strict=True)
        ]
        extended = extend_history(
            history,
            jnp.moveaxis(_scores(rules.reused, contrasts, rows.sums_reused), 2, 0),
            jnp.moveaxis(_scores(rules.heldout, hidden, rows.sums_heldout), 2, 0),
        )

        def add(votes, last):
            """The votes with those of this block's candidates before `last`."""
            counts = (first + jnp.arange(block, dtype=first.dtype) < last).astype(product)
            added = []
            for vote, sign, segment in zip(votes, signs, segments, strict=True):
                mine = [
                    w[c] * counts[None, :]
                    for w, c in zip(weights, segment.coordinates, strict=True)
                ]
                cast = decoder.block_votes(jnp.stack(mine, axis=1), sign)
                added.append(vote + cast.astype(total))
            return added

        whole = add(votes, first + block)

        def all_but_last():
            """The votes without this block's last candidate, whose vote is taken back."""
            kept = []
            for vote, sign, segment in zip(whole, signs, segments, strict=True):
                mine = [w[c][:, -1] for w, c in zip(weights, segment.coordinates, strict=True)]
                kept.append(vote - decoder.one_vote(jnp.stack(mine, axis=1), sign).astype(total))
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
            so_far = last - first
            past = [
                jnp.where(so_far > 0, blockwise[jnp.maximum(so_far - 1, 0)], before)
                for blockwise, before in zip(extended, history, strict=True)
            ]
            found = Outcomes(
                evaluate.router_contrasts(public_of, to_a, units),
                evaluate.router_contrasts(private_of, to_a, units),
                *past,
                routes=to_a if keep_routes else None,
            )
            return due + 1, jax.tree.map(lambda kept, new: kept.at[due].set(new), outcomes, found)

        due, outcomes = lax.while_loop(is_due, settle, (due, outcomes))
        after = History(*(blockwise[-1] for blockwise in extended))
        return whole, after, due, outcomes

    number, views, slots = public.shape
    conditions = len(view_of)
    per_unit = jnp.zeros((count, number, conditions, len(sizes)), dtype=jnp.int64)
    per_row = jnp.zeros((count, number, views), dtype=jnp.float64)
    routes = None
    if keep_routes:
        routes = jnp.zeros((count, number, conditions, slots), dtype=bool)
    carry = (
        [
            jnp.zeros((number, conditions, s.slots.stop - s.slots.start), dtype=total)
            for s in segments
        ],
        History(rows.best_reused, rows.best_heldout, rows.gap),
        jnp.zeros((), dtype=jnp.int32),
        Outcomes(per_unit, per_unit, per_row, per_row, per_row, routes),
    )
    # One block at least: budget 1 is settled in it though it has no candidates.
    blocks = jnp.maximum((ends[-1] + bank.blanks + block - 1) // block, 1)
    return lax.fori_loop(jnp.zeros((), blocks.dtype), blocks, one_block, carry)[-1]


def unit_slots(release: Release, sizes: tuple[int, ...]) -> list[slice]:
    """Slots of every unit, laid out in the order of the coordinates of a release."""
    order = [unit for units in release.units for unit in units]
    stops = list(accumulate(sizes[unit] for unit in order))
    starts = [stop - sizes[unit] for stop, unit in zip(stops, order, strict=True)]
    spans = dict(zip(order, map(slice, starts, stops), strict=True))
    return [spans[unit] for unit in range(len(sizes))]


def _segments(releases: Sequence[Release], units: Sequence[slice]) -> list[_Segment]:
    owners = [release.coordinate_of_unit() for release in releases]
    order = sorted(range(len(units)), key=lambda unit: units[unit].start)
    runs: list[list[int]] = []
    for unit in order:
        if runs and all(owner[runs[-1][-1]] == owner[unit] for owner in owners):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return [
        _Segment(
            slots=slice(units[run[0]].start, units[run[-1]].stop),
            units=tuple(run),
            coordinates=tuple(int(owner[run[0]]) for owner in owners),
        )
        for run in runs
    ]


def _static_votes(
    segment: _Segment, static: Sequence[Float64[Array, "rows _"]]
) -> Float64[Array, "rows conditions slots"]:
    """The vote of the router for budget 1: the endpoint with the better released coordinate."""
    better = [jnp.sign(s[:, c]) for s, c in zip(static, segment.coordinates, strict=True)]
    return decoder.static_votes(jnp.stack(better, axis=1), segment.slots.stop - segment.slots.start)


def _contrasts(
    differences: Num[Array, "rows views slots"],
    signs: Sequence[Array],
    segments: Sequence[_Segment],
    units: Sequence[slice] | None,
) -> list[Num[Array, "rows views candidates"]]:
    """Contrasts of a block of candidates per unit, or in one sum where no units are asked for."""
    if units is None:
        parts = [
            evaluate.candidate_contrasts(differences[:, :, segment.slots], sign)
            for sign, segment in zip(signs, segments, strict=True)
        ]
        # Whole numbers in a checked range: any order of addition gives the same sum.
        return [sum(parts[1:], start=parts[0])]
    found: dict[int, Array] = {}
    for sign, segment in zip(signs, segments, strict=True):
        for unit in segment.units:
            span, start = units[unit], segment.slots.start
            mine = evaluate.slots_of(sign, slice(span.start - start, span.stop - start))
            found[unit] = evaluate.candidate_contrasts(differences[:, :, span], mine)
    return [found[unit] for unit in range(len(units))]


def _scores(
    overalls: Sequence[Overall],
    contrasts: Sequence[Array],
    sums: Float64[Array, "rows views units"],
) -> Float64[Array, "rows views candidates"]:
    """Overall scores of a block of candidates under every view."""
    return jnp.stack(
        [
            evaluate.candidate_scores(overall, [c[:, view] for c in contrasts], sums[:, view])
            for view, overall in enumerate(overalls)
        ],
        axis=1,
    )
