"""Fewer reused items: nested subsets of the reused side of a split.

The items that are kept are spread over the tasks in proportion, a smaller subset lies within every
larger one, equal prompts stay together, and the held-out side does not change, so that sizes can be
compared trial by trial (spec: lifespan, "Published predictor").
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from jaxbench.benchmark.split import SplitPlan, group_words
from jaxbench.counters import Stream
from jaxbench.errors import BadRequest


def check_size(plan: SplitPlan, size: int) -> None:
    """Refuse a number of reused items that no split has, or that leaves a task without any.

    **Errors:** `BadRequest` with the numbers that would do.
    """
    reused = plan.items - sum(task.target for task in plan.tasks)
    if not len(plan.tasks) <= size <= reused:
        raise BadRequest(
            f"reused_items={size}: expected {len(plan.tasks)} to {reused} (one per task up to all "
            "that the split leaves to be reused), or all"
        )


def reused_subsets(
    plan: SplitPlan,
    reused: Bool[np.ndarray, "trials items"],
    trials: Int[np.ndarray, " trials"],
    *,
    sizes: Sequence[int],
    seed: int,
) -> list[Bool[np.ndarray, "trials items"]]:
    """The reused items that are kept at each size.

    Prompt groups of a task stand in the order of counter-based words keyed by (seed, trial, prompt
    number). The first group of every task comes first; then groups follow by the share of their
    task that lies before their middle, ties in task order: every prefix is proportional, as seats
    are under Webster's method. A subset is the longest prefix of at most `size` items, which is
    `size` unless a group of equal prompts would pass it.

    **Errors:** `BadRequest` where one prompt per task has more than `size` items.
    """
    if not sizes:
        return []
    words = group_words(plan, trials, seed=seed, stream=Stream.SUBSET)
    priority = np.full(words.shape, np.inf)
    group_sizes = np.array([size for task in plan.tasks for size in task.sizes])
    group_of = np.empty(plan.items, dtype=np.int64)
    start = 0
    for task in plan.tasks:
        groups = range(start, start + len(task.numbers))
        for group, items in zip(groups, task.members, strict=True):
            group_of[items] = group
        here = slice(start, start + len(task.numbers))
        start += len(task.numbers)
        first = np.array([items[0] for items in task.members])
        held = reused[:, first]
        # Groups on the other side go last, where they count for nothing.
        order = np.lexsort((words[:, here], ~held), axis=1)
        sizes_here = np.where(held, group_sizes[here], 0)
        ordered = np.take_along_axis(sizes_here, order, axis=1)
        before = np.cumsum(ordered, axis=1) - ordered
        middle = (2 * before + ordered) / (2.0 * ordered.sum(axis=1, keepdims=True))
        middle[:, 0] = -1.0
        middle[ordered == 0] = np.inf
        np.put_along_axis(priority[:, here], order, middle, axis=1)

    order = np.argsort(priority, axis=1, kind="stable")
    taken = np.where(np.isinf(priority), 0, group_sizes)
    total = np.cumsum(np.take_along_axis(taken, order, axis=1), axis=1)
    # Items up to and including each group, in the order in which groups are kept.
    upto = np.empty_like(total)
    np.put_along_axis(upto, order, total, axis=1)
    least = total[:, len(plan.tasks) - 1].max(initial=0)
    kept = []
    for size in sizes:
        if size < least:
            raise BadRequest(
                f"reused_items={size}: equal prompts stay together, and one prompt per task has "
                f"{least} items in some split; expected at least that many"
            )
        kept.append(reused & (upto <= size)[:, group_of])
    return kept
