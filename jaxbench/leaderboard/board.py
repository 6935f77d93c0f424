"""The evaluator's tally of a split: what every genuine model scores on each side."""

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Int

from jaxbench.benchmark import Benchmark


class Board(eqx.Module):
    """Counts of every genuine model per task, on reused and on held-out items.

    Sizes are the numbers of items of a task on each side, the same in every trial. `reused`
    numbers are the released ones (exact task scores); `heldout` numbers never leave the
    evaluator.
    """

    reused: Int[np.ndarray, "trials models tasks"]
    heldout: Int[np.ndarray, "trials models tasks"]
    reused_sizes: Int[np.ndarray, " tasks"]
    heldout_sizes: Int[np.ndarray, " tasks"]


def tally(benchmark: Benchmark, reused: Bool[np.ndarray, "trials items"]) -> Board:
    """Count every model's successes on both sides of every split.

    **Arguments:** `reused`: True where an item is public; every split has the same number of
    reused items in a task.
    """
    tasks = len(benchmark.tasks)
    public = np.empty((len(reused), len(benchmark.models), tasks), dtype=np.int64)
    for task in range(tasks):
        members = benchmark.task_index == task
        # float64 products run on BLAS and are exact: no sum comes near 2^53.
        product = reused[:, members].astype(np.float64) @ benchmark.counts[:, members].T
        public[:, :, task] = np.rint(product)
    total = np.stack(
        [benchmark.counts[:, benchmark.task_index == t].sum(axis=1) for t in range(tasks)], axis=1
    )
    sizes = np.bincount(benchmark.task_index[reused[0]], minlength=tasks)
    return Board(
        reused=public,
        heldout=total[None] - public,
        reused_sizes=sizes,
        heldout_sizes=benchmark.task_sizes - sizes,
    )
