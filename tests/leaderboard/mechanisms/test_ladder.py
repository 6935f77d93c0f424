"""The Ladder, and its form on whole profiles."""

from fractions import Fraction
from math import isinf

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from oracle import mechanisms as oracle
from releasing import chain_of, given, one_number, play

SEQUENCE = (50, 45, 55, 41, 40, 35, 34, 25, 26, 15)
PROFILES = ((60, 40), (30, 60), (20, 55), (50, 10), (31, 29))
LOSSES = st.lists(st.integers(0, 100), min_size=12, max_size=12)
STEPS = st.sampled_from(["0", "0.01", "0.03", "0.05", "0.1", "1/3", "0.25"])


def released(losses, **values):
    chain, ticks = chain_of(given("ladder", **values))
    factor = ticks.per_score[0, 0] // 100
    feedback = play(chain, one_number(losses) * factor)
    assert feedback.visible.all()
    return feedback.released.ravel(), feedback.answered.ravel(), int(factor)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ("true", [50, 50, 50, 50, 50, 40, 40, 20, 20, 20]),
        ("false", [50, 50, 50, 50, 50, 35, 35, 35, 35, 15]),
        ("julia", [50, 50, 50, 50, 50, 35, 35, 35, 35, 15]),
    ],
)
def test_the_specs_sequence(rounds, expected):
    assert released(SEQUENCE, step="0.1", round=rounds)[0].tolist() == expected


def test_the_specs_sequence_from_a_board():
    chain, _ = chain_of(given("ladder", step="0.1"))
    genuine = [[[61.0], [44.0], [55.0]]]
    found = play(chain, one_number(SEQUENCE), genuine=genuine).released.ravel()
    assert found.tolist() == [40, 40, 40, 40, 40, 40, 40, 20, 20, 20]


def test_no_step_is_the_running_minimum():
    assert released(SEQUENCE, step="0")[0].tolist() == np.minimum.accumulate(SEQUENCE).tolist()


def test_ladder_jl_rounds_to_as_many_decimals_as_items_have():
    # round(log10 400) = 3 decimals: 137/400 = .3425 -> .342; the step is on as fine a grid.
    chain, ticks = chain_of(given("ladder", step="0.1", round="julia"), denominators=(400,))
    assert ticks.per_score.tolist() == [[2000]]
    assert play(chain, one_number([137 * 5])).released.ravel().tolist() == [684]


@examples(LOSSES, STEPS, st.booleans())
def test_against_whole_numbers(losses, step, rounds):
    found, answered, factor = released(losses, step=step, round=str(rounds).lower())
    eta = Fraction(step) * 100 * factor
    exact = [loss * factor for loss in losses]
    expected, accepted = oracle.ladder(exact, eta, eta if rounds else 0)
    assert found.tolist() == expected
    assert answered.tolist() == accepted


@examples(LOSSES, STEPS)
def test_invariants(losses, step):
    found, answered, factor = released(losses, step=step)
    eta = float(Fraction(step) * 100 * factor)
    changes = -np.diff(found)
    assert (changes >= 0).all()
    assert (changes[changes > 0] >= eta).all()
    if eta:
        assert answered.sum() <= oracle.to_grid(100 * factor, int(eta)) / int(eta) + 1
    best = np.minimum.accumulate(losses) * factor
    assert (np.abs(best - found) <= eta).all()


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("gate", [(60, 40), (60, 40), (20, 60), (20, 60), (20, 60)]),
        ("coordinates", [(60, 40), (30, 40), (30, 40), (30, 10), (30, 10)]),
    ],
)
def test_the_specs_profiles(on, expected):
    chain, _ = chain_of(given("ladder", step="0.1"), denominators=(100, 100), on=on)
    found = play(chain, np.array(PROFILES, float)[:, None]).released[:, 0]
    assert list(map(tuple, found)) == expected


def test_the_specs_profiles_by_their_overall():
    overall = [sum(profile) / 2 for profile in PROFILES]
    assert released(overall, step="0.1")[0].tolist() == [50, 50, 40, 40, 40]


@examples(
    st.lists(st.tuples(*[st.integers(0, n) for n in (5, 7, 12)]), min_size=8, max_size=8),
    st.sampled_from(["0", "0.05", "0.1", "1/7"]),
)
def test_gate_against_fractions(profiles, step):
    counts, weights = (5, 7, 12), (Fraction(1, 2), Fraction(1, 6), Fraction(1, 3))
    chain, ticks = chain_of(
        given("ladder", step=step), denominators=counts, on="gate", weights=weights
    )
    factor = ticks.per_score[0] // counts
    feedback = play(chain, (np.array(profiles, float) * factor)[:, None])
    exact = [[Fraction(x, n) for x, n in zip(p, counts, strict=True)] for p in profiles]
    expected, accepted = oracle.gate(exact, weights, Fraction(step), Fraction(step))
    found = feedback.released[:, 0] / ticks.per_score[0]
    assert found.tolist() == [[float(x) for x in profile] for profile in expected]
    assert feedback.answered[:, 0].all(axis=1).tolist() == accepted


def test_a_gate_on_a_board_starts_from_its_best_profile():
    chain, _ = chain_of(given("ladder", step="0.1"), denominators=(100, 100), on="gate")
    genuine = [[[70.0, 52.0], [36.0, 48.0], [90.0, 5.0]]]
    feedback = play(chain, np.array(PROFILES, float)[:, None], genuine=genuine)
    # (36, 48) is best and rounds to (40, 50), overall 45; only (50, 10) beats that by more.
    assert feedback.answered[:, 0].tolist() == [[False] * 2, [False] * 2, [False] * 2,
                                                [True] * 2, [False] * 2]  # fmt: skip
    assert feedback.released[0, 0].tolist() == [40, 50]
    assert feedback.released[-1, 0].tolist() == [50, 10]


def test_a_number_that_is_not_shown_is_not_accepted():
    # Behind a Frontier a Ladder sees nothing of a dominated profile.
    chain, _ = chain_of(
        given("frontier_ladder", step="0.1"), given("ladder", step="0"),
        denominators=(100, 100), on="coordinates",
    )  # fmt: skip
    feedback = play(chain, np.array([(50, 50), (45, 55), (30, 56)], float)[:, None])
    assert feedback.visible[:, 0].all(axis=1).tolist() == [True, False, True]
    assert isinf(feedback.released[1, 0, 0])
    assert feedback.released[2, 0].tolist() == [30, 50]
    assert feedback.answered[2, 0].tolist() == [True, False]
