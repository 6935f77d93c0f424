"""Trials summarised: means over trials with paired bootstrap intervals.

The intervals are over trials and, with hash routers, conditional on the one bank that all trials
share; `bank_spread` is the variation that they leave out (spec: attack, section 7).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from jaxbench import stats

METRICS = (
    "selection_loss_pp",
    "score_gap_pp",
    "genuine_gap_pp",
    "false_winner",
    "selected_router",
    "rank_drop",
    "no_attack_reused_pp",
    "no_attack_heldout_pp",
    "selected_reused_pp",
    "selected_heldout_pp",
    "router_reused_pp",
    "router_heldout_pp",
    "loss_vs_static_pp",
)
# Familywise error of the first significant budget, its resamples, and the loss that counts (pp).
FAMILY_ERROR = 0.05
FAMILY_RESAMPLES = 100_000
SMALLEST_LOSS_PP = 1e-10


def _cube(trials: pd.DataFrame, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values `(trials, budgets, columns)` and which of them count, from a trial table."""
    budgets = trials["budget"].nunique()
    values = trials[list(columns)].to_numpy(dtype=np.float64)
    values = values.reshape(-1, budgets, len(columns))
    attempted = trials["budget"].to_numpy().reshape(-1, budgets) == 0
    counts = trials["eligible"].to_numpy(dtype=bool).reshape(-1, budgets) | attempted
    return values, counts[:, :, None] & ~np.isnan(values)


def summarise(trials: pd.DataFrame, *, resamples: int, seed: int) -> pd.DataFrame:
    """Mean, `_low` and `_high` (95 %) of every metric, one row per budget.

    **Arguments:** `trials`: the table of one condition, sorted by trial and budget; budget 0
    counts every trial, the others only eligible ones. Without an eligible trial the numbers of
    a row are empty.
    """
    values, valid = _cube(trials, METRICS)
    count, budgets, columns = values.shape
    flat, counted = values.reshape(count, -1), valid.reshape(count, -1)
    mean = stats.means(values, valid)
    low, high = stats.percentile_interval(
        stats.resampled_means(flat, counted, resamples=resamples, seed=seed)
    )
    ends = {"_low": low.reshape(budgets, columns), "_high": high.reshape(budgets, columns)}
    eligible = trials["eligible"].to_numpy(dtype=bool).reshape(count, budgets)[:, 0].sum()
    budget = trials["budget"].to_numpy()[:budgets]
    table: dict[str, object] = {
        "budget": budget,
        "eligible_trials": np.where(budget == 0, count, eligible),
        "attempted_trials": count,
    }
    for index, name in enumerate(METRICS):
        table[name] = mean[:, index]
        table |= {f"{name}{end}": values[:, index] for end, values in ends.items()}
    return pd.DataFrame(table)


def budget_means(trials: pd.DataFrame) -> pd.DataFrame:
    """The mean of every metric, one row per budget, as in `summarise` but without intervals."""
    values, valid = _cube(trials, METRICS)
    return pd.DataFrame(stats.means(values, valid), columns=list(METRICS))


def bank_spread(bank_means: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Mean and standard deviation (n - 1) over router banks of every metric's mean, per budget."""
    means = np.stack([table.to_numpy(dtype=np.float64) for table in bank_means])
    middle, spread = means.mean(axis=0), means.std(axis=0, ddof=1)
    table: dict[str, object] = {"banks": len(bank_means)}
    for index, name in enumerate(METRICS):
        table[f"{name}_bank_mean"] = middle[:, index]
        table[f"{name}_bank_sd"] = spread[:, index]
    return pd.DataFrame(table, index=range(middle.shape[0]))


def first_significant_budget(trials: pd.DataFrame, *, seed: int) -> int | None:
    """The smallest budget >= 2 whose mean selection loss is surely above zero, or None.

    One-sided basic lower bounds at error 0.05 / (number of budgets tested), 100,000 resamples
    (spec: attack, section 7).
    """
    budgets = np.sort(trials["budget"].unique())
    tested = np.flatnonzero(budgets >= 2)
    values, valid = _cube(trials, ("selection_loss_pp",))
    values, valid = values[:, tested, 0], valid[:, tested, 0]
    if not len(tested) or not valid.any():
        return None
    resampled = stats.resampled_means(values, valid, resamples=FAMILY_RESAMPLES, seed=seed)
    # A resample without any eligible trial has no mean; it cannot speak for a loss.
    resampled = resampled[~np.isnan(resampled).any(axis=1)]
    bound = stats.basic_lower_bound(
        stats.means(values, valid), resampled, FAMILY_ERROR / len(tested)
    )
    passed = budgets[tested][bound > SMALLEST_LOSS_PP]
    return int(passed[0]) if len(passed) else None
