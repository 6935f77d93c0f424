"""Ranks, buckets and the best K, against loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.leaderboard.mechanisms import Submission, run
from jaxbench.leaderboard.mechanisms.base import no_noise
from jaxbench.leaderboard.mechanisms.ranks import Bucket, Rank, RankAll, count_below
from jaxbench.leaderboard.mechanisms.top_k import TopK, smallest, submit
from jaxbench.leaderboard.mechanisms.visibility import Visibility
from oracle import boards

GENUINE = [30, 40, 40, 55, 60]
LOSSES = [45, 35, 58, 40, 20, 40]


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


# Compiled once per mechanism and shape; not once per example.
jitted_run = eqx.filter_jit(run)


def f64(values):
    return jnp.asarray(values, dtype=jnp.float64)


def along(mechanism, losses):
    """Feedback on sequences of losses, (submissions,) or (rows, submissions)."""
    by_submission = jnp.moveaxis(f64(losses), -1, 0)[..., None]
    noise = no_noise(by_submission)
    state = mechanism.start(no_noise(by_submission[0]))
    _, feedback = jitted_run(mechanism, Submission(by_submission), noise, state)
    return jax.tree.map(lambda x: np.moveaxis(np.asarray(x)[..., 0], 0, -1), feedback)


def test_ranks_of_the_spec():
    pool = f64(GENUINE)
    assert along(Rank(pool), LOSSES).released.tolist() == [4, 2, 5, 2, 1, 2]
    assert along(RankAll(pool, 6), LOSSES).released.tolist() == [4, 2, 7, 3, 1, 4]
    assert along(Bucket(pool, f64(4)), LOSSES).released.tolist() == [2, 0, 2, 0, 0, 0]


def test_top_three_of_the_spec():
    feedback = along(TopK(smallest(f64(GENUINE), 3)), LOSSES)
    assert feedback.visible.tolist() == [False, True, False, False, True, False]
    assert feedback.answered.tolist() == feedback.visible.tolist()
    assert feedback.released[feedback.visible].tolist() == [35, 20]
    board, ranks = smallest(f64(GENUINE), 3), []
    for loss in LOSSES:
        board = (found := submit(board, f64([loss]))).board
        ranks.append(float(found.rank[0]) if found.shown[0] else None)
    assert ranks == [None, 2, None, None, 1, None]
    assert TopK(board).team_row == "best"


def table(columns: int):
    """Three rows of whole losses."""
    return st.lists(
        st.lists(st.integers(0, 12), min_size=columns, max_size=columns), min_size=3, max_size=3
    )


@settings(max_examples=40)
@given(genuine=table(4), losses=table(7), buckets=st.integers(1, 7), k=st.sampled_from([1, 3, 6]))
def test_boards_are_the_oracles(genuine, losses, buckets, k):
    with jax.enable_x64(True):
        pool = f64(np.sort(genuine, axis=1))
        rank = along(Rank(pool), losses)
        every = along(RankAll(pool, 9), losses)
        cut = along(Bucket(pool, f64(buckets)), losses)
        best = along(TopK(smallest(f64(genuine), k)), losses)
    for row, (models, mine) in enumerate(zip(genuine, losses, strict=True)):
        assert rank.released[row].tolist() == boards.rank(models, mine)
        assert every.released[row].tolist() == boards.rank_all(models, mine)
        assert cut.released[row].tolist() == boards.bucket(models, mine, buckets)
        seen = boards.top_k(models, mine, k)
        assert best.visible[row].tolist() == [s is not None for s in seen]
        assert [r for r, s in zip(best.released[row], seen, strict=True) if s] == [
            s[0] for s in seen if s
        ]


@settings(max_examples=40)
@given(
    genuine=st.lists(st.integers(0, 9), max_size=5),
    losses=st.lists(st.integers(0, 9), max_size=8),
    k=st.integers(1, 6),
)
def test_a_board_cut_to_k_ranks_like_a_whole_one(genuine, losses, k):
    with jax.enable_x64(True):
        board = smallest(f64(np.array(genuine, dtype=np.float64)), k)
        for loss, seen in zip(losses, boards.top_k(genuine, losses, k), strict=True):
            rank, shown, board = submit(board, f64([loss]))
            assert (float(rank[0]) if shown[0] else None) == (seen[1] if seen else None)
    assert (np.diff(np.asarray(board)[np.isfinite(board)]) >= 0).all()


def test_whole_blocks_are_ranked_as_single_submissions_are():
    """(rows, candidates, 1) and (rows, 1), whatever the block."""
    rng = np.random.default_rng(0)
    pool = f64(np.sort(rng.integers(0, 30, (3, 8)), axis=1))
    losses = f64(rng.integers(0, 30, (3, 11, 1)))
    nothing = no_noise(losses)
    for mechanism in (Rank(pool), Bucket(pool, f64(5))):
        assert mechanism.stateless
        block = mechanism.step((), Submission(losses), nothing)[1].released
        for c in range(11):
            one = mechanism.step((), Submission(losses[:, c]), no_noise(losses[:, c]))[1]
            assert np.array_equal(one.released, block[:, c])
    # Every row has its own pool; without rows one pool serves all.
    assert np.array_equal(count_below(pool[1], losses)[1], count_below(pool, losses)[1])
    assert not np.array_equal(count_below(pool[1], losses)[0], count_below(pool, losses)[0])
    with pytest.raises(ValueError, match="do not start with the rows"):
        count_below(pool, losses[:2])


def test_a_buffer_longer_than_needed_changes_nothing():
    pool = f64(GENUINE)
    assert np.array_equal(along(RankAll(pool, 6), LOSSES).released,
                          along(RankAll(pool, 60), LOSSES).released)  # fmt: skip


def test_padding_of_a_pool_is_no_model():
    padded = f64([*GENUINE, np.inf, np.inf])
    assert along(Bucket(padded, f64(4)), LOSSES).released.tolist() == [2, 0, 2, 0, 0, 0]
    assert along(Rank(padded), LOSSES).released.tolist() == [4, 2, 5, 2, 1, 2]


@settings(max_examples=30)
@given(losses=st.lists(st.integers(0, 20), min_size=6, max_size=6))
def test_a_board_of_the_best_only(losses):
    with jax.enable_x64(True):
        public = along(Visibility(submitter=False), losses)
        own = along(Visibility(submitter=True), losses)
    best = boards.best_so_far(losses)
    assert public.released.tolist() == best
    assert public.answered.tolist() == [t == 0 or best[t] < best[t - 1] for t in range(6)]
    assert own.released.tolist() == losses
    assert own.answered.all()
    assert own.visible.all()
    assert public.visible.all()


def test_who_sees_more_changes_neither_board():
    assert Visibility(submitter=True).team_row == Visibility(submitter=False).team_row == "best"
    assert Visibility(submitter=True).stateless
    assert not Visibility(submitter=False).stateless
