"""Endpoint rules against the oracle, in every arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.attacker import ENDPOINT_RULES, PublicProfiles, choose_endpoints
from jaxbench.attacker.public import LinearScore
from oracle.attack import choose_endpoints as oracle_endpoints

MODELS, COORDINATES = 7, 3
RULES = sorted(ENDPOINT_RULES)
SMALL = (4, 5, 6)
# Pairwise coprime and large: their common denominator passes 2^53, so float64 cannot be exact.
LARGE = (999_979, 999_983, 1_000_003)


def profiles(numerators, denominators, weights) -> PublicProfiles:
    total = sum(weights)
    numerators = np.array(numerators, dtype=np.int64)
    denominators = np.array([denominators], dtype=np.int64)
    even = (Fraction(1, numerators.shape[2]),) * numerators.shape[2]
    return PublicProfiles(
        numerators, denominators, numerators, denominators,
        overall_weights=tuple(Fraction(w, total) for w in weights),
        mean_weights=even, share_weights=even,
    )  # fmt: skip


def agree(board: PublicProfiles, rule: str) -> int:
    found = choose_endpoints(board, rule)
    names = [f"m{m}" for m in range(board.numerators.shape[1])]
    for trial, rows in enumerate(board.numerators.tolist()):
        profile = {
            name: {
                f"c{c}": Fraction(n, int(d))
                for c, (n, d) in enumerate(zip(row, board.denominators[0], strict=True))
            }
            for name, row in zip(names, rows, strict=True)
        }
        overall = {
            name: sum(w * p for w, p in zip(board.overall_weights, row.values(), strict=True))
            for name, row in profile.items()
        }
        expected = oracle_endpoints(profile, overall, rule)
        assert found.eligible[trial] == (expected is not None)
        if expected is not None:
            assert (names[found.a[trial]], names[found.b[trial]]) == expected
    return int(found.redone.sum())


@settings(max_examples=60)
@given(data=st.data(), rule=st.sampled_from(RULES))
def test_small_denominators_are_exact(data, rule):
    rows = [data.draw(st.tuples(*(st.integers(0, d) for d in SMALL))) for _ in range(2 * MODELS)]
    board = profiles(np.array(rows).reshape(2, MODELS, COORDINATES), SMALL, data.draw(
        st.tuples(*[st.integers(1, 5)] * COORDINATES)
    ))  # fmt: skip
    assert agree(board, rule) == 0


@settings(max_examples=40)
@given(data=st.data(), rule=st.sampled_from(RULES))
def test_large_denominators_fall_back_to_fractions(data, rule):
    # Near the diagonal, so that frontiers are wide and means, overalls and distances nearly tie.
    base = np.array(LARGE) // 2
    steps = st.integers(-1, 1)
    rows = [
        [int(b) + data.draw(steps) * 100 for b in base[:2]] + [int(base[2]) + data.draw(steps)]
        for _ in range(MODELS)
    ]
    agree(profiles([rows], LARGE, (1, 1, 1)), rule)


def test_a_tie_that_float64_cannot_see_is_decided_in_fractions():
    # m0 and m1 mirror each other around the middle: equal means, float64 sums that need not be.
    half = [d // 2 for d in LARGE]
    rows = [[h + 50 * s for h, s in zip(half, signs, strict=True)]
            for signs in ((1, -1, 0), (-1, 1, 0))]  # fmt: skip
    board = profiles([rows], LARGE, (1, 1, 1))
    assert agree(board, "top5") == 1


@pytest.mark.parametrize(
    ("denominators", "exact"), [(SMALL, True), (LARGE, False), ((2**20, 3**10, 5**9), False)]
)
def test_where_float64_is_exact(denominators, exact):
    weights = (Fraction(1, 3),) * 3
    score = LinearScore.of(weights, np.array([denominators]), trials=2)
    assert (score.relative_error == 0).tolist() == [exact] * 2
    # 10 decimals cannot merge distinct sums over a small common denominator.
    assert (score.rounding_margin == 0).tolist() == [exact] * 2


def test_hand_made_tie_rules():
    # Three models on the frontier, each pair at the same distance: the first pair by name.
    rows = [[4, 0, 3], [0, 4, 3], [2, 2, 5]]
    board = profiles([rows], (4, 4, 6), (1, 1, 1))
    found = choose_endpoints(board, "top5")
    # |m0 - m1| = 1 + 1 + 0 = 2 is largest (the others 1/2 + 1/2 + 1/3). Means: both 1/2: the tie
    # makes A the first name.
    assert (found.a[0], found.b[0], found.eligible[0]) == (0, 1, True)
    # A larger loss orients: take a point from m1 and A is m1.
    board.numerators[0, 1, 1] = 3
    found = choose_endpoints(board, "top5")
    assert (found.a[0], found.b[0]) == (1, 0)
