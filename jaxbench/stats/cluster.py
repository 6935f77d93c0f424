"""Bootstrap of whole clusters: a problem with all its answers, an item with all its layers.

Clusters, of whatever size, are drawn with replacement. A statistic of a resample depends on how
often every cluster was drawn, its multiplicities, and a mean over what the clusters hold is a
ratio of sums linear in them (spec: drift, section 2.4). Every column sees the same resamples, so
differences between columns are paired; so are two calls with equal seed, stream and number of
clusters.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float64, Int, Int32, PyTree, UInt32

from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket
from jaxbench.stats import draws
from jaxbench.stats.bootstrap import in_blocks


def resampled_statistic(
    statistic: Callable[[Array, Any], Array],
    data: PyTree,
    units: int,
    *,
    resamples: int,
    seed: int,
    stream: int = 0,
    strata: Int[np.ndarray, " units"] | None = None,
    chunk: int | None = None,
) -> np.ndarray:
    """Any statistic in every resample of `units` units (clusters, items), `(resamples, ...)`.

    **Arguments:**

    - `statistic(multiplicities, data)`: of one resample, in jax; `multiplicities` is float64 and
      `(units,)`, all ones for the data as they are. Pass one function defined once: every new
      function object is compiled anew.
    - `data`: arrays for the statistic. Numpy float64 stays float64.
    - `seed`, `stream`: 0 to 2^64 - 1 and 0 to 2^32 - 1; streams of a seed are independent.
    - `strata`: the stratum of every unit; each is then resampled at its own size.
    - `chunk`: most resamples held at a time, where the statistic needs much memory. No result
      depends on it.

    **Errors:** `BadRequest` for no unit, no resample or a seed out of range.
    """
    start, size, order = _ranges(units, strata)
    home = np.empty_like(order)
    home[order] = np.arange(units, dtype=np.int32)
    return draws.in_chunks(
        partial(_statistics, statistic=statistic),
        (start, size, home, data),
        draws.stream_words(seed, draws.Purpose.BOOTSTRAP, stream),
        pairs=-(-units // 2),
        total=resamples,
        most=chunk if chunk is not None else max(1, draws.SLOTS // units),
        what="resamples",
    )


def resampled_sums(
    values: Float64[np.ndarray, "units columns"],
    *,
    resamples: int,
    seed: int,
    stream: int = 0,
    strata: Int[np.ndarray, " units"] | None = None,
) -> Float64[np.ndarray, "resamples columns"]:
    """The sum of every column (all numbers) in every resample of the rows.

    Arguments as in `resampled_statistic`. Above 10,000 rows, 1,000 contiguous blocks of rows take
    their place (`bootstrap.in_blocks`), unless there are strata. Sums of whole numbers are exact.
    """
    if strata is None:
        values = in_blocks(values)
    units, columns = values.shape
    start, size, order = _ranges(units, strata)
    # Padding, drawn by nobody: one program serves all shapes of a bucket.
    slots = bucket(units)
    start, size = draws.pad(start, (slots,)), draws.pad(size, (slots,))
    padded = draws.pad(values[order], (slots, bucket(columns)))
    found = draws.in_chunks(
        partial(_statistics, statistic=_weighted_sum),
        (start, size, None, padded),
        draws.stream_words(seed, draws.Purpose.BOOTSTRAP, stream),
        pairs=slots // 2,
        total=resamples,
        most=max(1, draws.SLOTS // slots),
        what="resamples",
    )
    return found[:, :columns]


def resampled_ratios(
    numerators: Float64[np.ndarray, "units columns"],
    denominators: Float64[np.ndarray, "units columns"],
    *,
    resamples: int,
    seed: int,
    stream: int = 0,
    strata: Int[np.ndarray, " units"] | None = None,
) -> Float64[np.ndarray, "resamples columns"]:
    """Ratio of sums of every column in every resample, NaN where its denominator is 0.

    Arguments and blocks as in `resampled_sums`. The intervals of this package leave the NaN out;
    count them with `numpy.isnan`.
    """
    both = np.concatenate([numerators, denominators], axis=1)
    sums = resampled_sums(both, resamples=resamples, seed=seed, stream=stream, strata=strata)
    columns = numerators.shape[1]
    return _ratio(sums[:, :columns], sums[:, columns:])


def resampled_cluster_means(
    values: Float64[np.ndarray, "rows columns"],
    valid: Bool[np.ndarray, "rows columns"],
    clusters: Int[np.ndarray, " rows"],
    count: int,
    *,
    resamples: int,
    seed: int,
    stream: int = 0,
) -> Float64[np.ndarray, "resamples columns"]:
    """The mean of every column over what counts in every resample of whole clusters.

    **Arguments:** `clusters`: the cluster of every row, 0 to `count` - 1; a cluster may be empty.
    The others as in `resampled_ratios`.
    """
    sums, sizes = cluster_sums(values, valid, clusters, count)
    return resampled_ratios(sums, sizes, resamples=resamples, seed=seed, stream=stream)


def cluster_sums(
    values: Float64[np.ndarray, "rows columns"],
    valid: Bool[np.ndarray, "rows columns"],
    clusters: Int[np.ndarray, " rows"],
    count: int,
) -> tuple[Float64[np.ndarray, "clusters columns"], Float64[np.ndarray, "clusters columns"]]:
    """Sum of what counts, and how much counts, in every cluster 0 to `count` - 1.

    **Errors:** `BadRequest` for a cluster number out of range.
    """
    if len(clusters) and not 0 <= clusters.min() <= clusters.max() < count:
        raise BadRequest(
            f"cluster numbers run from {clusters.min()} to {clusters.max()}; "
            f"expected 0 to {count - 1}"
        )
    sums, sizes = np.zeros((2, count, values.shape[1]))
    np.add.at(sums, clusters, np.where(valid, values, 0.0))
    np.add.at(sizes, clusters, valid)
    return sums, sizes


def jackknife_ratios(
    numerators: Float64[np.ndarray, "units columns"],
    denominators: Float64[np.ndarray, "units columns"],
) -> Float64[np.ndarray, "units columns"]:
    """Ratio of sums of every column without each unit in turn, NaN where nothing is left."""
    return _ratio(numerators.sum(axis=0) - numerators, denominators.sum(axis=0) - denominators)


def ratio_standard_error(
    numerators: Float64[np.ndarray, "units columns"],
    denominators: Float64[np.ndarray, "units columns"],
) -> Float64[np.ndarray, " columns"]:
    """Standard error of the ratio of sums r by clusters (spec: drift, section 2.4).

    `sqrt(n / (n - 1) * sum (x_i - r m_i)^2) / sum m_i` over the n units that are in the sums,
    those with m_i other than 0; NaN for n < 2.
    """
    total = denominators.sum(axis=0)
    residuals = numerators - _ratio(numerators.sum(axis=0), total) * denominators
    used = np.count_nonzero(denominators, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(used / (used - 1) * (residuals**2).sum(axis=0)) / total
    return np.where(used < 2, np.nan, spread)


def _ratio(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """The ratio, NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominators == 0, np.nan, numerators / denominators)


