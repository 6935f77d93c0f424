"""What theory says about mechanisms at a given size: bounds, privacy accounting, slow-downs.

n is the number of independent reused items behind a released number, k that of submissions; losses,
steps and noise are fractions of the score, logarithms are natural. A slow-down is what a mechanism
multiplies the budget of the weighted vote by. Source: spec of the mechanisms.
"""

from fractions import Fraction
from math import ceil, exp, expm1, inf, log, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

# Bias of the final vote over 1/2, in units of sqrt(k/n), for small k/n and balanced items.
SCORES, SIGNS, MAJORITY = 1 / sqrt(2 * pi), 1 / pi, 1 / (pi * sqrt(2))
# Slow-down of a released sign, to which rounding comes with the mean on a boundary of the grid.
SIGN_SLOW_DOWN = pi / 2


class LadderBound(NamedTuple):
    """A bound on the leaderboard error, `error + step`, and the two parts it is made of."""

    bound: float
    step: float
    error: float


def full_release_failure(items: int, budget: int, error: float) -> float:
    """P(some |released - true| > e) <= 2 k exp(-2 n e^2), for submissions fixed in advance.

    Hoeffding and a union bound; after adaptation it does not hold. At most 1. Source: rule 1.
    """
    return min(1.0, 2.0 * budget * exp(-2.0 * items * error**2))


def full_release_error(items: int, budget: int, confidence: float = 0.95) -> float:
    """The e at which `full_release_failure` is 1 - confidence: sqrt(ln(2k / (1 - c)) / (2n))."""
    return sqrt(log(2.0 * budget / (1.0 - confidence)) / (2.0 * items))


def ladder_failure(items: int, budget: int, step: float, error: float) -> float:
    """P(lberr > e + eta) <= exp(-2 n e^2 + (1/eta + 2) ln(4k/eta) + 1), at most 1.

    For the Ladder that rounds to its step, on one number. Source: rule 6, from the transcript of
    (1/eta + 2) log2(4k/eta) bits; Blum and Hardt 2015 (arXiv 1502.04585), Theorem 3.1.
    """
    if step <= 0.0:
        return 1.0
    return exp(min(0.0, _transcript(budget, step) - 2.0 * items * error**2))


def ladder_bound(
    items: int, budget: int, step: float, confidence: float = 0.95
) -> LadderBound | None:
    """The least e + eta with `ladder_failure` at 1 - confidence; None for no step: no bound."""
    if step <= 0.0:
        return None
    error = sqrt((_transcript(budget, step) - log(1.0 - confidence)) / (2.0 * items))
    return LadderBound(error + step, step, error)


def best_ladder_bound(items: int, budget: int, confidence: float = 0.95) -> LadderBound:
    """The step in (0, 1] for which `ladder_bound` is least.

    The bound has one minimum in the logarithm of the step, which thirds of an interval close in on.
    The step's order is (ln(k n) / n)^(1/3).
    """

    def bound(logarithm: float) -> LadderBound:
        found = ladder_bound(items, budget, exp(logarithm), confidence)
        assert found is not None
        return found

    low, high = log(1e-9), 0.0
    while high - low > 1e-7:
        third = (high - low) / 3.0
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return bound(high)


def ladder_releases(step: Fraction) -> int | None:
    """Most acceptances of a Ladder, [1]_eta / eta + 1; None for no step. Source: rule 6."""
    return round(1 / step) + 1 if step else None


def _transcript(budget: int, step: float) -> float:
    return (1.0 / step + 2.0) * log(4.0 * budget / step) + 1.0


def composed(each: float, releases: int) -> float:
    """Pure differential privacy of k releases of e0 each: k e0. Source: rule 3."""
    return releases * each


def composed_advanced(each: float, releases: int, failure: float = 1e-6) -> float:
    """The same with failure chance d: sqrt(2 k ln(1/d)) e0 + k e0 (exp(e0) - 1). Source: rule 3.

    Infinite where it is past any float.
    """
    if each > 700.0:
        return inf
    spread = sqrt(2.0 * releases * log(1.0 / failure)) * each
    return spread + releases * each * expm1(each)


def gaussian_privacy(sensitivity: float, sd: float, releases: int, failure: float = 1e-6) -> float:
    """Privacy eps of k normal releases: rho + 2 sqrt(rho ln(1/d)), rho = k Delta^2 / (2 s^2).

    **Arguments:** `sensitivity`: Delta, the largest total weight that one prompt group has in the
    released mean (1/n for a plain one). Source: rule 3.
    """
    rho = releases * sensitivity**2 / (2.0 * sd**2)
    return rho + 2.0 * sqrt(rho * log(1.0 / failure))


def laplace_each(sensitivity: float, scale: float) -> float:
    """e0 of one Laplace release: Delta / b. Source: rule 3."""
    return sensitivity / scale


def sparse_each(sensitivity: float, scale: float) -> float:
    """e0 of one acceptance of the Shaky Ladder, or one holdout answer of Thresholdout: 2 Delta/b.

    Delta/b for the comparisons of an epoch and Delta/b for the release. Source: rules 8 and 10.
    """
    return 2.0 * sensitivity / scale


