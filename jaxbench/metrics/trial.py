"""What every trial and budget is worth, from scores on both sides of the split.

Source: spec of the attack, section 7. Scores are fractions here; names and percentage points come
with the table (`metrics.table`). Comparisons are between float64 losses rounded to 10 decimals.
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float64, Int

DECIMALS = 10


class GenuineScores(eqx.Module):
    """Overall scores of the genuine models (name order) on both sides of every trial's split."""

    reused: Float64[np.ndarray, "trials models"]
    heldout: Float64[np.ndarray, "trials models"]


class RouterScores(eqx.Module):
    """Final routers of every budget, and the history of all submissions before each of them."""

    reused: Float64[np.ndarray, "trials budgets"]
    heldout: Float64[np.ndarray, "trials budgets"]
    best_reused: Float64[np.ndarray, "trials budgets"]
    best_heldout: Float64[np.ndarray, "trials budgets"]
    gap: Float64[np.ndarray, "trials budgets"]


class History(NamedTuple):
    """Best scores so far on each side and the largest gap between them so far."""

    best_reused: Float64[np.ndarray, " trials"]
    best_heldout: Float64[np.ndarray, " trials"]
    gap: Float64[np.ndarray, " trials"]


class TrialMetrics(eqx.Module):
    """Metrics of every trial (rows) and budget (columns). Scores and differences are fractions.

    `selected` is the index of the chosen model, -1 for the final router; `winner` that of the
    public winner before the attack.
    """

    winner: Int[np.ndarray, " trials"]
    selected: Int[np.ndarray, "trials budgets"]
    selection_loss: Float64[np.ndarray, "trials budgets"]
    score_gap: Float64[np.ndarray, "trials budgets"]
    genuine_gap: Float64[np.ndarray, " trials"]
    false_winner: Bool[np.ndarray, "trials budgets"]
    rank_drop: Int[np.ndarray, "trials budgets"]
    rank_reused: Int[np.ndarray, "trials budgets"]
    rank_heldout: Int[np.ndarray, "trials budgets"]
    no_attack_reused: Float64[np.ndarray, " trials"]
    no_attack_heldout: Float64[np.ndarray, " trials"]
    selected_reused: Float64[np.ndarray, "trials budgets"]
    selected_heldout: Float64[np.ndarray, "trials budgets"]
    heldout_regret: Float64[np.ndarray, "trials budgets"]


def genuine_history(scores: GenuineScores) -> History:
    """The history in which only the genuine models have submitted, in name order."""
    best_reused = np.maximum.accumulate(scores.reused, axis=1)
    best_heldout = np.maximum.accumulate(scores.heldout, axis=1)
    gap = np.abs(best_reused - best_heldout).max(axis=1)
    return History(best_reused[:, -1], best_heldout[:, -1], gap)


def public_winner(scores: GenuineScores) -> Int[np.ndarray, " trials"]:
    """The model with the smallest loss on the reused items, the first by name among equals."""
    return np.argmin(_losses(scores.reused), axis=1)


def trial_metrics(genuine: GenuineScores, router: RouterScores) -> TrialMetrics:
    """Every metric of every trial and budget; the pool is the genuine models and the router."""
    trials = np.arange(len(genuine.reused))
    winner = public_winner(genuine)
    public, hidden = _losses(genuine.reused), _losses(genuine.heldout)
    router_public, router_hidden = _losses(router.reused), _losses(router.heldout)

    chosen = router_public < public[trials, winner][:, None]
    selected = np.where(chosen, -1, winner[:, None])
    before = genuine.heldout[trials, winner]
    selected_heldout = np.where(chosen, router.heldout, before[:, None])
    selected_reused = np.where(chosen, router.reused, genuine.reused[trials, winner][:, None])

    # Rank 1 is best; a row is behind every row with a smaller loss.
    winner_hidden = hidden[trials, winner][:, None]
    ahead_of_winner = np.sum(hidden < winner_hidden, axis=1)[:, None]
    rank_winner = 1 + ahead_of_winner + (router_hidden < winner_hidden)
    rank_reused = 1 + np.sum(public[:, None, :] < router_public[:, :, None], axis=2)
    rank_heldout = 1 + np.sum(hidden[:, None, :] < router_hidden[:, :, None], axis=2)

    best_reused = np.maximum(router.best_reused, router.reused)
    best_heldout = np.maximum(router.best_heldout, router.heldout)
    return TrialMetrics(
        winner=winner,
        selected=selected,
        selection_loss=before[:, None] - selected_heldout,
        score_gap=np.maximum(router.gap, np.abs(best_reused - best_heldout)),
        genuine_gap=genuine_history(genuine).gap,
        false_winner=(rank_reused == 1) & (rank_heldout > 1),
        rank_drop=np.where(chosen, rank_heldout - rank_winner, 0),
        rank_reused=rank_reused,
        rank_heldout=rank_heldout,
        no_attack_reused=genuine.reused[trials, winner],
        no_attack_heldout=before,
        selected_reused=selected_reused,
        selected_heldout=selected_heldout,
        heldout_regret=genuine.heldout.max(axis=1)[:, None] - router.heldout,
    )


def _losses(scores: np.ndarray) -> np.ndarray:
    return np.round(1.0 - scores, DECIMALS)
