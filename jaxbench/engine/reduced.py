"""The attack from counts alone: how many items the endpoints differ on, not which.

Source: spec of lifespan, "The mechanistic law, exact". With fresh fair routers and equal steps the
signs of candidates relative to the better endpoint are fair whatever the benchmark, so an item is
a number. Of the first 63 candidates every sign is drawn: up to budget 64 the simulation is exact,
jointly over items, candidates and budgets. What later candidates add to votes is drawn at once, for
a whole stretch of them, from its law given their weights W_j:

- V, the sum of their W^2: a chi-square's cube root is normal (Wilson and Hilferty, 1931), with the
  exact mean and variance.
- On the m reused items of a coordinate votes have mean V / m, variance sum W^2 (1 - W^2 / m^2), and
  equal covariances that make them add up to V. Third and fourth moments bend the normal (Cornish
  and Fisher, 1938).
- On held-out items votes are independent, with mean 0 and variance V, and symmetric: routes stay
  exactly fair coins.

So votes of one trial are joint over budgets. Left out: how what a candidate after the 63rd scores
itself correlates with the final router (on held-out items by about sqrt(2 / pi) W_j / sqrt(V)).
Measured for 3 to 400 items: the mean share routed right is off by less than .0006 within a few
candidates of budget 64 and by less than .0003 from budget 128 on, the noise of the measurement.
"""

from functools import partial
from itertools import accumulate
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, Int64, UInt32

from jaxbench.attacker import FreshBank, decoder
from jaxbench.benchmark.scoring import Overall
from jaxbench.counters import words
from jaxbench.engine.history import History, extend_history
from jaxbench.engine.reduced_history import Binomial, by_blocks, by_records
from jaxbench.leaderboard import evaluate

BLOCK = 64
# Candidates whose signs are drawn. Stretches of the others end at 127, 255, ..., whatever budgets
# are asked for (those between are drawn from the last such end on), so budgets mind no others.
EXACT = BLOCK - 1
# Counters: items within 256 units; coordinates and budgets have upper halves of their own.
MOST_ITEMS = 2**23
UPPER = 2**31
# Normals on a grid of 2^-20: their sums are exact, so padding cannot change them.
GRID = 2.0**20


class ReducedRows(eqx.Module):
    """The trials of a call in numbers.

    `*_keys`: trial keys of the streams `REDUCED_*`. `differing_*`: items per unit and side on which
    the endpoints differ; `lead_*`: counts of A less those of B; `sums_*`: counts of both. `step`:
    by how much the endpoints differ on an item, in counts. `static`: released numerators of A less
    those of B per coordinate. `best_*` and `gap`: the history of the genuine models.

    Where records are drawn, `tails_*[row, x]` is P(Bin(m, 1/2) >= x), m the differing items of that
    side, and `weight_*` what a count is worth; else these have no values.
    """

    sign_keys: UInt32[Array, "rows 2"]
    tie_keys: UInt32[Array, "rows 2"]
    normal_keys: UInt32[Array, "rows 2"]
    record_keys: UInt32[Array, "rows 2"]
    differing_reused: Int32[Array, "rows units"]
    differing_heldout: Int32[Array, "rows units"]
    lead_reused: Float64[Array, "rows units"]
    lead_heldout: Float64[Array, "rows units"]
    step: Float64[Array, " rows"]
    sums_reused: Float64[Array, "rows units"]
    sums_heldout: Float64[Array, "rows units"]
    static: Float64[Array, "rows coordinates"]
    best_reused: Float64[Array, " rows"]
    best_heldout: Float64[Array, " rows"]
    gap: Float64[Array, " rows"]
    weight_reused: Float64[Array, " rows"]
    weight_heldout: Float64[Array, " rows"]
    tails_reused: Float64[Array, "rows values_reused"]
    tails_heldout: Float64[Array, "rows values_heldout"]


