"""Scores as integer counts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.benchmark.counts import counts_from_scores, simplest_fraction


@given(st.floats(0, 1))
def test_the_simplest_fraction_is_within_reach_and_simplest(value):
    found = simplest_fraction(value)
    assert abs(found - Fraction(value)) <= Fraction(1e-6)
    for denominator in range(1, min(found.denominator, 200)):
        near = round(Fraction(value) * denominator)
        assert abs(Fraction(near, denominator) - Fraction(value)) > Fraction(1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("denominator", [1, 2, 3, 5, 7, 12, 100, 1000])
def test_multiples_are_recovered(dtype, denominator):
    counts = np.arange(denominator + 1)
    found, of, note = counts_from_scores((counts / denominator).astype(dtype))
    assert of == denominator
    assert found.tolist() == counts.tolist()
    assert f"1/{denominator}" in note


def test_mixed_fractions_share_the_least_common_denominator():
    found, of, _ = counts_from_scores(np.array([1 / 2, 1 / 3, 3 / 4, 0.2]))
    assert of == 60
    assert found.tolist() == [30, 20, 45, 12]


def test_real_valued_scores_go_to_a_grid():
    scores = np.random.default_rng(0).random(50)
    found, of, note = counts_from_scores(scores)
    assert of == 10**6
    assert "grid of 1e-6" in note
    np.testing.assert_allclose(found / of, scores, atol=5e-7)


@pytest.mark.parametrize("denominator", [1280, 1319, 2000, 4096, 9999, 65536, 999_999])
def test_fine_denominators_of_float64_scores(denominator):
    counts = np.unique(np.random.default_rng(1).integers(0, denominator + 1, 300))
    counts = np.append(counts, [1, denominator])
    found, of, note = counts_from_scores(counts / denominator)
    assert of == denominator
    assert found.tolist() == counts.tolist()
    assert "within" not in note


def test_printed_decimals_stay_what_was_printed():
    rng = np.random.default_rng(2)
    for decimals in (1, 2, 3, 4, 5, 6):
        for dtype in (np.float32, np.float64):
            if dtype == np.float32 and decimals > 5:
                continue
            whole = rng.integers(0, 10**decimals + 1, 200)
            found, of, _ = counts_from_scores((whole / 10**decimals).astype(dtype))
            np.testing.assert_array_equal(found * (10**decimals) / of, whole)


def test_a_third_and_a_seventh_need_each_other():
    _, of, _ = counts_from_scores(np.array([1 / 3, 1 / 7919]))
    assert of == 3 * 7919
