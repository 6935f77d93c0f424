"""Reused and held-out items: one split per trial.

Source: spec of the attack, section 2 (`split=hash` is the published rule, bit for bit).
"""

import hashlib
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Bool

from jaxbench.benchmark.container import Benchmark
from jaxbench.errors import BadRequest


class SplitPlan:
    """What every split of a benchmark shares: the prompt groups and held-out target of a task."""

    def __init__(self, benchmark: Benchmark, holdout_fraction: Fraction):
        self.items = len(benchmark.items)
        self.tasks: list[tuple[str, int, list[tuple[str, list[int]]]]] = []
        for index, task in enumerate(benchmark.tasks):
            members = np.flatnonzero(benchmark.task_index == index)
            groups: dict[str, list[int]] = {}
            for item in members.tolist():
                groups.setdefault(benchmark.prompt_hashes[item], []).append(item)
            # Python's round: half to even, on the exact fraction.
            target = round(holdout_fraction * len(members))
            _check_task(task, len(members), target, [len(g) for g in groups.values()])
            self.tasks.append((task, target, sorted(groups.items())))

    def heldout(self, order_key) -> Bool[np.ndarray, " items"]:
        """Fill the held-out side of every task in the order of `order_key(task, prompt_hash)`."""
        heldout = np.zeros(self.items, dtype=bool)
        for task, target, groups in self.tasks:
            ordered = sorted(groups, key=lambda group, task=task: order_key(task, group[0]))
            sizes = [len(members) for _, members in ordered]
            for position in fill(sizes, target):
                heldout[ordered[position][1]] = True
        return heldout


def fill(sizes: Sequence[int], target: int) -> list[int]:
    """Positions of the groups taken, in order, so that their sizes add up to `target` exactly.

    A group is taken whenever it fits and the rest of the target is still reachable by the groups
    that follow. The caller has checked that `target` is reachable at all.
    """
    if all(size == 1 for size in sizes):
        return list(range(target))
    # reachable[g] has bit s set if the groups from g on can add up to s.
    reachable = [1] * (len(sizes) + 1)
    for g in range(len(sizes) - 1, -1, -1):
        reachable[g] = reachable[g + 1] | (reachable[g + 1] << sizes[g])
    taken, rest = [], target
    for g, size in enumerate(sizes):
        if size <= rest and reachable[g + 1] >> (rest - size) & 1:
            taken.append(g)
            rest -= size
    return taken


def hash_splits(
    benchmark: Benchmark, *, trials: int, seed_base: int, holdout_fraction: Fraction
) -> Bool[np.ndarray, "trials items"]:
    """The published splits: True where an item is reused (public), False where it is held out.

    Within a task the prompt groups are ordered by SHA-256 of `"{seed}|{task}|{prompt hash}"`
    (big-endian integer, then by hash), seed = `seed_base` + trial.

    **Errors:** `BadRequest` names a task that cannot be split.
    """
    plan = SplitPlan(benchmark, holdout_fraction)
    reused = np.empty((trials, len(benchmark.items)), dtype=bool)
    for trial in range(trials):
        seed = seed_base + trial

        def order(task: str, prompt: str, seed: int = seed) -> tuple[bytes, str]:
            # Digests of one length order like the big-endian integers that they spell.
            return hashlib.sha256(f"{seed}|{task}|{prompt}".encode()).digest(), prompt

        reused[trial] = ~plan.heldout(order)
    return reused


def _check_task(task: str, size: int, target: int, groups: list[int]) -> None:
    if not 0 < target < size:
        side = "held-out" if target == 0 else "reused"
        raise BadRequest(
            f"task {task!r} has {size} item(s) and would keep no {side} item; pool small tasks "
            "with min_task_items, change holdout_fraction, or leave the task out"
        )
    reachable = 1
    for group in groups:
        reachable |= reachable << group
    if not reachable >> target & 1:
        raise BadRequest(
            f"task {task!r} cannot be split: no set of its prompt groups (sizes "
            f"{sorted(groups, reverse=True)[:8]}) has exactly {target} of {size} items; equal "
            "prompts must stay on one side"
        )
