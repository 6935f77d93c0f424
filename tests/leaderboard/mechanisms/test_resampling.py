"""Scores on resampled items: the tables against fractions, the laws against their moments."""

from fractions import Fraction
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.build import Ticks, build
from jaxbench.leaderboard.mechanisms.resampling_tables import counts_law
from oracle import mechanisms as oracle
from releasing import chain_of, given, play

LAST = 0.5 - 2.0**-53


def released(chain, ticks, wrong, uniforms):
    """Shares of wrong items that are released: `wrong` and draws are (submissions, numbers)."""
    wrong, uniforms = np.atleast_2d(wrong), np.atleast_2d(uniforms)
    per_item = ticks.per_score // ticks.items
    with jax.enable_x64(True):
        rows = jnp.asarray(uniforms[:, None, :, None])
        noise = chain.noise(jnp.concatenate([rows[:1], rows]))
        split = jax.tree.map(lambda x: x[0], noise), jax.tree.map(lambda x: x[1:], noise)
    found = play(chain, (wrong * per_item)[:, None], noise=split).released[:, 0]
    return found, ticks.per_score[0]


@pytest.mark.parametrize("items", [1, 2, 5, 12, 13])
def test_tables_of_counts_are_hypergeometric(items):
    for scored in range(1, items + 1):
        low, cdf = counts_law(items, scored)
        for wrong in range(items // 2 + 1):
            chances = oracle.hypergeometric(items, wrong, scored)
            below = np.cumsum([float(c) for c in chances])
            first = low[wrong]
            assert first == 0 or below[first - 1] < 1e-12
            here = below[first : first + cdf.shape[1]]
            np.testing.assert_allclose(cdf[wrong, : len(here)], here, atol=1e-13)
            assert (cdf[wrong, len(here) - 1 :] == 1).all()


def test_what_a_table_leaves_out_is_nothing():
    items, scored = 3000, 750
    low, cdf = counts_law(items, scored)
    # Only as wide as needed.
    assert cdf.shape[1] < 260
    for wrong in (0, 3, 40, 750, 1499):
        ways = comb(items, scored)
        chance = 0
        for c in range(min(wrong, scored) + 1):
            chance += comb(wrong, c) * comb(items - wrong, scored - c)
            place = c - low[wrong]
            mine = 0.0 if place < 0 else cdf[wrong, min(place, cdf.shape[1] - 1)]
            assert abs(mine - chance / ways) < 1e-11


@settings(max_examples=40)
@examples(
    case=st.sampled_from([(12, 5), (12, 12), (13, 1), (30, 7)]),
    wrong=st.lists(st.integers(0, 30), min_size=8, max_size=8),
    draws=st.lists(st.floats(-0.499, 0.499), min_size=8, max_size=8),
)
def test_a_score_on_a_subsample_inverts_the_law_at_its_draw(case, wrong, draws):
    items, scored = case
    chain, ticks = chain_of(given("subsample", items=scored), denominators=(items,))
    wrong = [w % (items + 1) for w in wrong]
    found, per_score = released(chain, ticks, np.array(wrong)[:, None], np.array(draws)[:, None])
    for w, u, release in zip(wrong, draws, found[:, 0], strict=True):
        count = Fraction(int(release), int(per_score[0])) * scored
        assert count.denominator == 1
        if 2 * w <= items:
            expected = oracle.counted_wrong(items, w, scored, Fraction(0.5 + u))
        else:
            # Rare right items are counted in place of frequent wrong ones.
            right = oracle.counted_wrong(items, items - w, scored, Fraction(0.5 - u))
            expected = scored - right
        below = sum(oracle.hypergeometric(items, w, scored)[: expected + 1])
        # A draw within rounding of a step of the cdf may fall on either side of it.
        near = min(abs(float(below) - 0.5 - u), abs(float(below) - 0.5 + u)) < 1e-12
        assert near or count == expected


def test_all_items_are_no_sample():
    chain, ticks = chain_of(given("subsample", items=9), denominators=(9,))
    draws = np.array([-LAST, -0.2, 0.0, 0.3, LAST])[:, None]
    for wrong in range(10):
        found, per_score = released(chain, ticks, np.full((5, 1), wrong), draws)
        assert (found == wrong * per_score / 9).all()


def test_mean_and_variance_of_subsamples():
    """E = r and Var = r (1 - r) (n - m) / (m (n - 1)), over an even grid of draws."""
    items, scored, levels = 40, 10, 4096
    chain, ticks = chain_of(given("subsample", items=scored), denominators=(items,))
    grid = ((np.arange(levels) + 0.5) / levels - 0.5)[:, None]
    for wrong in (3, 20, 31):
        found, per_score = released(chain, ticks, np.full((levels, 1), wrong), grid)
        shares, r = found / per_score, wrong / items
        # Every step of the cdf is off by half a level at most.
        assert shares.mean() == pytest.approx(r, abs=1 / levels)
        variance = r * (1 - r) * (items - scored) / (scored * (items - 1))
        assert shares.var() == pytest.approx(variance, abs=2 / levels)


def test_a_number_is_scored_on_its_share_of_the_sample():
    chain, ticks = chain_of(given("subsample", items=10), denominators=(6, 30, 4))
    # 10/40 of each, halves to even; one at least.
    assert ticks.scored(10).tolist() == [[2, 8, 1]]
    assert chain.parts[0].scored.tolist() == [[2, 8, 1]]
    rng = np.random.default_rng(0)
    wrong = rng.integers(0, [7, 31, 5], (50, 3))
    found, per_score = released(chain, ticks, wrong, rng.random((50, 3)) - 0.5)
    counts = found / per_score * [2, 8, 1]
    assert np.array_equal(counts, np.rint(counts))
    assert (counts <= [2, 8, 1]).all()
    assert len(np.unique(counts[:, 1])) > 4


def test_more_items_than_there_are_is_refused():
    with pytest.raises(BadRequest, match="items=41; expected at most the reused items, 40 here"):
        chain_of(given("subsample", items=41), denominators=(6, 30, 4))


@pytest.mark.parametrize("name", ["subsample", "bootstrap"])
def test_numbers_that_are_no_means_of_items_are_refused(name):
    chosen = given(name, items=3) if name == "subsample" else given(name)
    sizes = np.array([[1000]]), np.array([[12]])
    for plain in (True, False):
        per_score = sizes[0] if plain else 12 * sizes[0]
        ticks = Ticks(per_score, sizes[1], (Fraction(1),), plain=plain)
        with pytest.raises(BadRequest, match=f"mechanism={name}: it needs numbers that are plain"):
            build([chosen], ticks, on="overall", clip=False, capacity=3)


@pytest.mark.parametrize("items", [2, 3, 7, 30])
def test_random_weights_follow_their_beta_law(items):
    """The cdf, by binomial sums of fractions, at a release is the draw that it was made of."""
    chain, ticks = chain_of(given("bootstrap"), denominators=(items,))
    draws = np.array([-0.49, -0.31, -0.05, 0.0, 0.11, 0.4, 0.49])[:, None]
    for wrong in range(items + 1):
        found, per_score = released(chain, ticks, np.full((7, 1), wrong), draws)
        losses = found[:, 0] / per_score[0]
        if wrong in (0, items):
            assert (losses == wrong / items).all()
            continue
        # A release is a whole tick.
        for u, loss in zip(draws[:, 0], losses, strict=True):
            level, half = 0.5 + u, Fraction(1, 2 * int(per_score[0]))
            middle = Fraction(round(loss * int(per_score[0])), int(per_score[0]))
            low, high = (
                float(oracle.weighted_below(items, wrong, min(max(middle + e, 0), 1)))
                for e in (-half, half)
            )
            assert low - 1e-6 <= level <= high + 1e-6


@pytest.mark.parametrize(("items", "wrong"), [(2, 1), (10, 1), (10, 5), (10, 8), (300, 120)])
def test_the_variance_of_random_weights(items, wrong):
    """Var = r (1 - r) / (n + 1), over an even grid of draws."""
    levels = 4096
    chain, ticks = chain_of(given("bootstrap"), denominators=(items,))
    grid = ((np.arange(levels) + 0.5) / levels - 0.5)[:, None]
    found, per_score = released(chain, ticks, np.full((levels, 1), wrong), grid)
    shares, r = found / per_score, wrong / items
    assert shares.mean() == pytest.approx(r, abs=1e-5)
    # The ends of the grid cut both tails off.
    assert shares.var() == pytest.approx(r * (1 - r) / (items + 1), rel=2e-3)
    # A higher draw never gives a lower loss.
    rising = np.diff(shares[:, 0])
    assert (rising >= 0).all()


@pytest.mark.parametrize("name", ["subsample", "bootstrap"])
def test_right_and_wrong_items_are_mirrored(name):
    chosen = given(name, items=9) if name == "subsample" else given(name)
    chain, ticks = chain_of(chosen, denominators=(24,))
    draws = np.array([-LAST, -0.37, -0.1, 0.21, 0.44, LAST])[:, None]
    for wrong in range(12):
        one, per_score = released(chain, ticks, np.full((6, 1), wrong), draws)
        other, _ = released(chain, ticks, np.full((6, 1), 24 - wrong), -draws)
        np.testing.assert_allclose(one, per_score - other, atol=1)


def test_equal_laws_are_made_once():
    many, _ = chain_of(given("bootstrap"), denominators=(10, 20, 10, 10))
    few, _ = chain_of(given("bootstrap"), denominators=(10, 20))
    assert many.parts[0].quantiles.shape == few.parts[0].quantiles.shape
    assert many.parts[0].row.tolist() == [[0, 6, 0, 0]]