class Outcomes(NamedTuple):
    """What a call returns, budgets first; as `kernel.Outcomes`, of one condition."""

    reused: Int64[Array, "budgets rows units"]
    heldout: Int64[Array, "budgets rows units"]
    best_reused: Float64[Array, "budgets rows"]
    best_heldout: Float64[Array, "budgets rows"]
    gap: Float64[Array, "budgets rows"]


class Shape(NamedTuple):
    """What a program is compiled for.

    `coordinates`: the units of every coordinate; `slots`: per unit, at least its differing items in
    any row, both sides together; `records`: whether records are drawn.
    """

    coordinates: tuple[tuple[int, ...], ...]
    slots: tuple[int, ...]
    records: bool


@partial(jax.jit, static_argnames=("shape",))
def reduced_rows(
    rows: ReducedRows,
    budgets: Int32[Array, " budgets"],
    reused: Overall,
    heldout: Overall,
    *,
    shape: Shape,
) -> Outcomes:
    """Attack every row under every budget and one condition; the twin of `kernel.attack_rows`.

    **Arguments:** `budgets`: rising submission counts k; k = 1 is the static router. `reused`,
    `heldout`: the overall score on either side.

    A row depends on its own numbers and keys, a budget on no other budget. Call inside
    `jax.enable_x64(True)`.
    """
    slots = _Slots.of(rows, shape)
    ends = budgets - 1
    bank = FreshBank(rows.sign_keys, rows.tie_keys, slots.counters)

    def signs_of(index):
        return bank.block(index, BLOCK, jnp.dtype(jnp.float32), slice(None))

    def contrasts(side, signs, together=False):
        spans = [slice(None)] if together else slots.units
        counted = side.astype(jnp.float32)[:, None, :]
        return [evaluate.candidate_contrasts(counted[:, :, s], signs[:, :, s])[:, 0] for s in spans]

    def scores(index):
        signs = signs_of(index)
        public = contrasts(slots.reused, signs)
        private = contrasts(slots.heldout, signs, heldout.total)
        step = rows.step[:, None]
        return tuple(
            evaluate.candidate_scores(rule, [step * w.astype(jnp.float64) for w in found], sums)
            for rule, found, sums in (
                (reused, public, rows.sums_reused),
                (heldout, private, rows.sums_heldout),
            )
        )

    start = History(rows.best_reused, rows.best_heldout, rows.gap)
    if shape.records:
        zero = jnp.zeros((), dtype=jnp.int32)
        past = by_records(
            start, extend_history(start, *(side.T for side in scores(zero))), EXACT, ends,
            _binomial(rows.tails_reused, rows.differing_reused, rows.sums_reused, rows.step,
                      rows.weight_reused),
            _binomial(rows.tails_heldout, rows.differing_heldout, rows.sums_heldout, rows.step,
                      rows.weight_heldout),
            rows.record_keys,
        )  # fmt: skip
    else:
        past = by_blocks(start, ends, scores, BLOCK)

    signs = signs_of(jnp.zeros((), dtype=jnp.int32))
    per_unit = contrasts(slots.reused, signs)
    weights = [sum((per_unit[u] for u in c[1:]), per_unit[c[0]]) for c in shape.coordinates]

    # Votes of all budgets up to 64, and of the others' first candidates, in one product.
    number = jnp.concatenate([jnp.minimum(ends, EXACT), jnp.full((1,), EXACT, ends.dtype)])
    cast = jnp.arange(BLOCK, dtype=ends.dtype)[None, :] < number[:, None]
    early = jnp.concatenate(
        [
            jnp.einsum(
                "kc,rc,rcs->krs", cast.astype(jnp.float32), w, signs[:, :, span],
                precision=lax.Precision.HIGHEST,
            )
            for w, span in zip(weights, slots.coordinates, strict=True)
        ],
        axis=2,
    )  # fmt: skip

    def votes_of(last, early, at, votes):
        """Votes of `last` candidates, and the last fixed end up to there with its votes."""

        def stretch(state):
            _, at, votes, _ = state
            end = jnp.minimum(2 * at + 1, last)
            cast, fixed = slots.later(votes, at, end), end == 2 * at + 1
            return end, jnp.where(fixed, end, at), jnp.where(fixed, cast, votes), cast

        # One stretch in the program, for fixed ends and for `last`: it is most of what compiles.
        start = (at, at, votes, early.astype(jnp.float64))
        _, at, votes, cast = lax.while_loop(lambda state: state[0] < last, stretch, start)
        return cast, at, votes

    ties, sign = bank.ties_to_a()[:, None, :], slots.per_unit(jnp.sign(rows.static))

    def one(carry, budget):
        last, soon = budget
        cast, at, votes = votes_of(last, soon, *carry)
        right = decoder.route(cast[:, None, :], ties)[:, 0]
        # Budget 1 has no votes: every coordinate goes to the publicly better endpoint.
        settled = (last == 0) & (sign != 0)
        found = [
            jnp.where(settled, sign * lead, rows.step[:, None] * slots.routed(right, side))
            for side, lead in (
                (slots.reused, rows.lead_reused), (slots.heldout, rows.lead_heldout)
            )
        ]  # fmt: skip
        return (at, votes), tuple(x.astype(jnp.int64) for x in found)

    fixed = jnp.full((), EXACT, dtype=ends.dtype)
    carry = fixed, early[-1].astype(jnp.float64)
    public, private = lax.scan(one, carry, (ends, early[:-1]))[1]
    return Outcomes(public, private, *past)