def _ranges(
    units: int, strata: np.ndarray | None
) -> tuple[Int32[np.ndarray, " units"], Int32[np.ndarray, " units"], Int32[np.ndarray, " units"]]:
    """First slot and size of the stratum of every slot, and the unit in every slot.

    Units are put in slots by stratum, so that a stratum is a range.
    """
    if units < 1:
        raise BadRequest("there is nothing to resample; expected at least one unit")
    if strata is None:
        strata = np.zeros(units, dtype=np.int64)
    if strata.shape != (units,):
        raise BadRequest(f"strata has shape {strata.shape}; expected one stratum for {units} units")
    order = np.argsort(strata, kind="stable").astype(np.int32)
    _, first, which, sizes = np.unique(
        strata[order], return_index=True, return_inverse=True, return_counts=True
    )
    return first[which].astype(np.int32), sizes[which].astype(np.int32), order


@partial(jax.jit, static_argnames="statistic")
def _statistics(
    words: UInt32[Array, "resamples pairs 2"],
    start: Int32[Array, " slots"],
    size: Int32[Array, " slots"],
    home: Int32[Array, " slots"] | None,
    data: PyTree,
    statistic: Callable[[Array, Any], Array],
) -> Array:
    """The statistic of every resample; `home[u]` is the slot of unit u."""

    def of_one(pairs: Array) -> Array:
        counts = draws.multiplicities(pairs, start, size)
        return statistic(counts if home is None else counts[home], data)

    return jax.vmap(of_one)(words)


def _weighted_sum(
    counts: Float64[Array, " slots"], values: Float64[Array, "slots columns"]
) -> Float64[Array, " columns"]:
    # Over all resamples at once this is one matrix product.
    return jnp.matmul(counts, values, precision=lax.Precision.HIGHEST)
