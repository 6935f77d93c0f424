"""The law of Q(m, k) against enumeration, the published table, and a sampler of it."""

from fractions import Fraction
from itertools import product
from math import comb, sqrt

import jax
import numpy as np
import pytest
from scipy import stats

from jaxbench.engine import routed_right
from reducing import bare_outcomes, bare_rows, bare_signs

# Mean share right for m = 2, ..., 8 (rows) and k = 2, ..., 8 (spec of lifespan).
TABLE = """
3/4 7/8 15/16 31/32 .984375 .992188 .996094
3/4 13/16 57/64 233/256 .945313 .953857 .971313
11/16 99/128 53/64 7099/8192 .894943 .916466 .933100
11/16 191/256 1651/2048 .833847 .868412 .885239 .907533
21/32 743/1024 .772751 .808345 .836530 .859479 .878508
21/32 1453/2048 .759659 .787822 .819203 .837996 .860022
163/256 .696381 .738266 .770871 .797484 .819811 .838882
"""
# Q(m, k) times the last number.
LAWS = {
    (2, 2): ((1, 2, 5), 8),
    (3, 3): ((0, 3, 12, 17), 32),
    (4, 2): ((3, 12, 18, 76, 19), 128),
    (4, 3): ((9, 36, 102, 580, 297), 1024),
}
# One in a million per comparison, both sides.
Z = 4.9


def enumerated(m: int, k: int) -> list[Fraction]:
    """The whole law of Q by going through all sign matrices; a zero vote is a fair coin."""
    candidates = k - 1
    law = [Fraction(0)] * (m + 1)
    for cells in product((-1, 1), repeat=m * candidates):
        signs = [cells[j * m : (j + 1) * m] for j in range(candidates)]
        votes = [sum(sum(row) * row[i] for row in signs) for i in range(m)]
        right, tied = sum(v > 0 for v in votes), sum(v == 0 for v in votes)
        for heads in range(tied + 1):
            law[right + heads] += Fraction(comb(tied, heads), 2**tied)
    return [p / 2 ** (m * candidates) for p in law]


@pytest.mark.parametrize(
    ("m", "k"), [(m, k) for m in range(1, 7) for k in range(2, 6) if m * (k - 1) <= 12]
)
def test_moments_are_those_of_the_enumerated_law(m, k):
    law = enumerated(m, k)
    mean = sum(q * p for q, p in enumerate(law))
    variance = sum(q * q * p for q, p in enumerate(law)) - mean**2
    assert routed_right.mean_right(m, k - 1) == pytest.approx(float(mean), abs=1e-12)
    assert routed_right.variance_right(m, k - 1) == pytest.approx(float(variance), abs=1e-12)
    if (m, k) in LAWS:
        counts, of = LAWS[m, k]
        assert law == [Fraction(c, of) for c in counts]


def test_published_table():
    for m, row in enumerate(TABLE.split("\n")[1:-1], start=2):
        for k, entry in enumerate(row.split(), start=2):
            exact = "/" in entry
            found = routed_right.share_right(m, k - 1)
            tolerance = 1e-12 if exact else 5.1e-7
            assert abs(found - float(Fraction(entry))) < tolerance, (m, k)
    assert routed_right.variance_right(6, 2) == pytest.approx(0.854519, abs=5e-7)
    assert routed_right.variance_right(4, 1) == pytest.approx(13 / 16, abs=1e-12)


def test_special_cases():
    for candidates in (1, 2, 63, 2047):
        assert routed_right.share_right(1, candidates) == 1.0
        assert routed_right.variance_right(1, candidates) == 0.0
        share = 1.0 - 0.5 ** (candidates + 1)
        assert routed_right.share_right(2, candidates) == pytest.approx(share, abs=1e-15)
    assert [routed_right.kappa(c) for c in (1, 2)] == pytest.approx([1.0, 1.0])
    assert routed_right.kappa(3) == pytest.approx(0.879, abs=5e-4)
    assert routed_right.kappa(100_000) == pytest.approx(0.5, abs=1e-4)
    mean, variance = routed_right.moments_right(np.array([0, 2]), np.array([1, 2]))
    np.testing.assert_allclose(mean, [[0, 0], [1.5, 1.75]])
    assert variance[0].tolist() == [0, 0]
    assert variance[1, 0] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="expected at least 1"):
        routed_right.share_right(0, 1)


@pytest.mark.parametrize("terms", [0, 1, 2, 3, 127, 128, 129, 130, 1001, 100_000])
def test_sums_of_signs(terms):
    values, chances = routed_right.sum_of_signs(terms)
    assert set(np.diff(values)) <= {2.0}
    expected = stats.binom.pmf((terms + values) / 2, terms, 0.5)
    np.testing.assert_allclose(chances, expected, rtol=0, atol=1e-15)
    assert chances.sum() == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("m", [2, 3, 8, 33, 64, 150, 400, 2000])
