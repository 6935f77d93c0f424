"""Intervals: of a share (Wilson), of a mean (t), and of any statistic from its resamples.

What is undefined in a resample is NaN there and left out; how much that was, `numpy.isnan` counts.
"""

from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Bool, Float64, Num

from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket
from jaxbench.stats.bootstrap import percentile_interval
from jaxbench.stats.draws import pad
from jaxbench.stats.quantile import quantiles
from jaxbench.stats.student import t_critical, tail_of

# Numbers that differ by less than this share of them are equal.
_ROUNDING = 1e-12


def wilson_interval(
    successes: Num[np.ndarray, "*shape"], trials: Num[np.ndarray, "*shape"], level: float = 0.95
) -> tuple[
    Float64[np.ndarray, "*shape"], Float64[np.ndarray, "*shape"], Float64[np.ndarray, "*shape"]
]:
    """Share of successes and the ends of its Wilson score interval, all fractions.

    No continuity correction. Without a trial the share is NaN and the ends are 0 and 1 (Wilson
    1927; spec: drift, section 2.4).

    **Errors:** `BadRequest` unless 0 <= successes <= trials, or for a level outside 0 to 1.
    """
    if not np.all((successes >= 0) & (successes <= trials)):
        raise BadRequest("a share needs 0 <= successes <= trials; these counts break it")
    z = NormalDist().inv_cdf(1 - tail_of(level))
    # As if there were one trial where there is none: what depends on it is not kept.
    n = np.where(trials > 0, trials, 1).astype(np.float64)
    share = successes / n
    middle = share + z**2 / (2 * n)
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    # Exact where the formula only rounds to the end of the range.
    low = np.where(successes == 0, 0.0, np.clip((middle - reach) / scale, 0, 1))
    high = np.where(successes == trials, 1.0, np.clip((middle + reach) / scale, 0, 1))
    empty = np.asarray(trials) == 0
    return np.where(empty, np.nan, share), np.where(empty, 0.0, low), np.where(empty, 1.0, high)


def mean_interval(
    values: Float64[np.ndarray, "rows columns"],
    valid: Bool[np.ndarray, "rows columns"],
    level: float = 0.95,
) -> tuple[Float64[np.ndarray, " columns"], Float64[np.ndarray, " columns"]]:
    """Ends of the t interval of the mean of every column over the n rows that count in it.

    `mean -+ t sd / sqrt(n)` with n - 1 degrees of freedom, sd with n - 1; NaN for n < 2. For
    paired differences, give the differences (spec: drift, section 3.3).
    """
    count = valid.sum(axis=0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(valid, values, 0.0).sum(axis=0) / count
        squares = (np.where(valid, values - mean, 0.0) ** 2).sum(axis=0)
        error = np.sqrt(squares / (count - 1) / count)
    reach = np.where(count < 2, np.nan, t_critical(level, count - 1) * error)
    return mean - reach, mean + reach


def basic_interval(
    estimate: Float64[np.ndarray, " columns"],
    resampled: Float64[np.ndarray, "resamples columns"],
    level: float = 0.95,
) -> tuple[Float64[np.ndarray, " columns"], Float64[np.ndarray, " columns"]]:
    """Ends of the basic (reverse percentile) interval of every column, NaN where it is empty.

    `2 estimate - Q` for the two quantiles of the percentile interval (Davison and Hinkley 1997,
    section 5.2).
    """
    tail_of(level)
    low, high = percentile_interval(resampled, level)
    return 2 * estimate - high, 2 * estimate - low


def bca_interval(
    estimate: Float64[np.ndarray, " columns"],
    resampled: Float64[np.ndarray, "resamples columns"],
    jackknife: Float64[np.ndarray, "units columns"],
    level: float = 0.95,
) -> tuple[Float64[np.ndarray, " columns"], Float64[np.ndarray, " columns"]]:
    """Ends of the bias-corrected and accelerated interval of every column.

    **Arguments:** `jackknife`: the estimate without each unit in turn (`jackknife_ratios`).

    Resamples equal to the estimate count half for the bias, as in `scipy.stats.bootstrap`. An
    estimate that no unit moves has no acceleration. NaN where all resamples lie on one side of
    the estimate: their bias is then beyond what they can tell (Efron 1987).
    """
    tail = tail_of(level)
    count, columns = resampled.shape
    wide = bucket(columns)
    # Empty padding (NaN is left out): one program serves all shapes of a bucket.
    padded = pad(resampled.T, (wide, bucket(count)), np.nan)
    acceleration = pad(_acceleration(jackknife), (wide,))
    with jax.enable_x64(True):
        found = _bca_ends(
            pad(estimate, (wide,)), padded, acceleration, np.array([tail, round(1 - tail, 11)])
        )
        ends = np.asarray(found)[:columns]
    return ends[:, 0], ends[:, 1]


def _acceleration(jackknife: np.ndarray) -> np.ndarray:
    """A sixth of the skewness of the units' influence, over what is defined; 0 if none has any."""
    defined = ~np.isnan(jackknife)
    count = np.maximum(defined.sum(axis=0), 1)
    mean = np.where(defined, jackknife, 0.0).sum(axis=0) / count
    influence = np.where(defined, mean - jackknife, 0.0)
    # Rounding of equal values is no influence.
    influence[np.abs(influence) <= _ROUNDING * np.abs(mean)] = 0.0
    cubes, squares = (influence**3).sum(axis=0), (influence**2).sum(axis=0)
    return cubes / (6 * np.where(squares > 0, squares, 1.0) ** 1.5)


@jax.jit
def _bca_ends(
    estimate: Float64[Array, " columns"],
    resampled: Float64[Array, "columns resamples"],
    acceleration: Float64[Array, " columns"],
    tails: Float64[Array, " 2"],
) -> Float64[Array, "columns 2"]:
    here = estimate[:, None]
    used = (~jnp.isnan(resampled)).sum(axis=1)
    # Discrete data repeat the estimate, but for rounding.
    near = _ROUNDING * jnp.abs(here)
    twice = (resampled < here - near).sum(axis=1) + (resampled <= here + near).sum(axis=1)
    bias = ndtri(twice / (2 * used))[:, None]
    reach = bias + ndtri(tails)[None]
    at = ndtr(bias + reach / (1 - acceleration[:, None] * reach))
    # An infinite bias has made this NaN.
    return quantiles(resampled, at)
