"""The attack on one benchmark as a single compiled program over trials and budgets.

One pass over the candidates serves every budget. For a block of candidates the evaluator's
contrasts are computed coordinate by coordinate, added at once to the running votes, and dropped,
so nothing of size trials x candidates x items, nor trials x candidates x coordinates, exists.
Where a budget ends, the votes so far are its final router. Budgets, endpoints, splits, banks and
scoring weights are data: changing them compiles nothing.

A candidate's contrast on a coordinate is twice its count less those of the endpoints (see
`leaderboard.evaluate`); everything up to the scores is in whole numbers.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int8, Int32, Int64, Num

from jaxbench.attacker import decoder
from jaxbench.engine.plan import Arithmetic
from jaxbench.leaderboard.evaluate import candidate_contrasts, router_contrasts


class Rows(eqx.Module):
    """The trials of a call, as the evaluator holds them.

    `differences` are counts of endpoint A less those of B per slot, `static` their released sums
    per coordinate. `sums_*` are counts of A plus those of B per coordinate on each side. `best_*`
    and `gap` are the history of the genuine models: best scores so far, largest gap so far.
    """

    differences: Int32[Array, "rows slots"]
    reused: Bool[Array, "rows slots"]
    static: Int64[Array, "rows coordinates"]
    sums_reused: Float64[Array, "rows coordinates"]
    sums_heldout: Float64[Array, "rows coordinates"]
    best_reused: Float64[Array, " rows"]
    best_heldout: Float64[Array, " rows"]
    gap: Float64[Array, " rows"]


class Scale(eqx.Module):
    """What one count adds to an overall score: per coordinate, on each side.

    `uniform` says that the weights of a side are all alike (`item_mean`): totals are then added
    as integers first, and the held-out side needs no separate coordinates.
    """

    reused: Float64[Array, " coordinates"]
    heldout: Float64[Array, " coordinates"]
    uniform: bool = eqx.field(static=True)


class Outcomes(NamedTuple):
    """What a call returns, budgets first.

    `reused` and `heldout` are contrasts of the final router per coordinate; `best_*` and `gap`
    the history of genuine models and candidates, the final router not yet in it. `routes` are the
    final routers themselves (True: to endpoint A), where asked for.
    """

    reused: Int64[Array, "budgets rows coordinates"]
    heldout: Int64[Array, "budgets rows coordinates"]
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
    signs: Int8[Array, "candidates slots"],
    ties: Int8[Array, " slots"],
    budgets: Int32[Array, " budgets"],
    scale: Scale,
    *,
    sizes: tuple[int, ...],
    arithmetic: Arithmetic,
    block: int,
    keep_routes: bool = False,
) -> Outcomes:
    """Attack every row under every budget.

    **Arguments:**

    - `signs`: the bank, at least `max(budgets) - 1` candidates; `ties`: signs of zero votes.
    - `budgets`: rising submission counts k; k - 1 candidates vote, k = 1 is the static router.
    - `sizes`: slots of every coordinate, in order.
    - `block`: candidates per product; the result does not depend on it.

    Call inside `jax.enable_x64(True)`: scores are float64, whatever the products are.
    """
    product = jnp.dtype(arithmetic.product)
    starts = [sum(sizes[:c]) for c in range(len(sizes))]
    spans = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    public = jnp.where(rows.reused, rows.differences, 0)
    private = jnp.where(rows.reused, 0, rows.differences)
    public_blocks = [public[:, span].astype(product) for span in spans]
    private_blocks = (
        [private.astype(product)]
        if scale.uniform
        else [private[:, span].astype(product) for span in spans]
    )
    private_spans = [slice(None)] if scale.uniform else spans
    middle_reused = _half_overall(list(rows.sums_reused.T), scale.reused, scale.uniform)
    middle_heldout = _half_overall(list(rows.sums_heldout.T), scale.heldout, scale.uniform)
    # A block may start anywhere: pad so that the last one never slides back.
    bank = jnp.pad(signs, ((0, block), (0, 0)))
    static = decoder.static_votes(jnp.sign(rows.static), sizes)

    def add_block(index, carry, start, end):
        votes, history = carry
        first = start + index * block
        asked = first + jnp.arange(block, dtype=first.dtype) < end
        drawn = lax.dynamic_slice_in_dim(bank, first, block).astype(product)
        drawn = drawn * asked[:, None].astype(product)
        contrasts = []
        for c, span in enumerate(spans):
            contrasts.append(candidate_contrasts(public_blocks[c], drawn[:, span]))
            votes[c] = decoder.add_votes(votes[c], contrasts[c], drawn[:, span])
        hidden = [
            candidate_contrasts(differences, drawn[:, span])
            for differences, span in zip(private_blocks, private_spans, strict=True)
        ]
        reused = middle_reused[:, None] + _half_overall(contrasts, scale.reused, scale.uniform)
        heldout = middle_heldout[:, None] + _half_overall(hidden, scale.heldout, scale.uniform)
        history = _extend(history, reused, heldout, asked)
        return votes, history

    def to_budget(carry, segment):
        start, end = segment
        blocks = (end - start + block - 1) // block
        carry = lax.fori_loop(0, blocks, lambda i, carry: add_block(i, carry, start, end), carry)
        votes, history = carry
        cast = jnp.concatenate([v.astype(jnp.dtype(arithmetic.total)) for v in votes], axis=1)
        cast = jnp.where(end == 0, static.astype(cast.dtype), cast)
        to_a = decoder.route(cast, ties)
        return carry, Outcomes(
            reused=router_contrasts(public, to_a, sizes),
            heldout=router_contrasts(private, to_a, sizes),
            best_reused=history.best_reused,
            best_heldout=history.best_heldout,
            gap=history.gap,
            routes=to_a if keep_routes else None,
        )

    zeros = [jnp.zeros(p.shape, dtype=jnp.dtype(arithmetic.total)) for p in public_blocks]
    history = _History(rows.best_reused, rows.best_heldout, rows.gap)
    ends = budgets - 1
    segments = (jnp.concatenate([jnp.zeros((1,), ends.dtype), ends[:-1]]), ends)
    _, outcomes = lax.scan(to_budget, (zeros, history), segments)
    return outcomes


def _half_overall(
    counts: list[Num[Array, "..."]], scale: Float64[Array, " coordinates"], uniform: bool
) -> Float64[Array, "..."]:
    """Half the weighted sum of counts over coordinates, float64.

    A router counts half of (endpoints' sum + its contrast). With one weight for all, the counts
    are added as the whole numbers they are, and one conversion serves every coordinate.
    """
    half = 0.5 * scale
    if uniform:
        return sum(counts[1:], start=counts[0]).astype(jnp.float64) * half[0]
    return sum(
        (n.astype(jnp.float64) * half[c] for c, n in enumerate(counts[1:], start=1)),
        start=counts[0].astype(jnp.float64) * half[0],
    )


def _extend(history: _History, reused, heldout, asked) -> _History:
    """Add a block of candidates, in order, to the best scores so far and the largest gap."""
    nothing = -jnp.inf

    def step(history, candidate):
        reused, heldout, asked = candidate
        best_reused = jnp.maximum(history.best_reused, jnp.where(asked, reused, nothing))
        best_heldout = jnp.maximum(history.best_heldout, jnp.where(asked, heldout, nothing))
        gap = jnp.maximum(history.gap, jnp.abs(best_reused - best_heldout))
        return _History(best_reused, best_heldout, gap), None

    return lax.scan(step, history, (reused.T, heldout.T, asked))[0]
