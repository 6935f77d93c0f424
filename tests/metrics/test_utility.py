"""Pairs whose order a board keeps: by hand, and against loops over exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.metrics import utility
from jaxbench.metrics.utility import pair_order_kept
from oracle.attack import pair_order_kept as slow


def kept(public, hidden):
    return pair_order_kept(np.array(public, float), np.array(hidden, float), decimals=10)


def test_by_hand():
    # Trial 0: both in order, 1 pp apart; trial 1: a public tie; trial 2: not far enough apart, and
    # no pair is; trial 3: 0.7 and 0.3 are in order, 0.7 and 0.5 not, 0.5 and 0.3 are.
    public = [[0.2, 0.1, 0.2], [0.3, 0.3, 0.3], [0.2, 0.1, 0.0], [0.6, 0.7, 0.1]]
    hidden = [[0.51, 0.5, 0.51], [0.1, 0.2, 0.3], [0.5, 0.5099, 0.5], [0.7, 0.5, 0.3]]
    np.testing.assert_array_equal(kept(public, hidden), [1.0, 0.0, np.nan, 2 / 3])


@pytest.mark.parametrize("high", [0.01, 0.36, 0.58, 0.7, 1.0])
def test_exactly_one_point_apart_counts(high):
    # In floats 0.36 - 0.35 and 0.7 - 0.69 are less than 0.01.
    assert kept([[0.9, 0.1]], [[high, high - 0.01]]).tolist() == [1.0]
    low = round(high - 0.01, 2)
    assert kept([[0.9, 0.1]], [[high, low]]).tolist() == [1.0]
    assert np.isnan(kept([[0.9, 0.1]], [[high, low + 1e-10]]))
    # What is the same to 10 decimals is level.
    assert kept([[0.9, 0.9 - 1e-12]], [[high, low]]).tolist() == [0.0]


@given(
    pool=st.lists(
        st.lists(
            st.tuples(st.integers(0, 12), st.integers(0, 150)),
            min_size=5, max_size=5,
        ),
        min_size=1, max_size=4,
    ),
    of=st.sampled_from([150, 300, 997]),
)  # fmt: skip
def test_against_loops(pool, of):
    public = [[Fraction(p, 13) for p, _ in trial] for trial in pool]
    hidden = [[Fraction(h, of) for _, h in trial] for trial in pool]
    found = kept(public, hidden)
    for value, *trial in zip(found, public, hidden, strict=True):
        expected = slow(*trial)
        assert np.isnan(value) if expected is None else value == expected


def test_trials_that_are_taken_together_mean_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    public, hidden = rng.integers(0, 30, (2, 50, 12)) / 30
    whole = kept(public, hidden)
    monkeypatch.setattr(utility, "MOST_DIFFERENCES", 36)
    np.testing.assert_array_equal(kept(public, hidden), whole)