def test_asymptotic_variance_where_it_takes_over(m):
    """Its error is at most 1e-4 of the m items (most near m = 200)."""
    at = routed_right.EXACT_CANDIDATES
    exact = routed_right.variance_right(m, at)
    assert abs(routed_right.asymptotic_variance(m, at) - exact) < 1e-4 * m


def sampled(m: int, budgets: list[int], trials: int, slots=None) -> np.ndarray:
    # Padded alike: few programs.
    slots = slots or ([16] if m <= 8 else [72] if m <= 36 else [304])
    found = bare_outcomes([m], [m], budgets, trials, slots=slots)
    return (found.reused[:, :, 0] + m) // 2


@pytest.mark.parametrize(("m", "k"), list(LAWS))
def test_sampler_has_the_whole_law(m, k):
    trials = 40_000
    found = np.bincount(sampled(m, [2, 3], trials)[k - 2], minlength=m + 1)
    counts, of = LAWS[m, k]
    expected = np.array(counts) / of * trials
    assert not found[expected == 0].any()
    kept = expected > 0
    p = stats.chisquare(found[kept], expected[kept]).pvalue
    assert p > 1e-6


def test_sampler_has_the_variance_of_six():
    trials = 40_000
    q = sampled(6, [2, 3], trials)[1]
    squares = (q - q.mean()) ** 2
    assert abs(squares.mean() - 0.854519) < Z * squares.std() / sqrt(trials)


LONG = [64, 65, 80, 128, 200, 256, 512, 2048]


@pytest.mark.parametrize(
    "m", [8, 33, *(pytest.param(m, marks=pytest.mark.slow) for m in (16, 150))]
)
def test_long_votes_have_mean_and_variance_of_the_law(m):
    """Beyond 63 candidates votes are bent normals: at most .0008 of the items off in the mean."""
    budgets, trials = LONG, 6000
    q = sampled(m, budgets, trials, slots=[72] if m <= 36 else None)
    for k, found in zip(budgets, q, strict=True):
        mean, variance = (
            routed_right.mean_right(m, k - 1), routed_right.variance_right(m, k - 1)
        )  # fmt: skip
        error = Z * sqrt(variance / trials)
        # Where nearly every item is right the count of wrong ones is Poisson, a handful at most.
        assert abs(found.mean() - mean) < error + 8e-4 * m + 24 / trials, (m, k)
        if variance > 0.1:
            squares = (found - found.mean()) ** 2
            spread = Z * squares.std() / sqrt(trials)
            assert abs(squares.mean() - variance) < spread + 0.01 * variance, (m, k)


def test_held_out_routes_are_fair_and_agree_between_budgets_as_walks_do():
    """Correlation (2/pi) asin(sqrt(K/K')) of routes, hence of counts (spec: joint over budgets)."""
    m, trials = 33, 6000
    budgets = [8, 32, 64, 128, 300, 512, 1024, 2048]
    found = bare_outcomes([m], [m], budgets, trials, slots=[72]).heldout[:, :, 0].astype(float)
    for counts in found:
        assert abs(counts.mean()) < Z * sqrt(m / trials)
        squares = counts**2
        assert abs(squares.mean() - m) < Z * squares.std() / sqrt(trials)
    for one, other in ((0, 1), (1, 3), (3, 5), (5, 7), (0, 5)):
        expected = 2 / np.pi * np.arcsin(sqrt((budgets[one] - 1) / (budgets[other] - 1)))
        seen = np.corrcoef(found[one], found[other])[0, 1]
        # The walk of seven steps is no Gaussian one yet: .01.
        assert abs(seen - expected) < Z / sqrt(trials) + 0.01


def test_votes_of_a_small_group_by_hand():
    """Up to budget 64 the sampler is the simulation of its own signs."""
    m, trials = 5, 6000
    budgets = [1, 2, 3, 10, 33, 62, 63, 64]
    found = bare_outcomes([m], [m], budgets, trials, slots=[72])
    with jax.enable_x64(True):
        signs, ties = bare_signs(bare_rows([m], [m], trials)[0], 2 * m)
    weights = signs[:, :m].sum(axis=1)
    for b, k in enumerate(budgets):
        votes = (signs[:, :, : k - 1] * weights[:, None, : k - 1]).sum(axis=2)
        routes = np.where(votes == 0, ties, np.sign(votes))
        assert (found.reused[b, :, 0] == routes[:, :m].sum(axis=1)).all()
        assert (found.heldout[b, :, 0] == routes[:, m:].sum(axis=1)).all()
        seen = np.maximum.accumulate(np.concatenate(
            [np.zeros((trials, 1)), weights[:, : k - 1]], axis=1), axis=1)  # fmt: skip
        np.testing.assert_allclose(found.best_reused[b], 0.5 * (m + seen[:, -1]) / m)
