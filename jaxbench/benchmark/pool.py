"""Small tasks pooled into one: a task of one item cannot be split."""

from dataclasses import replace

import numpy as np

from jaxbench.benchmark.container import Benchmark
from jaxbench.errors import BadRequest

POOLED = "other"


def pool_small_tasks(benchmark: Benchmark, least: int) -> Benchmark:
    """Tasks of fewer than `least` items become one task `other`, and the provenance says so.

    If a task that is large enough has that name, the pooled one is `other (pooled)`.

    **Errors:** `BadRequest` where large tasks have both names.
    """
    sizes = benchmark.task_sizes
    small = [t for t, size in zip(benchmark.tasks, sizes, strict=True) if size < least]
    if not small:
        return benchmark
    large = set(benchmark.tasks) - set(small)
    name = f"{POOLED} (pooled)" if POOLED in large else POOLED
    if name in large:
        raise BadRequest(
            f"min_task_items={least}: large tasks are named {POOLED!r} and {name!r} already; "
            "rename one, so that the pooled task has a name of its own"
        )
    of_item = [benchmark.tasks[t] for t in benchmark.task_index]
    renamed = [name if task in small else task for task in of_item]
    tasks = tuple(sorted(set(renamed)))
    # Items stand in the order of (task, item); the new names may sort differently.
    order = sorted(range(len(renamed)), key=lambda i: (renamed[i], benchmark.items[i]))

    def moved(values: tuple | None) -> tuple | None:
        return None if values is None else tuple(values[i] for i in order)

    note = (
        f"note: {len(small)} of {len(benchmark.tasks)} tasks have fewer than {least} items and are "
        f"pooled into {name!r}"
    )
    return replace(
        benchmark,
        counts=benchmark.counts[:, order],
        task_index=np.array([tasks.index(renamed[i]) for i in order], dtype=np.int64),
        items=tuple(benchmark.items[i] for i in order),
        tasks=tasks,
        prompt_hashes=tuple(benchmark.prompt_hashes[i] for i in order),
        categories=moved(benchmark.categories),
        subtasks=moved(benchmark.subtasks),
        chances=moved(benchmark.chances),
        provenance=(*benchmark.provenance, note),
    )
