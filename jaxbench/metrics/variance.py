"""How much of a loss is its split, how much its bank of routers.

A crossed random-effects model without replication: the loss of a trial under a bank is a mean, an
effect of the trial (its split), an effect of the bank, and the rest (the two together). Components
are those of the two-way analysis of variance; they can be negative by chance. With fresh routers in
every trial the variance over trials is the sum of all three.
"""

import numpy as np
import pandas as pd
from jaxtyping import Float64

from jaxbench.stats.bootstrap import added_in_order


class CrossedVariance:
    """Sums of a metric over trials and banks, filled one bank and some trials at a time.

    Holds one number per trial and budget, whatever the number of banks. Only eligible trials
    count; which trials are eligible does not depend on the bank.
    """

    def __init__(self, trials: int, banks: int, budgets: tuple[int, ...]):
        self.budgets = budgets
        self._over_banks = np.zeros((trials, len(budgets)))
        self._over_trials = np.zeros((banks, len(budgets)))
        self._squares = np.zeros((banks, len(budgets)))
        self._eligible = np.zeros(trials, dtype=bool)

    def add(self, bank: int, first: int, values: Float64[np.ndarray, "trials budgets"]) -> None:
        """Add trials `first` and on under a bank; NaN in trials that were not eligible."""
        rows = slice(first, first + len(values))
        self._eligible[rows] = ~np.isnan(values).any(axis=1)
        filled = np.where(self._eligible[rows, None], values, 0.0)
        self._over_banks[rows] += filled
        self._over_trials[bank] = added_in_order(self._over_trials[bank], filled)
        self._squares[bank] = added_in_order(self._squares[bank], filled**2)

    def components(self) -> pd.DataFrame:
        """Variance components per budget: `splits`, `banks`, `rest`; empty without two of each."""
        trials, banks = int(self._eligible.sum()), len(self._over_trials)
        table = pd.DataFrame({"budget": self.budgets})
        if trials < 2 or banks < 2:
            return table.assign(splits=np.nan, banks=np.nan, rest=np.nan)
        by_trial = self._over_banks[self._eligible] / banks
        by_bank = self._over_trials / trials
        mean = by_bank.mean(axis=0)
        # Sums of squares around the mean; the rest is what neither margin explains.
        of_trials = banks * ((by_trial - mean) ** 2).sum(axis=0)
        of_banks = trials * ((by_bank - mean) ** 2).sum(axis=0)
        rest = self._squares.sum(axis=0) - trials * banks * mean**2 - of_trials - of_banks
        rest /= (trials - 1) * (banks - 1)
        return table.assign(
            splits=(of_trials / (trials - 1) - rest) / banks,
            banks=(of_banks / (banks - 1) - rest) / trials,
            rest=rest,
        )
