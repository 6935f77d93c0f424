"""Quantiles against numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import quantile

METHODS = ["linear", "lower", "higher", "inverted_cdf"]
AT = np.array([0, 0.025, 0.1, 0.3, 0.5, 0.7, 0.975, 1])


def ours(values, at, weights=None, method="linear"):
    with jax.enable_x64(True):
        weights = None if weights is None else jnp.asarray(weights)
        return np.asarray(
            stats.quantiles(jnp.asarray(values), jnp.asarray(at), weights, method=method)
        )


def compare(found, expected, method):
    if method == "linear":
        # One rounding: a device may add and multiply in one step.
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)
    else:
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("method", METHODS)
def test_numpys_with_missing_values(method):
    numbers = st.floats(-9, 9, width=16) | st.sampled_from([np.nan, 0.0, -0.0])

    @settings(max_examples=40)
    @given(hnp.arrays(np.float64, (3, 10), elements=numbers))
    def check(values):
        found = ours(values, AT, method=method)
        for row, kept in zip(found, (v[~np.isnan(v)] for v in values), strict=True):
            expected = np.quantile(kept, AT, method=method) if len(kept) else np.full(8, np.nan)
            compare(row, expected, method)

    check()


@pytest.mark.parametrize("method", METHODS)
def test_every_fraction_falls_where_numpys_does(method):
    """Products such as 0.1 x 10, which a fused multiplication would put past a whole number."""
    at = np.concatenate([np.arange(1001) / 1000, 1 - np.arange(100) / 700])
    for length in (10, 64):
        values = np.arange(float(length))
        found = ours(values, at, method=method)
        expected = np.quantile(values, at, method=method)
        if method == "linear":
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
        else:
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_multiplicities_stand_for_copies(method):
    @settings(max_examples=40)
    @given(
        hnp.arrays(np.float64, 10, elements=st.integers(-4, 4) | st.just(np.nan)),
        hnp.arrays(np.float64, 10, elements=st.integers(0, 3)),
    )
    def check(values, weights):
        found = ours(values, AT, weights, method)
        copies = np.repeat(values, weights.astype(int))
        copies = copies[~np.isnan(copies)]
        expected = np.quantile(copies, AT, method=method) if len(copies) else np.full(8, np.nan)
        compare(found, expected, method)

    check()


@settings(max_examples=40)
@given(
    hnp.arrays(np.float64, 10, elements=st.integers(-4, 4)),
    hnp.arrays(np.float64, 10, elements=st.floats(0, 2, width=16)),
)
def test_real_weights_are_numpys(values, weights):
    found = ours(values, AT, weights, "inverted_cdf")
    if weights.sum() == 0:
        assert np.isnan(found).all()
    else:
        # Numpy 2.1 finds a value of weight 0 at 0.
        assert found[0] == values[weights > 0].min()
        expected = np.quantile(values, AT[1:], weights=weights, method="inverted_cdf")
        assert np.array_equal(found[1:], expected)


def test_fractions_of_a_total_are_rounded_as_numpys():
    """49 x (1 / 49) is less than 1; 49 / 49 is not."""
    for length in (22, 49):
        values, weights = np.arange(float(length)), np.ones(length)
        at = (values + 1) / length
        expected = np.quantile(values, at, weights=weights, method="inverted_cdf")
        assert np.array_equal(ours(values, at, weights, "inverted_cdf"), expected)


def test_infinities_keep_their_place():
    values = np.array([np.inf, 1.0, -np.inf, 2.0, np.nan, np.inf])
    for method in METHODS[1:]:
        expected = np.quantile(values[~np.isnan(values)], AT, method=method)
        assert np.array_equal(ours(values, AT, method=method), expected)
    # Where the position is whole there is nothing to interpolate.
    assert ours(values, np.array([0, 0.25, 0.5, 0.75, 1])).tolist() == [
        -np.inf, 1.0, 2.0, np.inf, np.inf,
    ]  # fmt: skip
    assert ours(values, np.array([0.9])) == [np.inf]
    # 0.1 x 10 is whole once rounded.
    assert ours(np.array([0.0, 1.0] + [np.inf] * 9), np.array([0.1])) == [1.0]


@pytest.mark.parametrize("method", ["linear", "inverted_cdf"])
def test_nothing_to_take_a_quantile_of(method):
    assert ours(np.zeros((2, 0)), AT, method=method).shape == (2, 8)
    assert np.isnan(ours(np.zeros((2, 0)), AT, method=method)).all()
    assert np.isnan(ours(np.full(4, np.nan), AT, method=method)).all()
    assert np.isnan(ours(np.arange(4.0), np.array([-0.1, 1.1, np.nan]), method=method)).all()
    assert ours(np.array([5.0]), AT, method=method).tolist() == [5.0] * 8
    for weight in (-1.0, np.nan):
        weights = np.array([1.0, 1.0, weight])
        assert np.isnan(ours(np.arange(3.0), AT, weights, method)).all()


def test_each_row_its_own_fractions():
    values = np.random.default_rng(0).random((2, 3, 9))
    at = np.random.default_rng(1).random((2, 3, 2))
    found = ours(values, at)
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(found[place], np.quantile(values[place], at[place]), rtol=1e-14)


def test_float32_stays():
    values = np.random.default_rng(0).normal(size=50).astype(np.float32)
    found = stats.quantiles(jnp.asarray(values), jnp.asarray([0.25, 0.5], dtype=jnp.float32))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, np.quantile(values, [0.25, 0.5]), rtol=1e-6)


def test_a_median_of_every_resample_inside_a_kernel():
    values = np.random.default_rng(0).random(12)
    counts = stats.resampled_statistic(lambda c, _: c, None, 12, resamples=100, seed=1)
    found = stats.resampled_statistic(weighted_median, values, 12, resamples=100, seed=1)
    expected = [np.median(np.repeat(values, c.astype(int))) for c in counts]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def weighted_median(counts, values):
    return stats.quantiles(values, jnp.array([0.5]), counts)[0]


def test_sorted_numbers():
    values = np.array([[3.0, -0.0, np.nan, -np.inf, -2.0, -np.nan, 0.0, np.inf, 5e-324, -5e-324]])
    with jax.enable_x64(True):
        found = np.asarray(quantile.sort_numbers(jnp.asarray(values)))
    assert np.array_equal(found, np.sort(values), equal_nan=True)


def test_an_unknown_method():
    with pytest.raises(BadRequest, match="did you mean higher"):
        ours(np.arange(3.0), AT, method="highest")


def test_one_program_per_shape():
    ours(np.zeros((5, 9)), AT)
    before = stats.quantiles._cache_size()
    ours(np.ones((5, 9)), AT[::-1].copy())
    assert stats.quantiles._cache_size() == before
