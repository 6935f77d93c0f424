"""What rows are ranked by, before the attack and in the pool with a final router.

Source: spec of the attack, sections 6 and 7. Most scoring rules rank a row by its own score;
`mean_win_rate` ranks it by the rows it beats, so the ranking changes with the pool.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int


class PoolValues(NamedTuple):
    """Ranking values, higher is better, on one side of the split.

    `before`: genuine models among themselves. `genuine` and `router`: in the pool of the genuine
    models and the final router of each budget (the middle axis of `genuine` has length 1 where
    the pool does not matter).
    """

    before: Float64[np.ndarray, "trials models"]
    genuine: Float64[np.ndarray, "trials #budgets models"]
    router: Float64[np.ndarray, "trials budgets"]


def by_score(
    genuine: Float64[np.ndarray, "trials models"], router: Float64[np.ndarray, "trials budgets"]
) -> PoolValues:
    """Rows ranked by their own scores."""
    return PoolValues(genuine, genuine[:, None, :], router)


def by_win_rate(
    genuine: Float64[np.ndarray, "trials models tasks"],
    router: Float64[np.ndarray, "trials budgets tasks"],
) -> PoolValues:
    """Rows ranked by the mean over tasks of the share of other rows that they beat.

    Ties count one half. Task scores may be counts: within a task only their order matters.
    """
    tasks, models = genuine.shape[2], genuine.shape[1]
    among = half_wins(genuine)
    against = np.zeros((*router.shape[:2], models), dtype=np.int64)
    for t in range(tasks):
        against += _half_wins(genuine[:, None, :, t], router[:, :, None, t])
    router_wins = 2 * tasks * models - against.sum(axis=2)
    others = 2.0 * tasks * models
    return PoolValues(
        before=win_rates(among, tasks),
        genuine=(among[:, None, :] + against) / others,
        router=router_wins / others,
    )


def half_wins(
    scores: Float64[np.ndarray, "trials models tasks"],
) -> Int[np.ndarray, "trials models"]:
    """Twice the rows that each model beats, summed over tasks (a tie counts 1)."""
    wins = np.zeros(scores.shape[:2], dtype=np.int64)
    for t in range(scores.shape[2]):
        column = scores[:, :, t]
        wins += _half_wins(column[:, :, None], column[:, None, :]).sum(axis=2) - 1
    return wins


def win_rates(
    wins: Int[np.ndarray, "trials models"], tasks: int
) -> Float64[np.ndarray, "trials models"]:
    """Win rates in [0, 1] from `half_wins`."""
    return wins / (2.0 * tasks * (wins.shape[1] - 1))


def _half_wins(mine: np.ndarray, other: np.ndarray) -> np.ndarray:
    return 2 * (mine > other).astype(np.int64) + (mine == other)
