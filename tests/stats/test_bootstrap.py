"""The bootstrap against plain loops."""

import numpy as np
import pytest

from jaxbench import stats
from jaxbench.stats import bootstrap


def example(trials=40, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(trials, columns))
    valid = rng.random((trials, columns)) < 0.8
    return np.where(valid, values, np.nan), valid


def test_resamples_are_nanmeans_of_the_published_indices():
    values, valid = example()
    found = stats.resampled_means(values, valid, resamples=500, seed=2026081900)
    drawn = np.random.default_rng(2026081900).integers(0, 40, (500, 40))
    expected = np.array([np.nanmean(values[rows], axis=0) for rows in drawn])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_draw_does_not_depend_on_how_much_is_held_at_once(monkeypatch):
    values, valid = example(trials=250)
    whole = stats.resampled_means(values, valid, resamples=300, seed=1)
    monkeypatch.setattr(bootstrap, "_INDICES", 7 * 250)
    parts = stats.resampled_means(values, valid, resamples=300, seed=1)
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-14)


def test_an_empty_resample_has_no_mean_and_an_empty_column_no_interval():
    values = np.array([[1.0, np.nan], [np.nan, np.nan]])
    found = stats.resampled_means(values, ~np.isnan(values), resamples=200, seed=0)
    drawn = np.random.default_rng(0).integers(0, 2, (200, 2))
    assert np.array_equal(np.isnan(found[:, 0]), (drawn == 1).all(axis=1))
    assert np.isnan(found[:, 1]).all()
    low, high = stats.percentile_interval(found)
    assert (low[0], high[0]) == (1.0, 1.0)
    assert np.isnan([low[1], high[1]]).all()
    assert np.isnan(stats.means(values, ~np.isnan(values))[1])


def test_percentile_interval():
    resampled = np.arange(101.0)[:, None]
    low, high = stats.percentile_interval(resampled)
    assert (low[0], high[0]) == (2.5, 97.5)


def test_basic_lower_bound_rounds_its_quantile_up():
    resampled = np.arange(10.0)[:, None]
    # The 0.85 quantile lies at position 7.65: rounded up, 8. Mean 5: bound 2 * 5 - 8.
    assert stats.basic_lower_bound(np.array([5.0]), resampled, 0.15)[0] == 2.0


def test_many_trials_are_resampled_in_blocks():
    values, valid = example(trials=10_003, seed=4)
    found = stats.resampled_means(values, valid, resamples=50, seed=5)
    edges = np.linspace(0, 10_003, 1000, endpoint=False).astype(int)
    blocks = np.split(np.arange(10_003), edges[1:])
    drawn = np.random.default_rng(5).integers(0, 1000, (50, 1000))
    expected = np.array(
        [np.nanmean(values[np.concatenate([blocks[b] for b in rows])], axis=0) for rows in drawn]
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    # Blocks of independent trials have the standard error of the trials.
    spread = stats.resampled_means(values, valid, resamples=2000, seed=6).std(axis=0)
    theory = np.nanstd(values, axis=0) / np.sqrt(valid.sum(axis=0))
    assert spread == pytest.approx(theory, rel=0.12)
