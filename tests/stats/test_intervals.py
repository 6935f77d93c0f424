"""Intervals against scipy, the drift specification and plain loops."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import intervals


def test_wilson_of_the_specification():
    """Test C of the drift specification, and the intervals of its section 4."""
    successes = np.array([0, 10, 4, 749, 21, 284])
    trials = np.array([10, 10, 5, 1250, 26, 474])
    share, low, high = stats.wilson_interval(successes, trials)
    np.testing.assert_allclose(share, successes / trials)
    expected = [0, 0.722467, 0.375535, 0.571769, 0.621, 0.554]
    np.testing.assert_allclose(low, expected, atol=5e-4)
    np.testing.assert_allclose(low[:4], expected[:4], atol=5e-7)
    expected = [0.277533, 1, 0.963776, 0.626023, 0.915, 0.642]
    np.testing.assert_allclose(high, expected, atol=5e-4)
    np.testing.assert_allclose(high[:4], expected[:4], atol=5e-7)
    assert (low[0], high[1]) == (0.0, 1.0)


@given(st.integers(1, 2000), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_wilson_is_scipys(trials, part, level):
    successes = round(part * trials)
    share, low, high = stats.wilson_interval(np.array(successes), np.array(trials), level)
    expected = scipy_stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    assert float(low) == pytest.approx(expected.low, abs=1e-12)
    assert float(high) == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= low <= share <= high <= 1


def test_wilson_without_a_trial():
    share, low, high = stats.wilson_interval(np.array([0, 1]), np.array([0, 1]))
    assert np.isnan(share[0])
    assert (low[0], high[0]) == (0.0, 1.0)
    assert (share[1], high[1]) == (1.0, 1.0)
    assert low[1] == pytest.approx(1 / (1 + 1.959964**2), abs=1e-7)


@pytest.mark.parametrize(("successes", "trials"), [(3, 2), (-1, 2)])
def test_wilson_refuses(successes, trials):
    with pytest.raises(BadRequest, match="0 <= successes <= trials"):
        stats.wilson_interval(np.array([successes]), np.array([trials]))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, 1 - 1e-13])
def test_levels_are_fractions(level):
    with pytest.raises(BadRequest, match=r"expected a fraction between 0 and 1, such as 0\.95"):
        stats.wilson_interval(np.array([1]), np.array([2]), level)


def test_role_swap_of_the_specification():
    """Test I of the drift specification: paired differences with a t interval."""
    a, b = np.array([[1, 1, 0, 1, 0, 1, 1, 0], [1, 0, 0, 1, 0, 1, 0, 0]], dtype=float)
    difference = (a - b)[:, None]
    low, high = stats.mean_interval(difference, np.ones((8, 1), dtype=bool))
    assert low == pytest.approx(-0.137002, abs=5e-7)
    assert high == pytest.approx(0.637002, abs=5e-7)
    # TOST at a margin of 5 pp: the larger of the two one-sided chances.
    error = difference.std(ddof=1) / np.sqrt(8)
    t = np.array([difference.mean() + 0.05, 0.05 - difference.mean()]) / error
    assert stats.t_upper_tail(t, np.full(2, 7.0)).max() == pytest.approx(0.869375, abs=5e-7)


def test_mean_interval():
    rng = np.random.default_rng(0)
    values, valid = rng.normal(size=(30, 4)), rng.random((30, 4)) < 0.7
    valid[:, 2], valid[:, 3] = False, np.arange(30) == 4
    low, high = stats.mean_interval(np.where(valid, values, np.nan), valid, 0.9)
    for column in (0, 1):
        counted = values[valid[:, column], column]
        expected = scipy_stats.ttest_1samp(counted, 0).confidence_interval(0.9)
        assert low[column] == pytest.approx(expected.low, rel=1e-10)
        assert high[column] == pytest.approx(expected.high, rel=1e-10)
    assert np.isnan([low[2], high[2], low[3], high[3]]).all()


def test_basic_interval_turns_the_percentiles_round():
    resampled = np.stack([np.arange(101.0), np.full(101, np.nan)], axis=1)
    low, high = stats.basic_interval(np.array([40.0, 1.0]), resampled)
    assert (low[0], high[0]) == (80 - 97.5, 80 - 2.5)
    assert np.isnan([low[1], high[1]]).all()


def skewed(seed=0, units=32, resamples=1500):
    """Resampled means of skewed columns, drawn by numpy, in eighths so that ties are exact."""
    rng = np.random.default_rng(seed)
    data = np.round(8 * rng.exponential(size=(units, 4))) / 8
    drawn = rng.integers(0, units, (resamples, units))
    return data, data[drawn].mean(axis=1)


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_bca_is_scipys(level):
    data, resampled = skewed()
    jackknife = np.array([np.delete(data, unit, axis=0).mean(axis=0) for unit in range(len(data))])
    low, high = stats.bca_interval(data.mean(axis=0), resampled, jackknife, level)
    for column in range(4):
        given_draws = scipy_stats.bootstrap(
            (data[:, column],), np.mean, n_resamples=9, vectorized=True, method="basic"
        )
        given_draws.bootstrap_distribution = resampled[:, column]
        expected = scipy_stats.bootstrap(
            (data[:, column],), np.mean, n_resamples=0, vectorized=True, method="BCa",
            confidence_level=level, bootstrap_result=given_draws,
        ).confidence_interval  # fmt: skip
        assert low[column] == pytest.approx(expected.low, rel=1e-9)
        assert high[column] == pytest.approx(expected.high, rel=1e-9)


def test_bca_leaves_out_what_is_undefined():
    data, resampled = skewed()
    estimate = data.mean(axis=0)
    jackknife = np.array([np.delete(data, unit, axis=0).mean(axis=0) for unit in range(len(data))])
    expected = stats.bca_interval(estimate, resampled, jackknife)
    holes = np.full((30, 4), np.nan)
    found = stats.bca_interval(
        estimate, np.concatenate([holes, resampled]), np.concatenate([jackknife, holes])
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_bca_where_there_is_nothing_to_correct():
    # Constant; all resamples above the estimate; empty; half of them ties and no acceleration.
    rng = np.random.default_rng(3)
    resampled = np.stack(
        [np.full(200, 0.1), 1 + rng.random(200), np.full(200, np.nan), np.arange(200.0)], axis=1
    )
    estimate = np.array([0.1, 0.0, 0.0, 99.5])
    # Rounding alone moves the estimate, and that to one side only.
    jackknife = np.tile(estimate, (6, 1)) * (1 + 2.3e-16 * (np.arange(6) == 2)[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = stats.bca_interval(estimate, resampled, jackknife)
    assert (low[0], high[0]) == (0.1, 0.1)
    assert np.isnan([low[1], high[1], low[2], high[2]]).all()
    percentile = stats.percentile_interval(resampled)
    assert low[3] == pytest.approx(percentile[0][3], abs=1e-9)
    assert high[3] == pytest.approx(percentile[1][3], abs=1e-9)


def test_ties_with_the_estimate_are_ties_but_for_rounding():
    rng = np.random.default_rng(5)
    # Half of the resamples repeat the estimate, more lie above it than below.
    whole = np.where(rng.random((1500, 4)) < 0.5, 5.0, rng.normal(5.5, 2, (1500, 4)))
    estimate, jackknife = np.full(4, 5.0), rng.integers(3, 8, (9, 4)).astype(float)
    low, high = stats.bca_interval(estimate, whole, jackknife)
    tenths = whole * 0.1 * (1 + 2.3e-16 * rng.integers(0, 4, whole.shape))
    found = stats.bca_interval(estimate * 0.1, tenths, jackknife * 0.1)
    np.testing.assert_allclose(found[0], 0.1 * low, rtol=1e-9)
    np.testing.assert_allclose(found[1], 0.1 * high, rtol=1e-9)


def test_one_program_per_bucket():
    def run(columns, resamples, level):
        draws = np.random.default_rng(0).random((resamples, columns))
        stats.bca_interval(np.full(columns, 0.5), draws, draws[:9], level)

    run(20, 120, 0.95)
    before = intervals._bca_ends._cache_size()
    run(18, 114, 0.9)
    run(24, 117, 0.5)
    assert intervals._bca_ends._cache_size() == before
