"""Paired bootstrap of means over trials.

Every column (a metric under a budget or condition) is resampled with the same trial indices, so
differences between columns are paired. Trials that do not count in a column are left out inside
each resample.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float64, Int64

from jaxbench.errors import BadRequest

# Above this many trials whole blocks of trials are resampled: 2,000 x 10^6 indices are 16 GB.
MOST_SINGLE_TRIALS = 10_000
BLOCKS = 1_000
# Indices held at a time.
_INDICES = 2**22


def resampled_means(
    values: Float64[np.ndarray, "trials columns"],
    valid: Bool[np.ndarray, "trials columns"],
    *,
    resamples: int,
    seed: int,
) -> Float64[np.ndarray, "resamples columns"]:
    """The mean of every column in every resample of the trials, NaN where none of it counts.

    Indices are `numpy.random.default_rng(seed).integers(0, trials, (resamples, trials))`, the
    published ones (spec: attack, section 7). Above 10,000 trials, 1,000 contiguous blocks of
    trials take the place of single trials.
    """
    if not len(values):
        raise BadRequest("there is no trial to resample")
    sums = TrialSums(len(values), values.shape[1])
    sums.add(0, values, valid)
    return sums.resampled_means(resamples=resamples, seed=seed)


class TrialSums:
    """Sums over trials in the rows that are resampled, filled some trials at a time.

    Up to 10,000 trials every trial is a row; above, 1,000 contiguous blocks are, and what is held
    does not grow with the trials. With `one_row` there is one row in all, for means alone.
    """

    def __init__(self, trials: int, columns: int, *, one_row: bool = False):
        self.edges = np.zeros(1, dtype=np.int64) if one_row else block_edges(trials)
        self.sums = np.zeros((len(self.edges), columns))
        self.counts = np.zeros((len(self.edges), columns))

    def add(
        self,
        first: int,
        values: Float64[np.ndarray, "trials columns"],
        valid: Bool[np.ndarray, "trials columns"],
    ) -> None:
        """Add trials `first` and on; what is not `valid` does not count in its column."""
        trials = np.arange(first, first + len(values))
        rows = np.searchsorted(self.edges, trials, side="right") - 1
        held, starts = np.unique(rows, return_index=True)
        counted = np.where(valid, values, 0.0)
        if len(held) == len(counted):
            self.sums[held] += counted
        else:
            stops = [*starts[1:], len(counted)]
            for row, start, stop in zip(held, starts, stops, strict=True):
                self.sums[row] = added_in_order(self.sums[row], counted[start:stop])
        self.counts[held] += np.add.reduceat(valid.astype(np.float64), starts)

    def only(self, columns: Int64[np.ndarray, " chosen"]) -> "TrialSums":
        """The same sums of some of the columns."""
        chosen = TrialSums(0, 0)
        chosen.edges = self.edges
        chosen.sums, chosen.counts = self.sums[:, columns], self.counts[:, columns]
        return chosen

    def means(self) -> Float64[np.ndarray, " columns"]:
        """The mean of every column over the trials that count in it, NaN where none does."""
        with np.errstate(invalid="ignore"):
            return self.sums.sum(axis=0) / self.counts.sum(axis=0)

    def resampled_means(
        self, *, resamples: int, seed: int
    ) -> Float64[np.ndarray, "resamples columns"]:
        """The mean of every column in every resample of the rows (see `resampled_means`)."""
        found = np.empty((resamples, self.sums.shape[1]))
        start = 0
        for times in _times_drawn(len(self.sums), resamples, seed):
            stop = start + len(times)
            # 0/0 where no trial of a column was drawn: an empty mean, not an error.
            with np.errstate(invalid="ignore"):
                found[start:stop] = (times @ self.sums) / (times @ self.counts)
            start = stop
        return found


def added_in_order(
    total: Float64[np.ndarray, " columns"], values: Float64[np.ndarray, "rows columns"]
) -> Float64[np.ndarray, " columns"]:
    """`total` and every row of `values`, one after the other.

    So a sum does not depend on the parts in which its terms came, as one of sums of parts would.
    """
    return np.add.accumulate(np.concatenate([total[None], values]))[-1]


def block_edges(trials: int) -> Int64[np.ndarray, " rows"]:
    """The first trial of every row that is resampled."""
    if trials <= MOST_SINGLE_TRIALS:
        return np.arange(trials)
    return np.linspace(0, trials, BLOCKS, endpoint=False).astype(np.int64)


def in_blocks(
    sums: Float64[np.ndarray, "trials columns"],
) -> Float64[np.ndarray, "drawn columns"]:
    """The rows that are resampled: those given, or above 10,000 of them 1,000 contiguous blocks.

    Rows of a block are added up, so what is resampled has to be a sum over trials or clusters.
    """
    if len(sums) <= MOST_SINGLE_TRIALS:
        return sums
    return np.add.reduceat(sums, block_edges(len(sums)))


def means(
    values: Float64[np.ndarray, "trials *columns"], valid: Bool[np.ndarray, "trials *columns"]
) -> Float64[np.ndarray, "*columns"]:
    """The mean of every column over the trials that count in it, NaN where none does."""
    with np.errstate(invalid="ignore"):
        return np.where(valid, values, 0.0).sum(axis=0) / valid.sum(axis=0)


def percentile_interval(
    resampled: Float64[np.ndarray, "resamples columns"], level: float = 0.95
) -> tuple[Float64[np.ndarray, " columns"], Float64[np.ndarray, " columns"]]:
    """Ends of the percentile interval of every column (NaN where the column is empty)."""
    if not 0 < level < 1:
        raise BadRequest(f"level is {level}; expected a number between 0 and 1, such as 0.95")
    # Rounded, so that 95 % asks for the percentiles 2.5 and 97.5 and not for neighbours of them.
    tail = round(50 * (1 - level), 9)
    ends = np.full((2, resampled.shape[1]), np.nan)
    filled = ~np.all(np.isnan(resampled), axis=0)
    ends[:, filled] = np.nanpercentile(resampled[:, filled], [tail, 100 - tail], axis=0)
    return ends[0], ends[1]


def basic_lower_bound(
    mean: Float64[np.ndarray, " columns"],
    resampled: Float64[np.ndarray, "resamples columns"],
    error: float,
) -> Float64[np.ndarray, " columns"]:
    """One-sided basic (reverse percentile) lower bound, `2 mean - Q(1 - error)`.

    The quantile is rounded up to a resampled value, so that the bound never gains from
    interpolation.
    """
    upper = np.quantile(resampled, 1 - error, axis=0, method="higher")
    return 2 * mean - upper


def _times_drawn(trials: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often every trial is drawn, some resamples at a time."""
    rng = np.random.default_rng(seed)
    together = max(1, _INDICES // trials)
    for start in range(0, resamples, together):
        rows = min(together, resamples - start)
        drawn = rng.integers(0, trials, (rows, trials))
        drawn += trials * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * trials).reshape(rows, trials) * 1.0
