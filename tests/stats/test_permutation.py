"""Permutation tests against enumeration, scipy and loops."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as scipy_stats

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import permutation


def identity(labels, data):
    return labels


def spread_of_axes(labels, flips):
    """T of the drift specification, section 3.4, for two axes."""
    axes = labels[None, :] == jnp.arange(2)[:, None]
    number = axes.sum(axis=1).astype(flips.dtype)
    share = (axes.astype(flips.dtype) * flips[None, :]).sum(axis=1) / number
    return jnp.sum(number * (share - flips.mean()) ** 2) / number.sum()


LABELS = np.array([0, 0, 1, 1] * 3)
GROUPS = np.repeat(np.arange(3), 4)
FLIPS = np.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0], dtype=float)


def test_axes_of_the_specification():
    """Test F of the drift specification: T = 1/9, 18 of 216 relabellings reach it."""
    every = stats.relabellings(LABELS, GROUPS)
    assert every.shape == (216, 12)
    found = stats.statistics_of(spread_of_axes, every, FLIPS)
    observed, drawn = stats.permuted_statistic(
        spread_of_axes, LABELS, GROUPS, FLIPS, permutations=20_000, seed=0
    )
    assert float(observed) == pytest.approx(1 / 9, abs=1e-15)
    assert float(stats.exact_p(observed, found, "upper")) == 18 / 216
    p = float(stats.permutation_p(observed, drawn, "upper"))
    assert p == pytest.approx(18 / 216, abs=4 * np.sqrt(18 / 216 / 20_000))
    assert p == (1 + np.sum(drawn >= 1 / 9 - 1e-12)) / 20_001


@given(
    labels=hnp.arrays(np.int64, 6, elements=st.integers(-1, 2)),
    groups=hnp.arrays(np.int64, 6, elements=st.integers(0, 3)),
)
def test_relabellings_are_all_and_distinct(labels, groups):
    found = stats.relabellings(labels, groups)
    expected = {
        tuple(labels[list(order)])
        for order in itertools.permutations(range(6))
        if np.array_equal(groups[list(order)], groups)
    }
    assert len(found) == len(expected)
    assert set(map(tuple, found)) == expected
    assert stats.relabellings(labels, groups, most=len(expected)) is None


def test_too_many_to_list():
    assert stats.relabellings(np.arange(60), np.zeros(60, dtype=int)) is None
    assert len(stats.relabellings(np.zeros(60), np.zeros(60, dtype=int))) == 1
    assert stats.relabellings(np.zeros(0), np.zeros(0, dtype=int)).shape == (1, 0)


@pytest.mark.parametrize("sizes", [(1,), (300, 1, 40)])
def test_labels_stay_in_their_groups(sizes):
    slots = sum(sizes)
    groups = np.repeat(np.arange(len(sizes)), sizes)[np.random.default_rng(0).permutation(slots)]
    _, drawn = stats.permuted_statistic(
        identity, np.arange(slots), groups, permutations=100, seed=1
    )
    assert (np.sort(drawn, axis=1) == np.arange(slots)).all()
    assert (groups[drawn] == groups).all()
    if slots > 100:
        assert (drawn != np.arange(slots)).any(axis=1).all()


def test_features_move_together_and_padding_stays():
    labels = np.stack([np.arange(9), 10 * np.arange(9)], axis=1)
    groups = np.array([0, 0, 0, 0, 0, 0, 1, 2, 3])
    observed, drawn = stats.permuted_statistic(identity, labels, groups, permutations=100, seed=3)
    assert np.array_equal(observed, labels)
    assert np.array_equal(drawn[..., 1], 10 * drawn[..., 0])
    assert (drawn[:, 6:, 0] == [6, 7, 8]).all()
    # The padding takes nothing away: the six move as they do alone with its random bits.
    assert len(np.unique(drawn[:, :6, 0], axis=0)) > 15


@pytest.mark.parametrize("tail", ["upper", "lower", "two_sided"])
def test_mean_difference_is_scipys(tail):
    rng = np.random.default_rng(2)
    values, labels = rng.normal(size=9).round(1), np.arange(9) < 4
    alone = np.zeros(9, dtype=int)
    every = stats.relabellings(labels, alone)
    found = stats.statistics_of(stats.mean_difference, every, values)
    observed, drawn = stats.permuted_statistic(
        stats.mean_difference, labels, alone, values, permutations=20_000, seed=0
    )
    expected = scipy_stats.permutation_test(
        (values[:4], values[4:]),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        alternative={"upper": "greater", "lower": "less"}.get(tail, "two-sided"),
        vectorized=True,
    )
    assert float(observed) == pytest.approx(expected.statistic, abs=1e-14)
    assert float(stats.exact_p(observed, found, tail)) == pytest.approx(expected.pvalue, abs=1e-12)
    p = float(stats.permutation_p(observed, drawn, tail))
    assert p == pytest.approx(expected.pvalue, abs=0.02)


def test_mean_difference_in_columns():
    rng = np.random.default_rng(3)
    values, labels = rng.normal(size=(12, 3)), rng.random(12) < 0.5
    observed, drawn = stats.permuted_statistic(
        stats.mean_difference, labels, np.arange(12) % 3, values, permutations=100, seed=0
    )
    _, moved = stats.permuted_statistic(
        identity, labels, np.arange(12) % 3, permutations=100, seed=0
    )
    expected = values[labels].mean(axis=0) - values[~labels].mean(axis=0)
    np.testing.assert_allclose(observed, expected, rtol=1e-12)
    for row, chosen in zip(drawn, moved, strict=True):
        expected = values[chosen].mean(axis=0) - values[~chosen].mean(axis=0)
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-14)
    assert stats.permutation_p(observed, drawn, "two_sided").shape == (3,)


def test_mean_difference_without_one_label():
    observed, drawn = stats.permuted_statistic(
        stats.mean_difference, np.zeros(4, dtype=bool), np.zeros(4, dtype=int), np.arange(4.0),
        permutations=100, seed=0,
    )  # fmt: skip
    assert np.isnan(observed)
    assert np.isnan(stats.permutation_p(observed, drawn, "upper"))


def test_p_values():
    drawn = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [4.0, 4.0]])
    observed = np.array([3.0, 3.0 + 1e-13])
    # (1 + #{3, 4}) / 5, and with the draw that has no value.
    assert stats.permutation_p(observed, drawn, "upper").tolist() == [3 / 5, 4 / 5]
    assert stats.permutation_p(observed, drawn, "lower").tolist() == [4 / 5, 4 / 5]
    assert stats.permutation_p(observed, drawn, "two_sided").tolist() == [1.0, 1.0]
    assert stats.exact_p(observed, drawn, "upper").tolist() == [2 / 4, 3 / 4]
    assert stats.permutation_p(observed + 1e-9, drawn, "upper", slack=0.0).tolist() == [
        2 / 5,
        3 / 5,
    ]
    # The largest of both columns, against each.
    largest = np.nanmax(drawn, axis=1, keepdims=True)
    assert stats.permutation_p(np.array([4.0, 2.0]), largest, "upper").tolist() == [2 / 5, 4 / 5]
    with pytest.raises(BadRequest, match="did you mean upper"):
        stats.permutation_p(observed, drawn, "uper")


def test_sign_flips_against_all_of_them():
    rng = np.random.default_rng(5)
    differences = rng.normal(0.4, 1, size=(9, 2)).round(2)
    valid = np.ones((9, 2), dtype=bool)
    valid[[2, 6], 1] = False
    differences[2, 1] = np.nan
    observed, drawn = stats.sign_flipped_means(differences, valid, permutations=20_000, seed=0)
    signs = np.array(list(itertools.product([1, -1], repeat=9)))
    for column in range(2):
        counted = np.where(valid[:, column], differences[:, column], 0)
        every = signs @ counted / valid[:, column].sum()
        assert observed[column] == pytest.approx(every[0], abs=1e-14)
        for tail in ("upper", "lower", "two_sided"):
            exact = float(stats.exact_p(observed[column], every, tail))
            found = stats.permutation_p(observed[column], drawn[:, column], tail)
            assert float(found) == pytest.approx(exact, abs=0.012)
    expected = scipy_stats.permutation_test(
        (differences[:, 0],), lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples", vectorized=True,
    )  # fmt: skip
    found = float(stats.permutation_p(observed[0], drawn[:, 0], "two_sided"))
    assert found == pytest.approx(expected.pvalue, abs=0.012)


def test_sign_flips_pair_the_columns_and_empty_ones_have_no_mean():
    differences = np.random.default_rng(0).integers(-3, 4, (16, 3)).astype(float)
    differences[:, 1] = 2 * differences[:, 0]
    valid = np.ones((16, 3), dtype=bool)
    valid[:, 2] = False
    observed, drawn = stats.sign_flipped_means(differences, valid, permutations=100, seed=0)
    assert np.array_equal(drawn[:, 1], 2 * drawn[:, 0])
    assert np.isnan(observed[2])
    assert np.isnan(drawn[:, 2]).all()
    assert np.isnan(stats.permutation_p(observed, drawn, "upper")[2])


def test_many_given_labellings_are_taken_in_parts(monkeypatch):
    every = stats.relabellings(LABELS, GROUPS)
    whole = stats.statistics_of(spread_of_axes, every, FLIPS)
    monkeypatch.setattr(permutation.draws, "SLOTS", 12 * 50)
    assert np.array_equal(stats.statistics_of(spread_of_axes, every, FLIPS), whole)


def test_no_label():
    with pytest.raises(BadRequest, match="0 labels"):
        stats.permuted_statistic(identity, np.zeros(0), np.zeros(0, int), permutations=2, seed=0)


def test_one_program_for_all_groups_and_seeds():
    def run(groups, seed, permutations):
        return stats.permuted_statistic(
            spread_of_axes, LABELS, groups, FLIPS, permutations=permutations, seed=seed
        )

    run(GROUPS, 0, 100)
    before = permutation._permuted._cache_size()
    run(np.zeros(12, dtype=int), 1, 104)
    run(np.arange(12) // 2, 2**63, 97)
    assert permutation._permuted._cache_size() == before

    counted = np.ones((20, 3), dtype=bool)
    stats.sign_flipped_means(np.zeros((20, 3)), counted, permutations=100, seed=0)
    before = permutation._flipped._cache_size()
    stats.sign_flipped_means(np.ones((18, 2)), counted[:18, :2], permutations=99, seed=4)
    assert permutation._flipped._cache_size() == before
