"""Ranks and rank correlations against scipy and loops over pairs."""

import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as scipy_stats

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import rank

# One length compares all pairs, the other sorts.
SHAPES = [(3, 7), (2, 40)]
NUMBERS = st.sampled_from([-np.inf, -2.5, -1.0, -0.0, 0.0, 1e-300, 1.0, 3.0, np.inf])


def in_x64(function, *arrays):
    with jax.enable_x64(True):
        return np.asarray(function(*map(jnp.asarray, arrays)))


def scipys(function, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(x, y).statistic


def tau_b(x, y):
    """Kendall 1945, pair by pair. Scipy's cannot tell infinities."""
    both = in_x = in_y = 0
    for i, j in itertools.combinations(range(len(x)), 2):
        a, b = (int(side[i] > side[j]) - int(side[i] < side[j]) for side in (x, y))
        both, in_x, in_y = both + a * b, in_x + a * a, in_y + b * b
    return both / np.sqrt(in_x * in_y) if in_x and in_y else np.nan


@pytest.mark.parametrize("shape", SHAPES)
def test_midranks_are_scipys(shape):
    @settings(max_examples=40)
    @given(hnp.arrays(np.float64, shape, elements=NUMBERS | st.just(np.nan)))
    def check(values):
        expected = scipy_stats.rankdata(values, axis=-1, nan_policy="omit")
        assert np.array_equal(in_x64(stats.midranks, values), expected, equal_nan=True)

    check()


@pytest.mark.parametrize("shape", SHAPES)
def test_correlations_with_ties(shape):
    values = hnp.arrays(np.float64, shape, elements=NUMBERS)

    @settings(max_examples=40)
    @given(values, values)
    def check(x, y):
        rho, tau = in_x64(stats.spearman, x, y), in_x64(stats.kendall, x, y)
        for row in range(shape[0]):
            # Ranks, since scipy subtracts values.
            ranks = [scipy_stats.rankdata(side[row]) for side in (x, y)]
            expected = scipys(scipy_stats.spearmanr, *ranks)
            assert rho[row] == pytest.approx(expected, abs=1e-12, nan_ok=True)
            expected = scipys(scipy_stats.kendalltau, *ranks)
            assert tau[row] == pytest.approx(expected, abs=1e-12, nan_ok=True)
            assert tau[row] == pytest.approx(tau_b(x[row], y[row]), abs=1e-12, nan_ok=True)

    check()


@pytest.mark.parametrize("shape", SHAPES)
def test_masked_pairs_are_left_out(shape):
    values = hnp.arrays(np.float64, shape, elements=st.integers(0, 3))

    @settings(max_examples=40)
    @given(values, values, hnp.arrays(np.bool_, shape))
    def check(x, y, valid):
        x, y = (np.where(valid, side, np.nan) for side in (x, y))
        for ours, theirs in [
            (stats.spearman, scipy_stats.spearmanr),
            (stats.kendall, scipy_stats.kendalltau),
        ]:
            found = in_x64(ours, x, y, valid)
            for row, kept in enumerate(valid):
                expected = np.nan
                if kept.sum() > 1:
                    expected = scipys(theirs, x[row, kept], y[row, kept])
                assert found[row] == pytest.approx(expected, abs=1e-12, nan_ok=True)

    check()


@pytest.mark.parametrize("function", [stats.spearman, stats.kendall])
@pytest.mark.parametrize("length", [0, 1, 2, 40])
def test_edges(function, length):
    rising = np.arange(float(length))
    if length < 2:
        assert np.isnan(in_x64(function, rising, rising))
        return
    # Exactly 1 and -1, not a neighbour of them.
    assert in_x64(function, rising, rising**3) == 1.0
    assert in_x64(function, rising, -rising) == -1.0
    assert np.isnan(in_x64(function, rising, np.ones(length)))
    assert np.isnan(in_x64(function, np.ones(length), np.ones(length)))
    broken = rising.copy()
    broken[-1] = np.nan
    assert np.isnan(in_x64(function, broken, rising))
    assert np.isnan(in_x64(function, rising, broken))


@pytest.mark.parametrize("length", [0, 1, 5, 40])
def test_ranks_at_the_edges(length):
    assert in_x64(stats.midranks, np.ones(length)).tolist() == [(length + 1) / 2] * length
    assert np.isnan(in_x64(stats.midranks, np.full(length, np.nan))).all()
    assert in_x64(stats.midranks, np.arange(float(length))).tolist() == list(range(1, length + 1))


def test_spearman_of_the_specification():
    """Test G of the drift specification."""
    x = np.array([0.30, 0.10, 0.20, 0.40])
    assert in_x64(stats.spearman, x, np.array([0.25, 0.05, 0.30, 0.35])) == pytest.approx(0.8)
    found = in_x64(stats.spearman, x, np.array([0.1, 0.1, 0.2, 0.4]))
    assert found == pytest.approx(0.632456, abs=5e-7)


def test_leading_axes_and_other_transformations():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (2, 4, 3, 6)).astype(float)
    for function in (stats.spearman, stats.kendall):
        whole = in_x64(function, x, y)
        assert whole.shape == (4, 3)
        assert np.array_equal(whole, in_x64(jax.vmap(jax.vmap(function)), x, y), equal_nan=True)
        assert np.array_equal(whole[1, 2], in_x64(function, x[1, 2], y[1, 2]), equal_nan=True)
    # All pairs of models in one call.
    a, b = np.broadcast_arrays(x[:, :, None], x[:, None, :])
    assert in_x64(stats.spearman, a, b).shape == (4, 3, 3)


def test_float32_ranks_are_exact():
    length = 40
    values = np.random.default_rng(1).integers(0, 9, length).astype(np.float32)
    found = stats.midranks(jnp.asarray(values))
    assert found.dtype == jnp.float32
    assert np.array_equal(found, scipy_stats.rankdata(values))
    other = np.random.default_rng(2).random(length).astype(np.float32)
    for ours, theirs in [
        (stats.spearman, scipy_stats.spearmanr),
        (stats.kendall, scipy_stats.kendalltau),
    ]:
        found = ours(jnp.asarray(values), jnp.asarray(other))
        assert found.dtype == jnp.float32
        assert float(found) == pytest.approx(theirs(values, other).statistic, abs=1e-6)


def test_kendall_refuses_what_it_cannot_count():
    zeros = jnp.zeros(rank.MOST_IN_KENDALL + 1, dtype=jnp.float32)
    with pytest.raises(BadRequest, match="at most 46340"):
        stats.kendall(zeros, zeros)


def test_long_rows():
    x, y = np.random.default_rng(3).integers(0, 400, (2, 3000)).astype(float)
    expected = scipy_stats.spearmanr(x, y).statistic
    assert in_x64(stats.spearman, x, y) == pytest.approx(expected, abs=1e-12)
    expected = scipy_stats.kendalltau(x, y).statistic
    assert in_x64(stats.kendall, x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("function", [stats.midranks, stats.spearman, stats.kendall])
def test_one_program_per_shape(function):
    sides = 1 if function is stats.midranks else 2
    in_x64(function, *np.zeros((sides, 5, 9)))
    before = function._cache_size()
    in_x64(function, *np.random.default_rng(0).random((sides, 5, 9)))
    assert function._cache_size() == before
