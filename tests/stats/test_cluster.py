"""The bootstrap of whole clusters against loops over resamples."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import bootstrap, cluster, draws


def identity(counts, data):
    return counts


def counts_of(units, **options):
    """The multiplicities that `tests/stats/test_draws.py` holds against threefry."""
    return stats.resampled_statistic(identity, None, units, **options).astype(int)


def example(rows=60, clusters=13, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, columns))
    valid = rng.random((rows, columns)) < 0.8
    # Cluster 12 is empty and the others are of very different sizes.
    which = np.minimum(rng.geometric(0.3, rows) - 1, clusters - 2)
    return np.where(valid, values, np.nan), valid, which


def looped_means(values, valid, clusters, counts):
    """Write every resample out, row by row."""
    with np.errstate(invalid="ignore"):
        found = []
        for drawn in counts:
            rows = np.repeat(np.arange(len(values)), drawn[clusters])
            counted = valid[rows]
            found.append(np.where(counted, values[rows], 0).sum(axis=0) / counted.sum(axis=0))
    return np.array(found)


def test_means_of_whole_clusters():
    values, valid, clusters = example()
    found = stats.resampled_cluster_means(values, valid, clusters, 13, resamples=100, seed=5)
    expected = looped_means(values, valid, clusters, counts_of(13, resamples=100, seed=5))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@settings(max_examples=50)
@given(
    clusters=hnp.arrays(np.int64, 20, elements=st.integers(0, 6)),
    values=hnp.arrays(np.float64, (20, 2), elements=st.integers(-3, 3)),
    valid=hnp.arrays(np.bool_, (20, 2)),
    seed=st.integers(0, 2**64 - 1),
)
def test_means_of_any_clusters(clusters, values, valid, seed):
    """Whole numbers, empty clusters, columns without a value, resamples without one."""
    found = stats.resampled_cluster_means(values, valid, clusters, 7, resamples=16, seed=seed)
    expected = looped_means(values, valid, clusters, counts_of(7, resamples=16, seed=seed))
    assert np.array_equal(found, expected, equal_nan=True)


def test_a_sum_of_whole_numbers_is_exact_and_columns_are_paired():
    values = np.random.default_rng(0).integers(0, 5, (15, 4)).astype(float)
    values[:, 3] = values[:, 0] - values[:, 1]
    found = stats.resampled_sums(values, resamples=100, seed=1)
    assert np.array_equal(found, counts_of(15, resamples=100, seed=1) @ values)
    assert np.array_equal(found[:, 3], found[:, 0] - found[:, 1])
    alone = stats.resampled_sums(values[:, [1]], resamples=100, seed=1)
    assert np.array_equal(alone[:, 0], found[:, 1])


def test_one_unit():
    found = stats.resampled_ratios(np.array([[3.0]]), np.array([[4.0]]), resamples=100, seed=0)
    assert found.tolist() == [[0.75]] * 100


def test_strata_keep_their_sizes():
    strata = np.array([1, 0, 1, 0, 0, 1, 1, 1, 1])
    counts = counts_of(9, resamples=100, seed=2, strata=strata)
    assert (counts[:, strata == 0].sum(axis=1) == 3).all()
    assert (counts[:, strata == 1].sum(axis=1) == 6).all()
    values = np.random.default_rng(1).integers(0, 9, (9, 2)).astype(float)
    found = stats.resampled_sums(values, resamples=100, seed=2, strata=strata)
    assert np.array_equal(found, counts @ values)


def test_many_clusters_are_resampled_in_blocks():
    rng = np.random.default_rng(4)
    numerators = rng.integers(0, 4, (10_003, 2)).astype(float)
    denominators = numerators + rng.integers(0, 3, (10_003, 2))
    found = stats.resampled_ratios(numerators, denominators, resamples=100, seed=5)
    edges = np.linspace(0, 10_003, 1000, endpoint=False).astype(int)
    tops, bottoms = (
        np.array([part.sum(axis=0) for part in np.split(sums, edges[1:])])
        for sums in (numerators, denominators)
    )
    counts = counts_of(1000, resamples=100, seed=5)
    assert np.array_equal(found, (counts @ tops) / (counts @ bottoms))
    # The same rule, and none up to 10,000.
    assert len(bootstrap.in_blocks(numerators)) == 1000
    assert bootstrap.in_blocks(numerators[:10_000]).shape == (10_000, 2)
    # Blocks of independent clusters have the standard error of the clusters.
    spread = stats.resampled_ratios(numerators, denominators, resamples=2000, seed=6).std(axis=0)
    theory = stats.ratio_standard_error(numerators, denominators)
    assert spread == pytest.approx(theory, rel=0.12)


def auroc(counts, data):
    """Weighted share of pairs in which label 1 scores higher, ties half: linear in nothing."""
    scores, labels = data
    one, zero = counts * labels, counts * (1 - labels)
    above, level = scores[:, None] > scores[None, :], scores[:, None] == scores[None, :]
    above = jnp.where(level, 0.5, above.astype(counts.dtype))
    return one @ above @ zero / (one.sum() * zero.sum())


def test_any_statistic():
    rng = np.random.default_rng(8)
    scores, labels = rng.integers(0, 6, 16).astype(float), np.repeat([0.0, 1.0], 8)
    options = {"resamples": 100, "seed": 3, "strata": labels.astype(int)}
    found = stats.resampled_statistic(auroc, (scores, labels), 16, **options)
    for drawn, value in zip(counts_of(16, **options), found, strict=True):
        rows = np.repeat(np.arange(16), drawn)
        ones, zeros = scores[rows][labels[rows] == 1], scores[rows][labels[rows] == 0]
        pairs = [(a > b) + 0.5 * (a == b) for a in ones for b in zeros]
        assert value == pytest.approx(np.mean(pairs), abs=1e-12)
    assert found.dtype == np.float64


def test_jackknife():
    rng = np.random.default_rng(2)
    numerators, denominators = rng.random((6, 2)), rng.integers(0, 2, (6, 2)).astype(float)
    denominators[:, 1] = [0, 0, 3, 0, 0, 0]
    found = stats.jackknife_ratios(numerators, denominators)
    for unit in range(6):
        top, bottom = (np.delete(a, unit, axis=0).sum(axis=0) for a in (numerators, denominators))
        expected = [t / b if b else np.nan for t, b in zip(top, bottom, strict=True)]
        np.testing.assert_allclose(found[unit], expected, rtol=1e-12)
    assert np.isnan(found[2, 1])


def test_ratio_standard_error():
    """Test J of the drift specification, beside problems that are not in the sums."""
    flips = np.array([[1.0], [0.0], [3.0], [0.0]])
    sizes = np.array([[4.0], [4.0], [4.0], [0.0]])
    assert stats.ratio_standard_error(flips, sizes) == pytest.approx(0.220479, abs=5e-7)
    assert np.isnan(stats.ratio_standard_error(flips[2:], sizes[2:])).all()
    assert np.isnan(stats.ratio_standard_error(flips[3:], sizes[3:])).all()


def test_clusters_that_agree_inside_widen_the_interval():
    """40 clusters of 25 equal rows carry 40 numbers, not 1,000."""
    rng = np.random.default_rng(1)
    values = np.repeat(rng.normal(size=40), 25)[:, None]
    valid, clusters = np.ones_like(values, dtype=bool), np.repeat(np.arange(40), 25)
    whole = stats.resampled_cluster_means(values, valid, clusters, 40, resamples=4000, seed=0)
    assert whole.std() == pytest.approx(values.std() / np.sqrt(40), rel=0.05)


def test_cluster_numbers_out_of_range():
    values, valid, clusters = example()
    with pytest.raises(BadRequest, match="run from 0 to 11; expected 0 to 10"):
        stats.cluster_sums(values, valid, clusters, 11)
    sums, sizes = stats.cluster_sums(values[:0], valid[:0], clusters[:0], 2)
    assert sums.tolist() == sizes.tolist() == [[0.0] * 3] * 2


def test_one_program_per_bucket():
    def run(units, columns, resamples, seed):
        values = np.ones((units, columns))
        return stats.resampled_sums(values, resamples=resamples, seed=seed)

    run(120, 20, 96, 0)
    before = cluster._statistics._cache_size()
    for units, columns, resamples, seed in [
        (120, 20, 90, 2**40),
        (113, 17, 96, 1),
        (118, 24, 95, 2),
    ]:
        assert (run(units, columns, resamples, seed) == units).all()
    assert cluster._statistics._cache_size() == before
    # Chunks share it too: three calls of 96 rows.
    most = draws.SLOTS
    draws.SLOTS = 100 * 120
    try:
        assert run(120, 20, 280, 0).shape == (280, 20)
    finally:
        draws.SLOTS = most
    assert cluster._statistics._cache_size() == before


def total(counts, data):
    return jnp.sum(counts * data)


def test_a_statistic_is_compiled_once():
    data = np.arange(10.0)
    stats.resampled_statistic(total, data, 10, resamples=100, seed=0)
    before = cluster._statistics._cache_size()
    stats.resampled_statistic(total, data + 1, 10, resamples=99, seed=1, stream=2)
    assert cluster._statistics._cache_size() == before
