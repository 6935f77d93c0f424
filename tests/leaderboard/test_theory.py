"""Formulas of theory, against every number that the specification works out."""

from fractions import Fraction
from math import exp, inf, log, pi, sqrt
from statistics import NormalDist

import numpy as np
import pytest

from jaxbench.leaderboard import theory


@pytest.mark.parametrize(
    ("items", "bound", "step"),
    [(1e3, 0.363, 0.111), (1e4, 0.165, 0.054), (1e5, 0.077, 0.026), (1e6, 0.036, 0.013)],
)
def test_the_best_bound_of_the_ladder(items, bound, step):
    best = theory.best_ladder_bound(int(items), 2000)
    assert round(best.bound, 3) == bound
    # The minimum is flat: .01235 is the best step for a million items, and .013 is as good.
    assert best.step == pytest.approx(step, abs=0.0007)
    near = theory.ladder_bound(int(items), 2000, step)
    assert near is not None
    assert round(near.bound, 3) == bound
    assert best.bound == best.step + best.error
    # It is a bound at 95 %, and no other step gives a smaller one.
    failure = theory.ladder_failure(int(items), 2000, best.step, best.error)
    assert failure == pytest.approx(0.05, rel=1e-9)
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = theory.ladder_bound(int(items), 2000, best.step * factor)
        assert other is not None
        assert other.bound > best.bound


def test_the_failure_of_the_ladder_is_the_formula():
    n, k, eta, e = 5000, 64, 0.1, 0.25
    exponent = -2 * n * e**2 + (1 / eta + 2) * log(4 * k / eta) + 1
    assert exponent < 0
    assert theory.ladder_failure(n, k, eta, e) == pytest.approx(exp(exponent), rel=1e-12)
    assert theory.ladder_failure(n, k, eta, 0.01) == 1.0
    assert theory.ladder_failure(n, k, 0.0, 0.5) == 1.0
    assert theory.ladder_bound(n, k, 0.0) is None


def test_full_release():
    error = theory.full_release_error(1000, 2000)
    assert error == pytest.approx(sqrt(log(4000 / 0.05) / 2000))
    assert theory.full_release_failure(1000, 2000, error) == pytest.approx(0.05)
    assert theory.full_release_failure(1000, 2000, 0.0) == 1.0


def test_most_releases():
    assert theory.ladder_releases(Fraction(1, 10)) == 11
    assert theory.ladder_releases(Fraction(0)) is None
    # 1/eta = 2.5 is a half, which goes to even.
    assert theory.ladder_releases(Fraction(2, 5)) == 3
    assert theory.frontier_releases(Fraction(1, 10), 2, 1000) == 121
    assert theory.frontier_releases(Fraction(1, 10), 3, 1000) == 1000
    assert theory.frontier_releases(Fraction(0), 1, 7) == 7


def test_privacy_of_noise():
    each = theory.laplace_each(1 / 1000, 0.05)
    assert theory.composed(each, 2000) == pytest.approx(40)
    assert round(theory.composed_advanced(each, 2000), 2) == 5.51
    assert round(theory.gaussian_privacy(1 / 1000, 0.05, 2000), 2) == 5.10
    assert theory.sparse_each(1 / 1000, 0.01) == pytest.approx(0.2)
    assert theory.composed_advanced(1e4, 1) == inf


def test_the_theory_setting_of_thresholdout_is_below_an_item():
    scale = theory.thresholdout_scale(0.1, 2000, 0.05)
    assert f"{scale:.1e}" == "8.7e-05"
    assert scale < 1 / 1000


def test_the_best_of_noisy_numbers():
    assert theory.best_of_bias(0.05, 2000) == pytest.approx(0.05 * sqrt(2 * log(2000)))
    # Of the order of the exact mean of the largest, which it is above.
    assert 0.85 < theory.expected_largest(2000) / theory.best_of_bias(1.0, 2000) < 1.0


