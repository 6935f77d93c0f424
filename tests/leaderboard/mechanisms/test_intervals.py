"""Intervals in place of scores, against the formulas written out."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms import Submission
from jaxbench.leaderboard.mechanisms.base import no_noise
from jaxbench.leaderboard.mechanisms.intervals import (
    Interval,
    IntervalRank,
    mean_ends,
    mean_interval,
    wilson_table,
)
from oracle import boards

HUNDREDTH = Fraction(1, 100)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def f64(values):
    return jnp.asarray(values, dtype=jnp.float64)


def releases(mechanism, losses):
    losses = f64(losses)
    return mechanism.step((), Submission(losses), no_noise(losses))[1].released


@pytest.mark.parametrize(
    ("wrong", "items", "ends"), [(42, 100, (32, 52)), (0, 100, (0, 4)), (420, 1000, (38, 46))]
)
def test_intervals_of_the_spec(wrong, items, ends):
    low, high = wilson_table(items, HUNDREDTH)
    assert (low[wrong], high[wrong]) == ends


def test_interval_ranks_of_the_spec():
    for grid in (HUNDREDTH, None):
        low, high = wilson_table(100, grid)
        genuine = np.sort(high[[30, 38, 42, 55]])
        mechanism = IntervalRank(f64(low), f64(genuine), f64(1))
        found = releases(mechanism, [[30], [38], [42], [55]])
        assert found[:, 0].tolist() == [1, 1, 1, 2]


@settings(max_examples=60)
@given(items=st.integers(1, 60), grid=st.sampled_from(["1/100", "1/1000", "1/7", "3/10", "1"]))
def test_wilson_tables_are_the_oracles(items, grid):
    low, high = wilson_table(items, Fraction(grid))
    for wrong in range(items + 1):
        ends = boards.steps_outward(*boards.wilson(wrong, items), Fraction(grid))
        assert (low[wrong], high[wrong]) == ends
        # Rounded outward: the loss itself is inside.
        assert low[wrong] * Fraction(grid) <= Fraction(wrong, items) <= high[wrong] * Fraction(grid)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()


def test_a_share_and_its_complement_mirror_each_other():
    low, high = wilson_table(137, None)
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)


@settings(max_examples=60)
@given(counts=st.lists(st.integers(0, 20), min_size=1, max_size=12))
def test_mean_intervals_are_the_oracles(counts):
    losses = [Fraction(c, 20) for c in counts]
    low, high = mean_interval(np.array([[float(x) for x in losses]]), HUNDREDTH)
    expected = boards.mean_interval(losses)
    assert (low[0], high[0]) == boards.steps_outward(*expected, HUNDREDTH)
    if len(counts) > 1:
        sums = f64(sum(map(float, losses)))
        squares = f64(sum(float(x) ** 2 for x in losses))
        ends = mean_ends(sums, squares, len(counts), jnp)
        np.testing.assert_allclose([float(e) for e in ends], expected, atol=1e-7)


def test_one_item_says_nothing():
    assert [e.tolist() for e in mean_interval(np.array([[0.4]]), HUNDREDTH)] == [[0], [100]]


def test_an_interval_stands_for_its_midpoint_in_half_steps():
    """Rows of their own, ticks finer than items, blocks as single submissions."""
    tables = [np.sum(wilson_table(items, HUNDREDTH), axis=0)[:41] for items in (100, 40)]
    mechanism = Interval(f64(tables), f64(6))
    counts = np.arange(20).reshape(2, 10)
    block = releases(mechanism, 6.0 * counts[..., None])
    for row, items in enumerate((100, 40)):
        for wrong, found in zip(counts[row], block[row, :, 0], strict=True):
            low, high = boards.steps_outward(*boards.wilson(int(wrong), items), HUNDREDTH)
            assert float(found) == low + high
    for c in range(10):
        assert np.array_equal(releases(mechanism, 6.0 * counts[:, c, None]), block[:, c])
    assert mechanism.stateless


@settings(max_examples=30)
@given(
    genuine=st.lists(st.integers(0, 50), min_size=5, max_size=5),
    mine=st.lists(st.integers(0, 50), min_size=6, max_size=6),
)
def test_interval_ranks_are_the_oracles(genuine, mine):
    low, high = wilson_table(50, HUNDREDTH)
    with jax.enable_x64(True):
        mechanism = IntervalRank(f64(low), f64(np.sort(high[genuine])), f64(2))
        found = releases(mechanism, 2.0 * np.array(mine)[:, None])
    ends = [boards.steps_outward(*boards.wilson(w, 50), HUNDREDTH) for w in range(51)]
    expected = boards.interval_rank([ends[w] for w in genuine], [ends[w] for w in mine])
    assert found[:, 0].tolist() == expected


@pytest.mark.parametrize("grid", [Fraction(0), Fraction(-1, 10), Fraction(3, 2)])
def test_a_grid_out_of_range_is_refused(grid):
    with pytest.raises(BadRequest, match="expected a fraction of the score above 0 and at most 1"):
        wilson_table(10, grid)
