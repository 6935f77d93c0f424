"""Scores of submissions against loops over items, and the oracle's released numbers."""

from fractions import Fraction
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbench.benchmark import scoring
from jaxbench.benchmark.units import Units
from jaxbench.leaderboard import Interface, release
from jaxbench.leaderboard.evaluate import (
    candidate_contrasts,
    candidate_scores,
    released_contrasts,
    router_contrasts,
    slots_of,
)
from jaxbench.leaderboard.interface import needs_categories
from oracle.interface import Interface as OracleInterface
from oracle.scoring import overall as oracle_overall
from worlds import World

ROWS, VIEWS, SLOTS, CANDIDATES = 3, 2, 6, 4


@pytest.mark.parametrize(("dtype", "largest"), [("float32", 2**21), ("float64", 2**50)])
def test_contrasts_of_candidates(dtype, largest):
    rng = np.random.default_rng(0)
    differences = rng.integers(-largest, largest, (ROWS, VIEWS, SLOTS))
    signs = np.random.default_rng(1).choice([-1, 1], (ROWS, CANDIDATES, SLOTS))
    with jax.enable_x64(dtype == "float64"):
        d = jnp.asarray(differences, dtype)
        own = candidate_contrasts(d, jnp.asarray(signs, dtype))
        shared = candidate_contrasts(d, jnp.asarray(signs[0].T, dtype))
        assert own.dtype == shared.dtype == dtype
        own, shared = np.asarray(own), np.asarray(shared)
    for row, view, j in product(range(ROWS), range(VIEWS), range(CANDIDATES)):
        mine = differences[row, view]
        expected = [
            sum(int(d) * int(g) for d, g in zip(mine, bank[j], strict=True))
            for bank in (signs[row], signs[0])
        ]
        assert [own[row, view, j], shared[row, view, j]] == expected


def test_signs_of_some_slots():
    own = jnp.arange(24).reshape(2, 3, 4)
    assert slots_of(own, slice(1, 3)).tolist() == own[:, :, 1:3].tolist()
    # A shared bank is by slots.
    assert slots_of(own[0].T, slice(1, 3)).tolist() == own[0].T[1:3].tolist()


def test_contrasts_of_final_routers_are_exact_past_float32_and_int32():
    rng = np.random.default_rng(3)
    shape = (ROWS, VIEWS, SLOTS)
    differences = rng.integers(2**29, 2**30, shape) * rng.choice([-1, 1], shape)
    to_a = rng.random(shape) < 0.5
    # One router that takes the best of everything: its contrast is the sum of all differences.
    to_a[0, 0] = differences[0, 0] > 0
    units = [slice(4, 6), slice(0, 4)]  # slots stand in the order of coordinates, not of units
    with jax.enable_x64(True):
        found = router_contrasts(jnp.asarray(differences, jnp.int32), jnp.asarray(to_a), units)
        found = np.asarray(found)
        assert found.dtype == np.int64
    for row, c, (u, slots) in product(range(ROWS), range(VIEWS), enumerate(units)):
        expected = 0
        for slot in range(slots.start, slots.stop):
            expected += int(differences[row, c, slot]) * (1 if to_a[row, c, slot] else -1)
        assert found[row, c, u] == expected
    assert found[0, 0, 1] == np.abs(differences[0, 0, :4]).sum() > 2**31


# --- released numbers ----------------------------------------------------------------------------

rng = np.random.default_rng(7)
WORLD = World(
    tuple(map(tuple, rng.integers(0, 4, (3, 24)).tolist())), 3,
    ("task 0",) * 8 + ("task 1",) * 6 + ("task 2",) * 10, tuple(f"p{i}" for i in range(24)),
    categories=("c0",) * 8 + ("c1",) * 16,
    subtasks=tuple("xy"[i % 2] for i in range(24)),
    chances=(Fraction(1, 4),) * 24,
)  # fmt: skip
BY_ITEM = World(
    WORLD.successes, 3, WORLD.tasks, WORLD.prompts, categories=tuple("PQ"[i % 2] for i in range(24))
)
CASES = [
    # (world, interface, precision, rule, plain, linear)
    (WORLD, "task", None, "item_mean", True, True),
    (WORLD, "task", 1, "item_mean", False, False),
    (WORLD, "task", None, "chance_normalised", False, True),
    (WORLD, "category", None, "item_mean", False, True),
    (WORLD, "category", 2, "item_mean", False, False),
    (WORLD, "groups:2", None, "item_mean", False, True),
    (WORLD, "groups:2:1", 1, "equal_task", False, False),
    (WORLD, "aggregate", None, "item_mean", False, True),
    (WORLD, "aggregate", None, "equal_category", False, True),
    (WORLD, "aggregate", 1, "equal_task", False, False),
    (WORLD, "aggregate", 3, "chance_normalised", False, False),
    (BY_ITEM, "category", None, "item_mean", False, True),
    (BY_ITEM, "category", 1, "item_mean", False, False),
]


def splits() -> np.ndarray:
    """Three splits with a fixed number of reused items per task, other ones in every row."""
    reused = np.zeros((ROWS, 24), dtype=bool)
    draw = np.random.default_rng(2)
    for row, (first, size, count) in product(range(ROWS), [(0, 8, 4), (8, 6, 4), (14, 10, 5)]):
        reused[row, first + draw.permutation(size)[:count]] = True
    return reused


