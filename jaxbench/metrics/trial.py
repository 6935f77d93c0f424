"""What every trial and budget is worth, from scores on both sides of the split.

Source: spec of the attack, section 7. Scores are fractions here; names and percentage points come
with the table (`metrics.table`). Comparisons are between float64 losses rounded to 10 decimals.
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float64, Int

from jaxbench.metrics.ranking import PoolValues
from jaxbench.metrics.utility import pair_order_kept

DECIMALS = 10


class GenuineScores(eqx.Module):
    """Overall scores of the genuine models (name order) on both sides of every trial's split."""

    reused: Float64[np.ndarray, "trials models"]
    heldout: Float64[np.ndarray, "trials models"]

    def at(self, rows: Int[np.ndarray, " rows"]) -> "GenuineScores":
        """The scores in some of the trials."""
        return GenuineScores(self.reused[rows], self.heldout[rows])


class RouterScores(eqx.Module):
    """Final routers of every budget, and the history of all submissions before each of them.

    `row_reused` and `row_heldout` are the scores behind the row that the board shows of the team:
    those of the final router, unless a mechanism shows an earlier submission.

    `release_rate` is the share of all submissions up to the budget (the final router is the last)
    about which a number of their own was released; `board_error` the largest difference so far
    between the best true score, as the interface would release it, and the best released one.
    """

    reused: Float64[np.ndarray, "trials budgets"]
    heldout: Float64[np.ndarray, "trials budgets"]
    best_reused: Float64[np.ndarray, "trials budgets"]
    best_heldout: Float64[np.ndarray, "trials budgets"]
    gap: Float64[np.ndarray, "trials budgets"]
    row_reused: Float64[np.ndarray, "trials budgets"]
    row_heldout: Float64[np.ndarray, "trials budgets"]
    release_rate: Float64[np.ndarray, "trials budgets"]
    board_error: Float64[np.ndarray, "trials budgets"]


class History(NamedTuple):
    """Best scores so far on each side and the largest gap between them so far."""

    best_reused: Float64[np.ndarray, " trials"]
    best_heldout: Float64[np.ndarray, " trials"]
    gap: Float64[np.ndarray, " trials"]


class TrialMetrics(eqx.Module):
    """Metrics of every trial (rows) and budget (columns). Scores and differences are fractions.

    `selected` is the index of the chosen model, -1 for the team's row; `winner` that of the
    public winner before the attack. `pair_order_kept` is that of the genuine models alone
    (`metrics.utility`).
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
    pair_order_kept: Float64[np.ndarray, " trials"]


def genuine_history(scores: GenuineScores) -> History:
    """The history in which only the genuine models have submitted, in name order."""
    best_reused = np.maximum.accumulate(scores.reused, axis=1)
    best_heldout = np.maximum.accumulate(scores.heldout, axis=1)
    gap = np.abs(best_reused - best_heldout).max(axis=1)
    return History(best_reused[:, -1], best_heldout[:, -1], gap)


def trial_metrics(
    genuine: GenuineScores, router: RouterScores, public: PoolValues, hidden: PoolValues
) -> TrialMetrics:
    """Every metric of every trial and budget; the pool is the genuine models and the router.

    **Arguments:** scores, in which losses and gaps are measured, and what rows are ranked by on
    the reused (`public`) and held-out (`hidden`) side.
    """
    trials = np.arange(len(genuine.reused))
    column = trials[:, None]
    # argmin takes the first by name among equals.
    winner = np.argmin(_losses(public.before), axis=1)
    losses, router_losses = _losses(public.genuine), _losses(public.router)
    best = np.broadcast_to(np.argmin(losses, axis=2), router_losses.shape)
    chosen = router_losses < losses.min(axis=2)
    selected = np.where(chosen, -1, best)

    def of_selected(models: np.ndarray, routers: np.ndarray) -> np.ndarray:
        return np.where(chosen, routers, models[column, best])

    before = genuine.heldout[trials, winner]
    selected_heldout = of_selected(genuine.heldout, router.row_heldout)

    # Rank 1 is best; a row is behind every row with a smaller loss.
    hidden_losses, router_hidden = _losses(hidden.genuine), _losses(hidden.router)
    rank_reused = 1 + np.sum(losses < router_losses[:, :, None], axis=2)
    rank_heldout = 1 + np.sum(hidden_losses < router_hidden[:, :, None], axis=2)
    pool = np.broadcast_to(hidden_losses, (*router_hidden.shape, hidden_losses.shape[2]))

    def genuine_rank(model: np.ndarray) -> np.ndarray:
        mine = np.take_along_axis(pool, model[:, :, None], axis=2)
        return 1 + np.sum(pool < mine, axis=2) + (router_hidden < mine[:, :, 0])

    rank_before = genuine_rank(np.broadcast_to(winner[:, None], best.shape))
    rank_after = np.where(chosen, rank_heldout, genuine_rank(best))

    best_reused = np.maximum(router.best_reused, router.reused)
    best_heldout = np.maximum(router.best_heldout, router.heldout)
    return TrialMetrics(
        winner=winner,
        selected=selected,
        selection_loss=before[:, None] - selected_heldout,
        score_gap=np.maximum(router.gap, np.abs(best_reused - best_heldout)),
        genuine_gap=genuine_history(genuine).gap,
        false_winner=(rank_reused == 1) & (rank_heldout > 1),
        rank_drop=rank_after - rank_before,
        rank_reused=rank_reused,
        rank_heldout=rank_heldout,
        no_attack_reused=genuine.reused[trials, winner],
        no_attack_heldout=before,
        selected_reused=of_selected(genuine.reused, router.row_reused),
        selected_heldout=selected_heldout,
        heldout_regret=genuine.heldout.max(axis=1)[:, None] - router.heldout,
        pair_order_kept=pair_order_kept(public.before, hidden.before, decimals=DECIMALS),
    )


def _losses(scores: np.ndarray) -> np.ndarray:
    return np.round(1.0 - scores, DECIMALS)
