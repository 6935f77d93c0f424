"""Trials summarised: means over trials with paired bootstrap intervals.

The intervals are over trials and, with hash routers, conditional on the one bank that all trials
share; `bank_spread` is the variation that they leave out (spec: attack, section 7).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

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
    "pair_order_kept",
    "release_rate",
    "board_error_pp",
)
# Familywise error of the first significant budget, its resamples, and the loss that counts (pp).
FAMILY_ERROR = 0.05
FAMILY_RESAMPLES = 100_000
SMALLEST_LOSS_PP = 1e-10


class Part(NamedTuple):
    """Sums over some trials of one condition, by the rows that are resampled.

    `sums` and `counts` have a column per budget and metric; the eligible trials of all rows stand
    in the first one.
    """

    rows: Int64[np.ndarray, " rows"]
    eligible: Int64[np.ndarray, " rows"]
    sums: Float64[np.ndarray, "rows columns"]
    counts: Float64[np.ndarray, "rows columns"]


class Summary:
    """Sums of every metric over the trials of one condition, filled some trials at a time.

    Budget 0 counts every trial, the others only eligible ones. What is held does not grow with
    the trials above 10,000 (`stats.TrialSums`).

    **Arguments:** `trials`: how many there will be; `budgets`: those of the tables, 0 first;
    `metrics`: columns of the tables; `means_only`: hold nothing per trial, for a bank of which
    only the means are asked.
    """

    def __init__(
        self,
        trials: int,
        budgets: Sequence[int],
        *,
        metrics: Sequence[str] = METRICS,
        means_only: bool = False,
    ):
        self.trials, self.budgets, self.metrics = trials, np.array(budgets), tuple(metrics)
        self.eligible = 0
        columns = len(budgets) * len(metrics)
        self._sums = stats.TrialSums(trials, columns, one_row=means_only)

    def add(self, table: pd.DataFrame) -> None:
        """Add a table of consecutive trials, sorted by trial and budget."""
        budgets = len(self.budgets)
        names = list(self.metrics)
        values = table[names].to_numpy(dtype=np.float64).reshape(-1, budgets, len(names))
        eligible = table["eligible"].to_numpy(dtype=bool).reshape(-1, budgets)
        counts = (eligible | (self.budgets == 0))[:, :, None] & ~np.isnan(values)
        self.eligible += int(eligible[:, 0].sum())
        first = int(table["trial"].iloc[0])
        count = len(values)
        self._sums.add(first, values.reshape(count, -1), counts.reshape(count, -1))

    def part(self, first: int, last: int) -> "Part":
        """What trials `first` to `last` alone have added, in the rows that are resampled."""
        edges = self._sums.edges
        rows = np.unique(np.searchsorted(edges, [first, last], side="right") - 1)
        rows = np.arange(rows[0], rows[-1] + 1)
        eligible = np.zeros(len(rows), dtype=np.int64)
        eligible[0] = self.eligible
        return Part(rows, eligible, self._sums.sums[rows], self._sums.counts[rows])

    def add_part(self, part: "Part") -> None:
        """Add the part of other trials: the same numbers as if their tables were added."""
        rows = part.rows if len(self._sums.edges) > 1 else np.zeros_like(part.rows)
        np.add.at(self._sums.sums, rows, part.sums)
        np.add.at(self._sums.counts, rows, part.counts)
        self.eligible += int(part.eligible.sum())

    def means(self) -> pd.DataFrame:
        """The mean of every metric, one row per budget; empty where no trial counts."""
        means = self._sums.means().reshape(len(self.budgets), -1)
        return pd.DataFrame(means, columns=list(self.metrics))

    def table(self, *, resamples: int, seed: int) -> pd.DataFrame:
        """Mean, `_low` and `_high` (95 %) of every metric, one row per budget."""
        resampled = self._sums.resampled_means(resamples=resamples, seed=seed)
        low, high = (
            end.reshape(len(self.budgets), -1) for end in stats.percentile_interval(resampled)
        )
        table: dict[str, object] = {
            "budget": self.budgets,
            "eligible_trials": np.where(self.budgets == 0, self.trials, self.eligible),
            "attempted_trials": self.trials,
        }
        for index, (name, mean) in enumerate(self.means().items()):
            table |= {str(name): mean, f"{name}_low": low[:, index], f"{name}_high": high[:, index]}
        return pd.DataFrame(table)

    def first_significant_budget(self, *, seed: int) -> int | None:
        """The smallest budget >= 2 whose mean selection loss is surely above zero, or None.

        One-sided basic lower bounds at error 0.05 / (number of budgets tested), 100,000 resamples
        (spec: attack, section 7).
        """
        tested = np.flatnonzero(self.budgets >= 2)
        if not len(tested) or not self.eligible:
            return None
        losses = self._sums.only(
            tested * len(self.metrics) + self.metrics.index("selection_loss_pp")
        )
        resampled = losses.resampled_means(resamples=FAMILY_RESAMPLES, seed=seed)
        # A resample without any eligible trial has no mean; it cannot speak for a loss.
        resampled = resampled[~np.isnan(resampled).any(axis=1)]
        error = FAMILY_ERROR / len(tested)
        bound = stats.basic_lower_bound(losses.means(), resampled, error)
        passed = self.budgets[tested][bound > SMALLEST_LOSS_PP]
        return int(passed[0]) if len(passed) else None


def bank_spread(bank_means: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Mean and standard deviation (n - 1) over router banks of every metric's mean, per budget."""
    means = np.stack([table.to_numpy(dtype=np.float64) for table in bank_means])
    middle, spread = means.mean(axis=0), means.std(axis=0, ddof=1)
    table: dict[str, object] = {"banks": len(bank_means)}
    for index, name in enumerate(METRICS):
        table[f"{name}_bank_mean"] = middle[:, index]
        table[f"{name}_bank_sd"] = spread[:, index]
    return pd.DataFrame(table, index=range(middle.shape[0]))