@pytest.mark.parametrize(("world", "word", "precision", "rule", "plain", "linear"), CASES)
def test_released_contrasts_are_the_oracles(world, word, precision, rule, plain, linear):
    benchmark, bench, interface = world.benchmark(), world.oracle(), Interface.parse(word)
    units = Units.of(
        benchmark, subtasks=rule == "chance_normalised",
        categories=needs_categories(benchmark, interface),
    )  # fmt: skip
    reused = splits()
    sizes = np.stack([units.sizes(row) for row in reused]) * 3
    found = release(
        benchmark, units, interface, counted=sizes,
        ticks=None if precision is None else 10**precision, rule=rule, group_seed="jaxbench",
    )  # fmt: skip
    assert (found.plain, found.linear) == (plain, linear)

    # By loops: counts and contrasts per unit, of endpoints 0 and 2 and of random routers.
    a, b = 0, 2
    signs = np.random.default_rng(5).choice([-1, 1], (CANDIDATES, 24))
    counts = np.zeros((ROWS, 2, units.count))
    contrasts = np.zeros((units.count, ROWS, CANDIDATES))
    for row, item in product(range(ROWS), range(24)):
        if not reused[row, item]:
            continue
        unit = units.of_item[item]
        score_a, score_b = world.successes[a][item], world.successes[b][item]
        counts[row, 0, unit] += score_a
        counts[row, 1, unit] += score_b
        for j in range(CANDIDATES):
            contrasts[unit, row, j] += int(signs[j, item]) * (score_a - score_b)

    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, found)
        endpoints = found.chain(counts).sum(axis=1)
        released = released_contrasts(
            on_device, [jnp.asarray(c, jnp.float32) for c in contrasts],
            jnp.asarray(counts.sum(axis=1)), jnp.asarray(endpoints),
        )  # fmt: skip
        assert len(released) == found.coordinates
        assert all(part.dtype == jnp.float32 for part in released)

    def row_of(j: int) -> list[Fraction]:
        return [bench.scores[a if g > 0 else b][i] for i, g in enumerate(signs[j])]

    denominators = np.broadcast_to(found.chain.denominators, (ROWS, found.coordinates))
    for row in range(ROWS):
        surface = OracleInterface(
            bench, reused[row].tolist(), interface=word, scoring=rule, precision=precision
        )
        ends = [surface.release(list(bench.scores[m])) for m in (a, b)]
        for c, members in enumerate(found.units):
            # The coordinate of the oracle that carries this one's items.
            item = int(np.flatnonzero(np.isin(units.of_item, members))[0])
            name = surface.of_item[item]
            for j in range(CANDIDATES):
                expected = 2 * surface.release(row_of(j))[name] - sum(end[name] for end in ends)
                contrast = Fraction(int(released[c][row, j]), int(denominators[row, c]))
                assert contrast == expected


@pytest.mark.parametrize("rule", ["item_mean", "equal_task", "equal_category", "chance_normalised"])
def test_scores_of_candidates_are_the_oracles(rule):
    benchmark, bench = WORLD.benchmark(), WORLD.oracle()
    units = Units.of(benchmark, subtasks=rule == "chance_normalised", categories=False)
    reused = splits()
    sizes = np.stack([units.sizes(row) for row in reused]) * 3
    overall = scoring.scoring_rule(benchmark, units, rule, sizes)
    signs = np.random.default_rng(6).choice([-1, 1], (CANDIDATES, 24))
    counts = benchmark.counts
    contrasts, sums = np.zeros((units.count, ROWS, CANDIDATES)), np.zeros((ROWS, units.count))
    for row, item in product(range(ROWS), np.arange(24)):
        if reused[row, item]:
            unit = units.of_item[item]
            sums[row, unit] += counts[1, item] + counts[2, item]
            contrasts[unit, row] += signs[:, item] * (counts[1, item] - counts[2, item])
    with jax.enable_x64(True):
        found = candidate_scores(
            jax.tree.map(jnp.asarray, overall),
            [jnp.asarray(c, jnp.float32) for c in contrasts], jnp.asarray(sums),
        )  # fmt: skip
    for row, j in product(range(ROWS), range(CANDIDATES)):
        chosen = [bench.scores[1 if g > 0 else 2][i] for i, g in enumerate(signs[j])]
        expected = oracle_overall(bench, chosen, reused[row].tolist(), rule)
        assert abs(float(found[row, j]) - float(expected)) < 1e-14


def test_one_contrast_serves_where_every_count_weighs_the_same():
    """`item_mean` may be given the total: what the kernel computes on the held-out side."""
    benchmark = WORLD.benchmark()
    units = Units.of(benchmark, subtasks=False, categories=False)
    sizes = np.array([[12, 12, 15]])
    overall = scoring.scoring_rule(benchmark, units, "item_mean", sizes)
    assert overall.total
    parts = np.random.default_rng(0).integers(-9, 10, (3, ROWS, CANDIDATES)).astype(float)
    sums = np.full((ROWS, 3), 11.0)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, overall)
        each = candidate_scores(on_device, [jnp.asarray(p) for p in parts], jnp.asarray(sums))
        total = candidate_scores(on_device, [jnp.asarray(parts.sum(axis=0))], jnp.asarray(sums))
        assert np.array_equal(each, total)
    expected = (parts.sum(axis=0) + 33) / 2 / 39
    np.testing.assert_allclose(each, expected, rtol=1e-15)