def test_sizes_of_the_shaky_ladder():
    assert round(theory.shaky_theory_size(1000), 3) == 0.063
    # "the rule's limit" at eta .05, k = 2000.
    assert theory.shaky_least_step(0.0016, 2000) < 0.05 < theory.shaky_least_step(0.0017, 2000)
    assert theory.shaky_cap(Fraction(1, 20)) == 20
    assert theory.shaky_cap(Fraction(3, 10)) == 4
    assert theory.shaky_cap(Fraction(0)) is None


def test_bounds_of_the_frontier_ladder():
    # One number: 2 n e^2 = N ln(k N).
    n = theory.frontier_items(0.1, 1, 100, 0.1)
    assert 2 * n * 0.1**2 == pytest.approx(11 * log(100 * 11))
    assert theory.frontier_items(0.01, 400, 100, 0.1) == inf
    assert theory.frontier_open_numbers(0.1, 1000) == pytest.approx(3)
    assert theory.frontier_open_numbers(0.0, 1000) == 0


@pytest.mark.parametrize(
    ("found", "expected", "measured"),
    [
        (theory.noise_slow_down(1000, 0.0158), 2.0, 2.05),
        (theory.noise_slow_down(1000, 0.05), 11.0, 11.1),
        (theory.laplace_slow_down(1000, 0.05), 21.0, 20.6),
        (theory.noise_slow_down(1000, 0.05, repeats=4), 14.0, 14.6),
        (theory.subsample_slow_down(1000, 250), 4.0, 3.9),
        (theory.bootstrap_slow_down(), 2.0, 1.9),
        (theory.SIGN_SLOW_DOWN, pi / 2, 1.55),
        ((theory.SCORES / theory.SIGNS) ** 2, pi / 2, 1.54),
        ((theory.SCORES / theory.MAJORITY) ** 2, pi, 3.11),
    ],
)
def test_slow_downs(found, expected, measured):
    assert found == pytest.approx(expected, rel=2e-3)
    # Measured in the specification with a standard error of 5 %.
    assert found == pytest.approx(measured, rel=0.1)


def test_attack_constants():
    constants = [round(c, 4) for c in (theory.SCORES, theory.SIGNS, theory.MAJORITY)]
    assert constants == [0.3989, 0.3183, 0.2251]


def test_the_vote_and_back():
    # The specification's full-release vote has error .079 at n = 1000, k = 2000.
    assert round(1 - theory.vote_accuracy(1000, 2000), 3) == 0.079
    for slow in (1.0, 11.0, 200.0):
        right = theory.vote_accuracy(1000, 2000, slow)
        assert theory.slow_down_of(1000, 2000, right) == pytest.approx(slow)
    assert theory.slow_down_of(10, 10, 0.5) == inf
    assert theory.slow_down_of(10, 10, 1.0) > 0


@pytest.mark.parametrize(
    ("classes", "small", "large"),
    [(2, 0.124, 0.341), (3, 0.115, 0.363), (10, 0.061, 0.258), (100, 0.011, 0.073)],
)
def test_votes_between_classes(classes, small, large):
    for budget, expected in ((100, small), (1000, large)):
        right = theory.class_vote_accuracy(1000, budget, classes)
        assert round(right - 1 / classes, 3) == expected
    # The linear form is its slope at 0.
    slope = theory.class_vote_accuracy(1000, 0.01, classes) - 1 / classes
    assert theory.class_vote_bias(1000, 0.01, classes) == pytest.approx(slope, rel=0.02)


def test_two_classes_are_the_vote_between_two_models():
    d = sqrt(100 * 2 / 1000)
    expected = NormalDist().cdf(d / sqrt(2))
    assert theory.class_vote_accuracy(1000, 100, 2) == pytest.approx(expected, abs=1e-12)


def test_the_largest_of_normal_numbers():
    found = [round(theory.expected_largest(m), 4) for m in (2, 3, 10, 100)]
    assert found == [0.5642, 0.8463, 1.5388, 2.5076]
    drawn = np.random.default_rng(0).standard_normal((20_000, 10)).max(axis=1)
    assert theory.expected_largest(10) == pytest.approx(drawn.mean(), abs=0.02)
