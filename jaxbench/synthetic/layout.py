"""What a world's parameters fix without chance: names, tasks, prompts, kinds of items.

Names are numbers padded with zeros, so that name order is index order and a world stands in the
canonical order of a `Benchmark` from the start. Items of a task are alike before anything is drawn,
so it means nothing which of them share a prompt: the first ones do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int64

from jaxbench.options import WorldSpec

# Parameters that a layout depends on; worlds that agree on them share one.
PARTS = (
    "models", "items", "tasks", "size_ratio", "categories", "partial_credit", "duplicate_prompts",
    "prompt_copies",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Layout:
    """Names and kinds; one entry per model, item or task.

    `prompts` is the item whose prompt an item has: the first of those that share it. `partial` is
    True for items that give partial credit. Arrays are read-only, worlds share them.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    tasks: tuple[str, ...]
    categories: tuple[str, ...] | None
    prompt_hashes: tuple[str, ...]
    task_index: Int64[np.ndarray, " items"]
    prompts: Int64[np.ndarray, " items"]
    partial: Bool[np.ndarray, " items"]


def layout(spec: WorldSpec) -> Layout:
    """The layout of a world."""
    return _layout(tuple(getattr(spec, name) for name in PARTS))


@lru_cache(maxsize=256)
def _layout(parts: tuple) -> Layout:
    spec = WorldSpec.of(dict(zip(PARTS, parts, strict=True)))
    sizes = spec.task_sizes
    items, tasks = _names("item", spec.items), _names("task", spec.tasks)
    task_index = np.repeat(np.arange(spec.tasks), sizes)
    prompts = np.arange(spec.items)
    start = 0
    for size, repeated in zip(sizes, _repeated(spec, sizes), strict=True):
        shared = repeated * spec.prompt_copies
        prompts[start : start + shared] -= np.arange(shared) % spec.prompt_copies
        start += size
    partial = _partial(prompts, spec.partial_credit)
    for array in (task_index, prompts, partial):
        array.flags.writeable = False
    categories = None
    if spec.categories:
        names = _names("category", spec.categories)
        of_task = [names[t * spec.categories // spec.tasks] for t in range(spec.tasks)]
        categories = tuple(of_task[t] for t in task_index.tolist())
    return Layout(
        models=_names("model", spec.models),
        items=items,
        tasks=tasks,
        categories=categories,
        prompt_hashes=tuple(items[p] for p in prompts.tolist()),
        task_index=task_index,
        prompts=prompts,
        partial=partial,
    )


def _names(kind: str, number: int) -> tuple[str, ...]:
    width = max(3, len(str(number - 1)))
    return tuple(f"{kind} {n:0{width}d}" for n in range(number))


def _repeated(spec: WorldSpec, sizes: Sequence[int]) -> list[int]:
    """How many prompts of every task stand on several items.

    A task keeps as many single items as a repeated prompt has beside its first: then prompts that
    stay together can be split at any number of items.
    """
    beside = spec.prompt_copies - 1
    prompts, so_far, given = [], 0, 0
    for size in sizes:
        so_far += size
        # Rounded on the running total, so that many small tasks have their share together.
        due = int(spec.duplicate_prompts * so_far / beside + 0.5) - given
        prompts.append(min(due, (size - beside) // spec.prompt_copies))
        prompts[-1] = max(0, prompts[-1])
        given += prompts[-1]
    return prompts


def _partial(prompts: Int64[np.ndarray, " items"], share: float) -> Bool[np.ndarray, " items"]:
    """Items that give partial credit: whole prompts, spread evenly over all items."""
    partial = np.zeros(len(prompts), dtype=bool)
    given = 0
    firsts, sizes = np.unique(prompts, return_counts=True)
    for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True):
        if share * (first + size) - given >= size / 2:
            partial[first : first + size] = True
            given += size
    return partial
