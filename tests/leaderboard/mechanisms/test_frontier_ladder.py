"""The Frontier Ladder, against loops over members."""

from fractions import Fraction
from math import isinf

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from oracle import mechanisms as oracle
from releasing import chain_of, given, one_number, play

PROFILES = ((50, 50), (45, 55), (30, 56), (56, 30), (39, 39), (38, 29), (28, 45), (20, 20))
HIDDEN = None
ROWS = 12
steps = st.sampled_from(["0", "0.01", "0.05", "0.1", "0.3"])


def profiles(numbers, rows=ROWS, most=100):
    one = st.tuples(*[st.integers(0, most)] * numbers)
    return st.lists(one, min_size=rows, max_size=rows)


def frontier(sequence, step, *, genuine=None, capacity=64):
    """What is released, None where nothing is."""
    sequence = np.array(sequence, dtype=float)
    chain, _ = chain_of(
        given("frontier_ladder", step=step), denominators=(100,) * sequence.shape[1],
        on="coordinates", capacity=capacity,
    )  # fmt: skip
    start = None if genuine is None else np.array([genuine], dtype=float)
    feedback = play(chain, sequence[:, None], genuine=start)
    found = []
    for row, seen, own in zip(
        feedback.released[:, 0], feedback.visible[:, 0], feedback.answered[:, 0], strict=True
    ):
        assert seen.all() == seen.any()
        assert np.array_equal(seen, own)
        assert seen.all() or all(map(isinf, row))
        found.append(tuple(row.tolist()) if seen.all() else HIDDEN)
    return found


def ticks(step):
    return round(float(step) * 100)


@pytest.mark.parametrize(
    ("step", "start", "expected"),
    [
        ("0.1", None, [(50, 50), HIDDEN, (30, 60), (60, 30), (40, 40), (40, 30), (30, 40),
                       (20, 20)]),
        ("0", None, list(PROFILES)),
        ("0.1", [(40, 40)], [HIDDEN] * 5 + [(40, 30), (30, 40), (20, 20)]),
    ],
)  # fmt: skip
def test_the_specs_sequence(step, start, expected):
    assert frontier(PROFILES, step, genuine=start) == expected


@examples(profiles(2), steps, st.booleans())
def test_against_loops_on_two_numbers(sequence, step, board):
    genuine = [(41, 62), (77, 18), (50, 50)] if board else None
    start = [[oracle.to_grid(x, ticks(step)) for x in row] for row in genuine or ()]
    expected = oracle.frontier(sequence, ticks(step), start)
    assert frontier(sequence, step, genuine=genuine) == expected
    # Members that a newer one dominates change nothing.
    start = [tuple(map(int, row)) for row in start]
    assert oracle.pruned_frontier(sequence, ticks(step), start) == expected


@examples(profiles(3, most=12), steps)
def test_against_loops_on_three_numbers(sequence, step):
    sequence = [tuple(8 * x for x in row) for row in sequence]
    assert frontier(sequence, step) == oracle.frontier(sequence, ticks(step))


@examples(profiles(1), steps)
def test_with_one_number_it_is_the_ladder_release_for_release(sequence, step):
    found = frontier(sequence, step)
    ladder, _ = chain_of(given("ladder", step=step))
    expected = play(ladder, one_number(sequence))
    assert [row is not HIDDEN for row in found] == expected.answered.ravel().tolist()
    shown = expected.released.ravel()[expected.answered.ravel()]
    assert [row[0] for row in found if row is not HIDDEN] == shown.tolist()


@examples(
    profiles(2), st.sampled_from(["0.1", "0.2", "0.3"]),
    st.tuples(st.integers(0, 7), st.integers(1, 7)),
)  # fmt: skip
def test_bounds(sequence, step, weights):
    found, eta = frontier(sequence, step), ticks(step)
    shown = [row for row in found if row is not HIDDEN]
    # Every release is a new point of the grid.
    assert len(set(shown)) == len(shown) <= (oracle.to_grid(100, eta) / eta + 1) ** 2
    lam = [Fraction(w, sum(weights)) for w in weights]

    def value(row):
        return sum(w * int(x) for w, x in zip(lam, row, strict=True))

    for t in range(1, ROWS + 1):
        true = min(map(value, sequence[:t]))
        released = min(value(row) for row in found[:t] if row is not HIDDEN)
        assert true - Fraction(eta, 2) <= released <= true + eta


def test_the_pareto_rule_counts_an_equal_profile_as_dominated():
    sequence = [(30, 60), (30, 60), (30, 59), (31, 59), (29, 70)]
    expected = [(30, 60), HIDDEN, (30, 59), HIDDEN, (29, 70)]
    assert frontier(sequence, "0") == expected


def test_trials_have_frontiers_of_their_own():
    chain, _ = chain_of(
        given("frontier_ladder", step="0.1"), denominators=(100, 100), on="coordinates"
    )
    sequences = np.array([PROFILES, PROFILES[::-1], [(60, 60)] * 8], dtype=float)
    feedback = play(chain, sequences.swapaxes(0, 1))
    for trial, sequence in enumerate(sequences):
        alone = play(chain, sequence[:, None])
        assert np.array_equal(feedback.released[:, trial], alone.released[:, 0])


def test_a_buffer_longer_than_needed_changes_nothing():
    assert frontier(PROFILES, "0.1", capacity=7) == frontier(PROFILES, "0.1", capacity=300)


def test_more_genuine_rows_than_there_is_room_for_are_refused():
    with pytest.raises(BadRequest, match="3 genuine rows, and room for 2"):
        frontier(PROFILES, "0.1", genuine=[(1, 2), (2, 1), (3, 0)], capacity=2)
