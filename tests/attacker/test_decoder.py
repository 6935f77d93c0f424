"""The decoder against loops: votes of a block, the static router, signs and ties."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbench.attacker.decoder import block_votes, one_vote, route, static_votes

ROWS, CONDITIONS, SLOTS, CANDIDATES = 3, 2, 5, 7


def drawn(seed: int, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole weights `(rows, conditions, candidates)` and signs `(rows, candidates, slots)`."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-largest, largest + 1, (ROWS, CONDITIONS, CANDIDATES))
    return weights, rng.choice([-1, 1], (ROWS, CANDIDATES, SLOTS))


def looped(weights: np.ndarray, signs: np.ndarray) -> list[list[list[int]]]:
    votes = [[[0] * SLOTS for _ in range(CONDITIONS)] for _ in range(ROWS)]
    every = (range(size) for size in (ROWS, CONDITIONS, SLOTS, CANDIDATES))
    for row, condition, slot, j in product(*every):
        votes[row][condition][slot] += int(weights[row, condition, j]) * int(signs[row, j, slot])
    return votes


# The largest whole weights of which 7 may be added in the type.
@pytest.mark.parametrize(("dtype", "largest"), [("float32", 2**21), ("float64", 2**50)])
def test_votes_of_a_block(dtype, largest):
    with jax.enable_x64(dtype == "float64"):
        for seed in range(5):
            weights, signs = drawn(seed, largest)
            # Routers of every row's own.
            votes = block_votes(jnp.asarray(weights, dtype), jnp.asarray(signs, dtype))
            assert votes.dtype == dtype
            assert votes.tolist() == looped(weights, signs)
            # One bank for all rows, by slots.
            votes = block_votes(jnp.asarray(weights, dtype), jnp.asarray(signs[1].T, dtype))
            assert votes.dtype == dtype
            assert votes.tolist() == looped(weights, np.broadcast_to(signs[1], signs.shape))


def test_one_vote_is_what_the_last_candidate_adds():
    weights, signs = drawn(4, 100)
    w = jnp.asarray(weights, "float32")
    for bank in (jnp.asarray(signs, "float32"), jnp.asarray(signs[0].T, "float32")):
        alone = block_votes(w.at[:, :, :-1].set(0.0), bank)
        assert np.array_equal(one_vote(w[:, :, -1], bank), alone)


def test_a_shared_bank_is_a_fresh_one_that_all_rows_share():
    weights, signs = drawn(9, 100)
    w = jnp.asarray(weights, "float32")
    one = jnp.asarray(signs[0], "float32")
    assert np.array_equal(block_votes(w, one.T), block_votes(w, jnp.stack([one] * ROWS)))


def test_a_candidate_without_weight_has_no_vote():
    weights, signs = drawn(2, 50)
    weights[:, :, 4:] = 0
    w, s = jnp.asarray(weights, "float32"), jnp.asarray(signs, "float32")
    assert np.array_equal(block_votes(w, s), block_votes(w, s.at[:, 4:].set(1.0)))
    assert np.array_equal(block_votes(w, s), block_votes(w[:, :, :4], s[:, :4]))
    assert not np.array_equal(block_votes(w, s), block_votes(w, s.at[:, 0].multiply(-1.0)))


def test_turning_a_candidate_round_changes_no_vote():
    """It sends everything to the other endpoint and its contrast turns with it."""
    weights, signs = drawn(3, 50)
    turned_weights, turned_signs = weights.copy(), signs.copy()
    turned_weights[:, :, 2] *= -1
    turned_signs[:, 2] *= -1
    assert np.array_equal(
        block_votes(jnp.asarray(weights, "float32"), jnp.asarray(signs, "float32")),
        block_votes(jnp.asarray(turned_weights, "float32"), jnp.asarray(turned_signs, "float32")),
    )


def test_the_static_router_follows_the_released_coordinates():
    # Two trials, under two conditions each: one coordinate with three items.
    votes = static_votes(jnp.asarray([[2.0, -3.0], [0.0, 5.0]]), 3)
    assert votes.tolist() == [[[2] * 3, [-3] * 3], [[0] * 3, [5] * 3]]
    to_a = route(votes, jnp.asarray([[[False, True, False]]]))
    assert to_a.tolist() == [
        [[True] * 3, [False] * 3],
        [[False, True, False], [True] * 3],
    ]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_sign_of_a_vote_or_its_tie_sign(dtype):
    votes = jnp.asarray([[[3, -1, 0, 0]], [[0, 0, -7, 1]]], dtype)
    shared = jnp.asarray([[[False, True, True, False]]])
    assert route(votes, shared).tolist() == [
        [[True, False, True, False]],
        [[False, True, False, True]],
    ]
    own = jnp.asarray([[[False, True, True, False]], [[True, False, True, False]]])
    assert route(votes, own).tolist() == [
        [[True, False, True, False]],
        [[True, False, False, True]],
    ]


def test_minus_zero_is_a_tie():
    votes = jnp.asarray([[[-0.0, 0.0]]], "float32")
    assert route(votes, jnp.asarray([[[True, True]]])).tolist() == [[[True, True]]]
    assert route(votes, jnp.asarray([[[False, False]]])).tolist() == [[[False, False]]]
