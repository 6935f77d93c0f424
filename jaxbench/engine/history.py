"""The history of submissions: best scores so far on either side, and what a board shows of them."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float64

# Submissions per pass of a loop: its own price is more than that of a comparison.
TOGETHER = 4


class History(NamedTuple):
    """Best scores so far on each side, and the largest gap between them so far."""

    best_reused: Float64[Array, "*shape"]
    best_heldout: Float64[Array, "*shape"]
    gap: Float64[Array, "*shape"]


class Board(NamedTuple):
    """Released overall losses of a team: the smallest true and the smallest released one so far.

    `shown` is infinite where none is visible; `error` is the largest difference of the two so far.
    """

    best: Float64[Array, "*shape"]
    shown: Float64[Array, "*shape"]
    error: Float64[Array, "*shape"]


def extend_history(
    history: History,
    reused: Float64[Array, "candidates *shape"],
    heldout: Float64[Array, "candidates *shape"],
) -> History:
    """The history after every candidate of a block, in order, `(candidates, *shape)`."""
    return extend_with_boards(history, (), reused, heldout, ())[0]


def extend_with_boards(
    history: History,
    boards: tuple[Board, ...],
    reused: Float64[Array, "candidates *shape"],
    heldout: Float64[Array, "candidates *shape"],
    losses: tuple[tuple[Array, Array], ...],
) -> tuple[History, tuple[Board, ...]]:
    """The same with what boards show.

    **Arguments:** `losses`: true and released overall losses for every board, candidates first,
    infinite where there are none.
    """

    def step(before, scores):
        history, boards = before
        reused, heldout, losses = scores
        history = extend_by_one(history, reused, heldout)
        boards = tuple(
            extend_board(board, *mine) for board, mine in zip(boards, losses, strict=True)
        )
        return (history, boards), (history, boards)

    unroll = min(TOGETHER, len(reused))
    return lax.scan(step, (history, boards), (reused, heldout, losses), unroll=unroll)[1]


def extend_board(
    board: Board, true: Float64[Array, "*shape"], released: Float64[Array, "*shape"]
) -> Board:
    """A board after one more submission."""
    best, shown = jnp.minimum(board.best, true), jnp.minimum(board.shown, released)
    # Where nothing is shown, or nothing was submitted, there is nothing to compare.
    apart = jnp.where(jnp.isinf(true) | jnp.isinf(shown), 0.0, jnp.abs(best - shown))
    return Board(best, shown, jnp.maximum(board.error, apart))


def extend_by_one(
    history: History, reused: Float64[Array, "*shape"], heldout: Float64[Array, "*shape"]
) -> History:
    """The history after one more submission."""
    best_reused = jnp.maximum(history.best_reused, reused)
    best_heldout = jnp.maximum(history.best_heldout, heldout)
    gap = jnp.maximum(history.gap, jnp.abs(best_reused - best_heldout))
    return History(best_reused, best_heldout, gap)
