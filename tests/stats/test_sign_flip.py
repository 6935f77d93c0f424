"""The sign-flip test against every pattern of signs, exact sums, and scipy; Holm's correction."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, erfc, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import sign_flip


def every_pattern(row: list[int]) -> Fraction:
    """The share of all patterns of signs whose sum goes as far as the one observed."""
    far = sum(
        abs(sum(sign * d for sign, d in zip(signs, row, strict=True))) >= abs(sum(row))
        for signs in product((1, -1), repeat=len(row))
    )
    return Fraction(far, 2 ** len(row))


def sums_of(row: list[int]) -> Counter[int]:
    """How many patterns of signs lead to every sum, one unit after the other."""
    ways = Counter({0: 1})
    for d in row:
        ways = sum((Counter({x + s * d: w for x, w in ways.items()}) for s in (1, -1)), Counter())
    return ways


def exact_sums(row: list[int]) -> Fraction:
    """The same from the distribution of the sum."""
    return share_beyond(row, abs(sum(row)))


def p_of(*row: int) -> float:
    return float(stats.sign_flip_test(np.array([row])).p[0])


def test_by_hand():
    # Five units, all one way: the two extremes of 32 patterns.
    assert p_of(1, 1, 1, 1, 1) == 2 / 32
    assert p_of(7, 7, 7, 7, 7, 0, 0) == 2 / 32
    # 9 of 10: 10 + 1 patterns at either end of 1,024.
    assert p_of(*[1] * 9, -1) == pytest.approx(22 / 1024, rel=1e-14)
    # Sums of 3, 1, 1 are 5, 3, 3, 1 and their negatives; three in four are 3 or more away.
    assert p_of(3, 1, -1) == pytest.approx(6 / 8, abs=1e-14)
    assert p_of(3, 1, 1) == pytest.approx(2 / 8, abs=1e-14)
    # A step common to all means nothing.
    assert p_of(30, 10, -10) == p_of(3, 1, -1)
    assert p_of(2, -1, -1) == 1.0
    assert p_of(0, 0) == 1.0


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=12))
def test_every_pattern_of_signs(row):
    found = stats.sign_flip_test(np.array([row]))
    assert not found.method.any()
    assert found.p[0] == pytest.approx(float(every_pattern(row)), abs=1e-13)


@given(
    st.lists(st.lists(st.integers(-40, 40), min_size=30, max_size=30), min_size=2, max_size=9),
    st.integers(1, 3),
)
def test_rows_together_are_rows_alone(rows, step):
    found = stats.sign_flip_test(step * np.array(rows))
    assert not found.method.any()
    for row, p in zip(rows, found.p, strict=True):
        assert p == pytest.approx(float(exact_sums(row)), abs=1e-12)


@pytest.mark.parametrize("magnitude", [2, 60, 701])
def test_many_units_of_mixed_size(magnitude):
    rng = np.random.default_rng(magnitude)
    rows = rng.integers(-magnitude, magnitude + 1, (4, 88))
    # The last goes so far that only Hoeffding's bound is left of it.
    rows[3] = np.abs(rows[3])
    found = stats.sign_flip_test(rows)
    assert not found.method.any()
    for row, p in zip(rows.tolist(), found.p, strict=True):
        assert 0 < p <= 1
        assert p == pytest.approx(float(exact_sums(row)), abs=1e-12)
    assert found.p[3] < 1e-9


@pytest.mark.parametrize("n", [1, 2, 13, 500, 1075, 12_032])
def test_one_magnitude_is_the_binomial_to_the_last_digits(n):
    for for_one in {n, n - 1, n // 2 + 1 + n // 8, n // 2 + 1}:
        against = n - for_one
        if for_one <= against:
            continue
        row = np.concatenate([np.ones(for_one, int), -np.ones(against, int)])[None]
        ways = sum(comb(n, k) for k in range(for_one, n + 1))
        exact = Fraction(2 * ways, 2**n)
        p = stats.sign_flip_test(row).p[0]
        if exact < Fraction(1, 2**1000):
            assert 0 < p < 1e-300
        else:
            assert p == pytest.approx(float(min(exact, 1)), rel=1e-12)
            mcnemar = scipy_stats.binomtest(for_one, n).pvalue
            assert p == pytest.approx(mcnemar, rel=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.randoms())
def test_order_and_direction_mean_nothing(row, random):
    mixed = list(row)
    random.shuffle(mixed)
    assert p_of(*mixed) == p_of(*row)
    assert p_of(*(-d for d in row)) == p_of(*row)


def test_many_fine_differences_are_left_to_the_normal_approximation():
    rng = np.random.default_rng(0)
    fine = rng.integers(-(10**6), 10**6, (3, 400))
    fine[1] = 10**6 * rng.integers(-1, 2, 400)
    fine[2, 200:] = -fine[2, :200]
    found = stats.sign_flip_test(fine)
    assert [stats.SIGN_FLIP_METHODS[m] for m in found.method] == ["normal", "exact", "exact"]
    z = abs(fine[0].sum()) / sqrt(float((fine[0].astype(float) ** 2).sum()))
    assert found.p[0] == pytest.approx(erfc(z / sqrt(2)), rel=1e-12)
    assert found.p[0] == pytest.approx(2 * scipy_stats.norm.sf(z), rel=1e-12)
    assert found.p[2] == 1.0


@pytest.mark.parametrize("weights", [(1_319, 800, 721), (100_003, 4_999, 251), (65_537, 1, 2)])
def test_few_fine_magnitudes_are_rounded(weights):
    """Means over tasks of odd sizes: a few large differences decide, and nothing is normal."""
    rng = np.random.default_rng(3)
    # The weight of an item is that of its task over the task's size.
    of = np.lcm.reduce(np.array(weights))
    sizes = np.repeat(of // np.array(weights), (2, 9, 24))
    rows = sizes * np.where(
        rng.random((12, len(sizes))) < np.linspace(0.5, 0.95, 12)[:, None], 1, -1
    )
    found = stats.sign_flip_test(rows)
    assert {stats.SIGN_FLIP_METHODS[m] for m in found.method} == {"rounded"}
    for row, p in zip(rows.tolist(), found.p, strict=True):
        # A sum close to the observed one may fall on its other side.
        near = abs(sum(row)) * 0.002
        exact = float(exact_sums(row))
        further, nearer = (float(share_beyond(row, abs(sum(row)) + s * near)) for s in (1, -1))
        assert further - 1e-12 <= exact <= nearer
        assert further - 1e-12 <= p <= nearer + 1e-12


def share_beyond(row: list[int], reached: float) -> Fraction:
    """The share of patterns of signs whose sum goes at least so far."""
    ways = sums_of(row)
    far = sum(w for x, w in ways.items() if abs(x) >= reached)
    return Fraction(far, sum(ways.values()))


def test_a_rounded_p_does_not_depend_on_other_rows():
    rng = np.random.default_rng(4)
    rows = rng.choice([-70_001, 99, 3_000_017], (40, 60))
    together = stats.sign_flip_test(rows).p
    alone = np.concatenate([stats.sign_flip_test(row[None]).p for row in rows])
    np.testing.assert_allclose(together, alone, atol=1e-12)


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=12))
def test_the_approximation_is_never_much_too_small(row):
    assert float(every_pattern(row)) <= 3.18 * stats.sign_flip_normal(np.array([row]))[0]


def test_the_approximation_is_near_where_many_alike_decide():
    rng = np.random.default_rng(1)
    rows = rng.integers(-100, 101, (50, 600))
    exact, rough = stats.sign_flip_test(rows).p, stats.sign_flip_normal(rows)
    # The exact p counts the sum observed in full, half of it more than an area does.
    np.testing.assert_allclose(rough, exact, atol=1e-3)


def test_the_bound_of_the_lattice(monkeypatch):
    monkeypatch.setattr(sign_flip, "LARGEST_TOTAL", 10)
    monkeypatch.setattr(sign_flip, "MOST_KINDS", 2)
    rows = np.array([[7, 3, 0], [7, 4, 4], [7, 2, 3]])
    assert stats.sign_flip_test(rows).method.tolist() == [0, 1, 2]


def test_no_unit_and_no_pair():
    assert stats.sign_flip_test(np.zeros((2, 0), dtype=int)).p.tolist() == [1.0, 1.0]
    assert stats.sign_flip_test(np.zeros((0, 3), dtype=int)).p.tolist() == []
    assert stats.sign_flip_normal(np.zeros((2, 3))).tolist() == [1.0, 1.0]


def test_sums_beyond_64_bits_are_refused():
    with pytest.raises(BadRequest, match="too large"):
        stats.sign_flip_test(np.full((1, 4), 2**61))


def test_holm_by_hand():
    found = stats.holm(np.array([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(found, [0.03, 0.06, 0.06, 0.02])
    assert stats.holm(np.array([0.6, 0.9, 0.5])).tolist() == [1.0, 1.0, 1.0]
    assert stats.holm(np.array([])).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.sampled_from([0.01, 0.05, 0.3]))
def test_holm_rejects_step_by_step(p, bound):
    rejected = set()
    for step, test in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if p[test] * (len(p) - step) > bound:
            break
        rejected.add(test)
    found = stats.holm(np.array(p))
    assert set(np.flatnonzero(found <= bound).tolist()) == rejected
    assert (found >= np.array(p)).all()
