"""The attack on one benchmark as a single compiled program over trials and budgets.

One pass over the candidates serves every budget. For a block of candidates the evaluator's
contrasts are computed unit by unit, released, added at once to the running votes, and dropped, so
nothing of size trials x candidates x items, nor trials x candidates x coordinates, exists. Where a
budget ends, the votes so far are its final router. Budgets, endpoints, splits, banks, interfaces
and scoring weights are data: changing them compiles nothing.

A contrast is twice a candidate's count less those of the endpoints (`leaderboard.evaluate`);
everything up to the scores is in whole numbers.
"""

from functools import partial
from itertools import accumulate
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Int64

from jaxbench.attacker import FreshBank, SharedBank, decoder
from jaxbench.benchmark.scoring import Overall
from jaxbench.engine.plan import Arithmetic
from jaxbench.leaderboard import Release, evaluate


class Rows(eqx.Module):
    """The trials of a call, as the evaluator holds them.

    `differences` are counts of endpoint A less those of B per slot. `sums_*` are counts of A plus
    those of B per unit on each side. `static` and `released` are the released numerators of A
    less, and plus, those of B per coordinate. `best_*` and `gap` are the history of the genuine
    models: best scores so far, largest gap so far.
    """

    differences: Int32[Array, "rows slots"]
    reused: Bool[Array, "rows slots"]
    sums_reused: Float64[Array, "rows units"]
    sums_heldout: Float64[Array, "rows units"]
    static: Float64[Array, "rows coordinates"]
    released: Float64[Array, "rows coordinates"]
    best_reused: Float64[Array, " rows"]
    best_heldout: Float64[Array, " rows"]
    gap: Float64[Array, " rows"]


class Rules(eqx.Module):
    """What is released, and what scores are, on each side of the split."""

    release: Release
    reused: Overall
    heldout: Overall


class Outcomes(NamedTuple):
    """What a call returns, budgets first.

    `reused` and `heldout` are contrasts of the final router per unit; `best_*` and `gap` the
    history of genuine models and candidates, the final router not yet in it. `routes` are the
    final routers themselves (True: to endpoint A), where asked for.
    """

    reused: Int64[Array, "budgets rows units"]
    heldout: Int64[Array, "budgets rows units"]
    best_reused: Float64[Array, "budgets rows"]
    best_heldout: Float64[Array, "budgets rows"]
    gap: Float64[Array, "budgets rows"]
    routes: Bool[Array, "budgets rows slots"] | None


