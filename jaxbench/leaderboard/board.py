"""The evaluator's tally of splits: what every genuine model scores on each side."""

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Int

from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.units import Units


class Board(eqx.Module):
    """Counts of every genuine model per unit, on reused and on held-out items.

    Released numbers are made of `reused`; `heldout` never leaves the evaluator.
    """

    reused: Int[np.ndarray, "trials models units"]
    heldout: Int[np.ndarray, "trials models units"]


def tally(
    benchmark: Benchmark,
    units: Units,
    reused: Bool[np.ndarray, "trials items"],
    heldout: Bool[np.ndarray, "trials items"],
) -> Board:
    """Count every model's successes on both sides of every split.

    **Arguments:** `reused`: True where an item is public; `heldout`: where it is hidden.
    """
    shape = (len(reused), len(benchmark.models), units.count)
    public, hidden = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    # Mostly the sides make up the whole: then one follows from the other.
    whole = bool((reused ^ heldout).all())
    for unit in range(units.count):
        members = units.of_item == unit
        counts = benchmark.counts[:, members]
        # float64 products run on BLAS and are exact: no sum comes near 2^53.
        by_item = counts.T.astype(np.float64)
        public[:, :, unit] = np.rint(reused[:, members] @ by_item)
        if whole:
            hidden[:, :, unit] = counts.sum(axis=1) - public[:, :, unit]
        else:
            hidden[:, :, unit] = np.rint(heldout[:, members] @ by_item)
    return Board(reused=public, heldout=hidden)