def best_of_bias(sd: float, budget: int) -> float:
    """Bias of the best of k numbers with noise of sd s, about s sqrt(2 ln k). Source: rule 3."""
    return sd * sqrt(2.0 * log(budget))


def shaky_least_step(scale: float, budget: int) -> float:
    """4 b ln k: with a smaller step the noise of comparisons swamps the board. Source: rule 8."""
    return 4.0 * scale * log(budget)


def shaky_theory_size(items: int) -> float:
    """Step and noise where the theory balances, n^(-2/5) up to logarithms. Source: rule 8."""
    return items ** (-2.0 / 5.0)


def shaky_cap(step: Fraction) -> int | None:
    """The default number of acceptances, ceil(1/eta); None for no step. Source: rule 8."""
    return ceil(1 / step) if step else None


def thresholdout_scale(tolerance: float, budget: int, failure: float = 0.05) -> float:
    """The noise of the theory, s = tau / (96 ln(4 m / beta)), with T = 3 tau / 4.

    Source: rule 10; Dwork and others, CACM 60(4), 2017, Theorem 9. The number of items that it
    needs has a constant that is not in open text.
    """
    return tolerance / (96.0 * log(4.0 * budget / failure))


def frontier_releases(step: Fraction, numbers: int, budget: int) -> int:
    """Most releases of a Frontier Ladder on d numbers: ([1]_eta / eta + 1)^d, and k at most.

    Each makes a new grid point dominated for ever. Source: rule 9.
    """
    per_number = ladder_releases(step)
    return budget if per_number is None else min(budget, per_number**numbers)


def frontier_items(step: float, numbers: int, budget: int, error: float) -> float:
    """The n that a union bound over transcripts asks for: 2 n e^2 = N ln(k N), N = (1 + 1/eta)^d.

    Up to a constant and lower orders. Source: rule 9.
    """
    logarithm = numbers * log(1.0 + 1.0 / step)
    if logarithm > 700.0:
        return inf
    return exp(logarithm) * (log(budget) + logarithm) / (2.0 * error**2)


def frontier_open_numbers(step: float, budget: int) -> float:
    """The d from which on a Frontier Ladder withholds nothing: ln k / ln(1/eta). Source: rule 9."""
    return log(budget) / log(1.0 / step) if 0.0 < step < 1.0 else inf if step else 0.0


def noise_slow_down(items: int, sd: float, repeats: int = 1) -> float:
    """Noise of sd s on own scores, every router submitted m times: m + 4 n s^2. Source: rule 3."""
    return repeats + 4.0 * items * sd**2


def laplace_slow_down(items: int, scale: float, repeats: int = 1) -> float:
    """The same for Laplace noise, of variance 2 b^2: m + 8 n b^2. Source: rule 3."""
    return repeats + 8.0 * items * scale**2


def subsample_slow_down(items: int, scored: int) -> float:
    """Every submission scored on m fresh items of n: n / m. Source: rule 4."""
    return items / scored


def bootstrap_slow_down() -> float:
    """It is 2: for 0/1 losses the weights add a variance of r (1 - r) / (n + 1). Source: rule 5."""
    return 2.0


def vote_accuracy(items: int, budget: int | float, slow_down: float = 1.0) -> float:
    """How often the weighted vote is right on a balanced item: Phi(sqrt(k/n) / sqrt(slow-down)).

    Source: common ground.
    """
    return NormalDist().cdf(sqrt(budget / items / slow_down))


def slow_down_of(items: int, budget: int | float, accuracy: float) -> float:
    """The inverse of `vote_accuracy`: k/n / Phi^-1(accuracy)^2; infinite at one half or below."""
    if accuracy <= 0.5:
        return inf
    return budget / items / NormalDist().inv_cdf(min(accuracy, 1.0 - 1e-16)) ** 2


def class_vote_accuracy(items: int, budget: int | float, classes: int) -> float:
    """The most-voted of m classes with weights score - 1/m: P(N_1 + d > m - 1 other normals).

    d = sqrt(k m / (n (m - 1))), k uniform random label vectors. By the trapezium rule, whose error
    here is far below 1e-9. Source: attack constants and classes.
    """
    d = sqrt(budget * classes / (items * (classes - 1)))
    x = np.linspace(-9.0, 9.0 + d, 4001)
    cdf = np.array([NormalDist().cdf(v) for v in x.tolist()])
    density = np.exp(-0.5 * (x - d) ** 2) / sqrt(2.0 * pi)
    return float(np.sum(density * cdf ** (classes - 1)) * (x[1] - x[0]))


def expected_largest(count: int) -> float:
    """Mean of the largest of m standard normal numbers. Source: attack constants and classes."""
    x = np.linspace(-9.0, 9.0, 4001)
    cdf = np.array([NormalDist().cdf(v) for v in x.tolist()])
    density = np.exp(-0.5 * x**2) / sqrt(2.0 * pi)
    return float(np.sum(x * count * density * cdf ** (count - 1)) * (x[1] - x[0]))


def class_vote_bias(items: int, budget: int | float, classes: int) -> float:
    """Its bias over 1/m for small k: E[max of m normals] sqrt(k / (n m (m - 1))).

    Holds for d (see `class_vote_accuracy`) well under 1 only.
    """
    return expected_largest(classes) * sqrt(budget / (items * classes * (classes - 1)))