def _binomial(tails, differing, sums, step, weight) -> Binomial:
    worst = jnp.sum(sums, axis=1) - step * jnp.sum(differing, axis=1).astype(jnp.float64)
    return Binomial(tails, low=0.5 * worst * weight, slope=step * weight)


class _Slots(NamedTuple):
    """Items as slots: those of a unit together, of a coordinate too; reused ones first."""

    keys: Array
    counters: Array
    reused: Array
    heldout: Array
    items: Array
    units: list[slice]
    coordinates: list[slice]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, rows: ReducedRows, shape: Shape) -> "_Slots":
        order = [unit for units in shape.coordinates for unit in units]
        stops = list(accumulate(shape.slots[unit] for unit in order))
        spans = {
            u: slice(stop - shape.slots[u], stop) for u, stop in zip(order, stops, strict=True)
        }
        numbers = [np.arange(shape.slots[u]) for u in order]
        counters = [number + u * MOST_ITEMS for number, u in zip(numbers, order, strict=True)]
        public, both = rows.differing_reused, rows.differing_reused + rows.differing_heldout
        reused, there = (
            jnp.concatenate(
                [
                    number[None, :].astype(np.int32) < count[:, u : u + 1]
                    for number, u in zip(numbers, order, strict=True)
                ],
                axis=1,
            )
            for count in (public, both)
        )
        items = [sum((public[:, u] for u in c[1:]), public[:, c[0]]) for c in shape.coordinates]
        return cls(
            rows.normal_keys,
            jnp.broadcast_to(np.concatenate(counters).astype(np.uint32)[None, :], reused.shape),
            reused, there & ~reused, jnp.stack(items, axis=1).astype(jnp.float64),
            [spans[u] for u in range(len(shape.slots))],
            [slice(spans[c[0]].start, spans[c[-1]].stop) for c in shape.coordinates],
            shape.coordinates,
        )  # fmt: skip

    def later(self, votes, at, last) -> Float64[Array, "rows slots"]:
        """Votes with what candidates `at` to `last - 1` add to them."""
        m = jnp.maximum(self.items, 2.0)
        number = (last - at).astype(jnp.float64)
        count, rows = len(self.members), len(self.items)
        counters = np.arange(count, dtype=np.uint32) + np.uint32(UPPER)
        counters = jnp.broadcast_to(jnp.asarray(counters)[None, :], (rows, count))
        # Both kinds at once: to compile threefry takes longer than to run it.
        both = self._normals(jnp.concatenate([counters, self.counters], axis=1), last)
        z, normals = both[:, :count], both[:, count:]
        # Moments of W, a sum of m fair signs; V = sum W^2 has mean n m and variance 2 n m (m - 1).
        ninth = 2.0 / (9.0 * number) * (1.0 - 1.0 / m)
        second = number * m * jnp.maximum(1.0 - ninth + z * jnp.sqrt(ninth), 0.0) ** 3
        fourth = number * m * (3.0 * m - 2.0)
        sixth = number * m * (15.0 * m**2 - 30.0 * m + 16.0)
        left = jnp.maximum(second - fourth / m**2, 0.0)
        scale = jnp.sqrt(jnp.maximum(left, 1.0))
        # Short stretches are bent no further than the expansion holds; exact votes swamp them.
        skew = jnp.clip((2.0 * sixth / m**3 - 2.0 * fourth / m) / scale**3, -0.5, 0.5)
        excess = jnp.clip((8.0 * sixth / m**2 - 2.0 * fourth) / scale**4, -0.5, 0.5)
        z = self._centred(normals) * self._per_slot(jnp.sqrt(m / (m - 1.0)))
        # z + skew (z^2 - 1) / 6 + excess (z^3 - 3 z) / 24 - skew^2 (2 z^3 - 5 z) / 36 and centred.
        linear = 1.0 - excess / 8.0 + skew**2 * (5.0 / 36.0)
        cubic = self._per_slot(excess / 24.0 - skew**2 / 18.0)
        bent = z * (self._per_slot(linear) + z * (self._per_slot(skew / 6.0) + z * cubic))
        public = self._per_slot(second / m) + self._per_slot(jnp.sqrt(left)) * self._centred(bent)
        private = self._per_slot(jnp.sqrt(second)) * normals
        return votes + jnp.where(self.reused, public, private)

    def routed(self, right: Bool[Array, "rows slots"], side) -> Float64[Array, "rows units"]:
        """Items of a side routed to the better endpoint less those to the worse, per unit."""
        signed = jnp.where(side, jnp.where(right, 1, -1), 0).astype(jnp.int32)
        sums = [jnp.sum(signed[:, span], axis=1, dtype=jnp.int32) for span in self.units]
        return jnp.stack(sums, axis=1).astype(jnp.float64)

    def per_unit(self, values):
        """Values per coordinate, for every unit."""
        owner = {u: c for c, members in enumerate(self.members) for u in members}
        return values[:, np.array([owner[u] for u in range(len(owner))])]

    def _normals(self, counters, last) -> Float64[Array, "rows counters"]:
        """Normal deviates on the grid, of the stretch that ends at `last`."""
        second = (last.astype(jnp.uint32) + jnp.uint32(UPPER))[None, None]
        word = words(self.keys[:, None, :], counters, second)[0]
        # 23 bits of size, one of sign: exactly symmetric, at most 5.4.
        size = ((word >> 9).astype(jnp.float32) + 0.5) * jnp.float32(2.0**-23)
        z = jnp.rint(lax.erf_inv(size) * jnp.float32(GRID * 2.0**0.5)).astype(jnp.float64) / GRID
        return jnp.where((word & 1) == 1, z, -z)

    def _centred(self, values) -> Float64[Array, "rows slots"]:
        """Values, put on the grid, less their mean over the reused items of their coordinate."""
        values = jnp.where(self.reused, jnp.rint(values * GRID) / GRID, 0.0)
        sums = jnp.stack([jnp.sum(values[:, s], axis=1) for s in self.coordinates], axis=1)
        return values - self._per_slot(sums / jnp.maximum(self.items, 1.0))

    def _per_slot(self, values):
        """Values per coordinate, for every slot."""
        parts = [
            jnp.broadcast_to(values[:, c : c + 1], (len(values), s.stop - s.start))
            for c, s in enumerate(self.coordinates)
        ]
        return jnp.concatenate(parts, axis=1)