class _History(NamedTuple):
    best_reused: Array
    best_heldout: Array
    gap: Array


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
    """Attack every row under every budget.

    **Arguments:**

    - `bank`: at least `max(budgets) - 1` candidates.
    - `budgets`: rising submission counts k; k - 1 candidates vote, k = 1 is the static router.
    - `sizes`: slots of every unit; the units of a coordinate stand together, in its order.
    - `block`: candidates per product; the result does not depend on it.

    Call inside `jax.enable_x64(True)`: scores are float64, whatever the products are.
    """
    product, total = jnp.dtype(arithmetic.product), jnp.dtype(arithmetic.total)
    units, coordinates = _spans(rules.release, sizes)
    public = jnp.where(rows.reused, rows.differences, 0)
    private = jnp.where(rows.reused, 0, rows.differences)
    public_units = [public[:, span].astype(product) for span in units]
    # Totals are all that `item_mean` asks of the held-out side: one product does.
    hidden_spans = [slice(None)] if rules.heldout.total else units
    private_units = [private[:, span].astype(product) for span in hidden_spans]
    ties_to_a = bank.ties_to_a()
    static = decoder.static_votes(
        jnp.sign(rows.static), [span.stop - span.start for span in coordinates]
    )
    ends = budgets - 1
    count = budgets.shape[0]

    def one_block(index, carry):
        votes, history, due, outcomes = carry
        # Candidate numbers of this block; a shared bank has a blank in front of candidate 0.
        first = index * block - bank.blanks
        signs = bank.block(index, block, product)
        contrasts = [
            evaluate.candidate_contrasts(d, signs[..., span, :])
            for d, span in zip(public_units, units, strict=True)
        ]
        hidden = [
            evaluate.candidate_contrasts(d, signs[..., span, :])
            for d, span in zip(private_units, hidden_spans, strict=True)
        ]
        weights = evaluate.released_contrasts(
            rules.release, contrasts, rows.sums_reused, rows.released
        )
        extended = _extend(
            history,
            evaluate.candidate_scores(rules.reused, contrasts, rows.sums_reused),
            evaluate.candidate_scores(rules.heldout, hidden, rows.sums_heldout),
        )

        def add(votes, last):
            """The votes with those of this block's candidates before `last`."""
            counts = (first + jnp.arange(block, dtype=first.dtype) < last).astype(product)
            return [
                v + decoder.block_votes(w * counts[None, :], signs[..., span, :]).astype(total)
                for v, w, span in zip(votes, weights, coordinates, strict=True)
            ]

        whole = add(votes, first + block)

        def is_due(state):
            due, _ = state
            return (due < count) & (ends[jnp.minimum(due, count - 1)] <= first + block)

        def settle(state):
            """A budget that ends in this block: its final router is the vote so far."""
            due, outcomes = state
            last = ends[due]
            # A budget that ends with the block needs no product of its own.
            at_end = last == first + block
            cast = jnp.concatenate(
                lax.cond(at_end, lambda: whole, lambda: add(votes, last)), axis=1
            )
            cast = jnp.where(last == 0, static.astype(total), cast)
            to_a = decoder.route(cast, ties_to_a)
            so_far = last - first
            past = [
                jnp.where(so_far > 0, blockwise[jnp.maximum(so_far - 1, 0)], before)
                for blockwise, before in zip(extended, history, strict=True)
            ]
            found = Outcomes(
                evaluate.router_contrasts(public, to_a, units),
                evaluate.router_contrasts(private, to_a, units),
                *past,
                routes=to_a if keep_routes else None,
            )
            return due + 1, jax.tree.map(lambda kept, new: kept.at[due].set(new), outcomes, found)

        due, outcomes = lax.while_loop(is_due, settle, (due, outcomes))
        after = _History(*(blockwise[-1] for blockwise in extended))
        return whole, after, due, outcomes

    number, slots = rows.differences.shape
    per_unit = jnp.zeros((count, number, len(sizes)), dtype=jnp.int64)
    per_row = jnp.zeros((count, number), dtype=jnp.float64)
    routes = jnp.zeros((count, number, slots), dtype=bool) if keep_routes else None
    carry = (
        [jnp.zeros((number, span.stop - span.start), dtype=total) for span in coordinates],
        _History(rows.best_reused, rows.best_heldout, rows.gap),
        jnp.zeros((), dtype=jnp.int32),
        Outcomes(per_unit, per_unit, per_row, per_row, per_row, routes),
    )
    # One block at least: budget 1 is settled in it though it has no candidates.
    blocks = jnp.maximum((ends[-1] + bank.blanks + block - 1) // block, 1)
    return lax.fori_loop(jnp.zeros((), blocks.dtype), blocks, one_block, carry)[-1]


def _spans(release: Release, sizes: tuple[int, ...]) -> tuple[list[slice], list[slice]]:
    """Slots of every unit, and of every coordinate (whose units stand together)."""
    order = [unit for units in release.units for unit in units]
    stops = list(accumulate(sizes[unit] for unit in order))
    starts = [stop - sizes[unit] for stop, unit in zip(stops, order, strict=True)]
    units = dict(zip(order, map(slice, starts, stops), strict=True))
    coordinates = [slice(units[u[0]].start, units[u[-1]].stop) for u in release.units]
    return [units[unit] for unit in range(len(sizes))], coordinates


def _extend(history: _History, reused, heldout) -> _History:
    """Best scores so far and the largest gap after every candidate of a block, in order.

    Each field is `(candidates, rows)`.
    """

    def step(history, scores):
        best_reused = jnp.maximum(history.best_reused, scores[0])
        best_heldout = jnp.maximum(history.best_heldout, scores[1])
        gap = jnp.maximum(history.gap, jnp.abs(best_reused - best_heldout))
        history = _History(best_reused, best_heldout, gap)
        return history, history

    return lax.scan(step, history, (reused.T, heldout.T))[1]
