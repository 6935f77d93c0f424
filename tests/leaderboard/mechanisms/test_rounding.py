"""Rounding to a grid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from jaxbench.leaderboard.mechanisms.rounding import floor_to_grid, round_to_grid
from oracle import mechanisms as oracle
from releasing import chain_of, given, one_number, play

SEQUENCE = (50, 45, 55, 41, 40, 35, 34, 25, 26, 15)
rounding, flooring = jax.jit(round_to_grid), jax.jit(floor_to_grid)
GRIDS = st.one_of(st.integers(1, 2**20), st.sampled_from([0, 1, 2, 3, 10, 49, 3 * 7 * 11 * 2**20]))


def on_grid(rule, x, h):
    with jax.enable_x64(True):
        return np.asarray(rule(jnp.array([[x]]), np.array([[float(h)]])))[0, 0]


def test_the_specs_sequence():
    chain, _ = chain_of(given("rounding", step="0.1"))
    found = play(chain, one_number(SEQUENCE)).released.ravel()
    assert found.tolist() == [50, 40, 60, 40, 40, 40, 30, 20, 30, 20]


@examples(st.integers(0, 2**52 - 1), GRIDS)
def test_whole_numbers_round_exactly(x, h):
    assert on_grid(rounding, float(x), h) == oracle.to_grid(x, h)


@examples(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_halves_of_a_grid_go_to_even(multiple, h):
    half = (2 * multiple + 1) * h / 2
    assert on_grid(rounding, half, h) == (multiple + multiple % 2) * h


@examples(st.floats(-1e6, 1e6), st.integers(1, 1000))
def test_what_is_not_whole_rounds_to_the_nearest(x, h):
    assert on_grid(rounding, x, h) == oracle.to_grid(x, h)


@examples(st.integers(0, 2**52 - 1), GRIDS)
def test_truncation_is_exact(x, h):
    assert on_grid(flooring, float(x), h) == (x // h * h if h else x)


@examples(st.lists(st.integers(0, 300), min_size=12, max_size=12))
def test_truncation_is_of_the_score(losses):
    chain, ticks = chain_of(given("rounding", step="0.05", mode="floor"), denominators=(300,))
    assert ticks.per_score.tolist() == [[300]]
    found = play(chain, one_number(losses)).released.ravel()
    assert found.tolist() == oracle.truncated(losses, 15, 300)


@pytest.mark.parametrize("rule", [rounding, flooring])
def test_what_is_infinite_stays_so(rule):
    assert on_grid(rule, np.inf, 10) == np.inf
