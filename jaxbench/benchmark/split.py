"""Reused and held-out items: one split per trial.

Source: spec of the attack, section 2 (`split=hash` is the published rule, bit for bit).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, UInt64

from jaxbench.benchmark.container import Benchmark
from jaxbench.counters import Stream, trial_keys, trial_words
from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket


@dataclass(frozen=True)
class TaskGroups:
    """A task's prompt groups, ordered by prompt hash, and how many items it holds out."""

    name: str
    target: int
    prompts: tuple[str, ...]
    numbers: tuple[int, ...]
    members: tuple[list[int], ...]
    sizes: tuple[int, ...]


class SplitPlan:
    """What every split of a benchmark shares: the prompt groups and held-out target of a task.

    **Errors:** `BadRequest` names a task that cannot be split.
    """

    def __init__(self, benchmark: Benchmark, holdout_fraction: Fraction):
        self.items = len(benchmark.items)
        self.tasks: list[TaskGroups] = []
        number = benchmark.prompt_index
        for index, task in enumerate(benchmark.tasks):
            members = np.flatnonzero(benchmark.task_index == index)
            groups: dict[str, list[int]] = {}
            for item in members.tolist():
                groups.setdefault(benchmark.prompt_hashes[item], []).append(item)
            # Python's round: half to even, on the exact fraction.
            target = round(holdout_fraction * len(members))
            _check_task(task, len(members), target, [len(g) for g in groups.values()])
            prompts = tuple(sorted(groups))
            self.tasks.append(
                TaskGroups(
                    name=task,
                    target=target,
                    prompts=prompts,
                    numbers=tuple(int(number[groups[p][0]]) for p in prompts),
                    members=tuple(groups[p] for p in prompts),
                    sizes=tuple(len(groups[p]) for p in prompts),
                )
            )


def fill(sizes: Sequence[int], target: int) -> list[int]:
    """Positions of the groups taken, in order, so that their sizes add up to `target` exactly.

    A group is taken whenever it fits and the rest of the target is still reachable by the groups
    that follow. The caller has checked that `target` is reachable at all.
    """
    if set(sizes) == {1}:
        # Single prompts all: the first ones.
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


def fill_many(
    sizes: Int[np.ndarray, "rows groups"], target: int
) -> Bool[np.ndarray, "rows groups"]:
    """`fill` for many orders at once: True where a group is taken.

    While enough single groups are still to come every rest is reachable, and where less is to
    come than the rest none is. A row that neither settles goes through `fill` itself.
    """
    rows, groups = sizes.shape
    single = sizes == 1
    singles_after = single[:, ::-1].cumsum(axis=1)[:, ::-1] - single
    items_after = sizes[:, ::-1].cumsum(axis=1)[:, ::-1] - sizes
    taken = np.zeros((rows, groups), dtype=bool)
    unclear = np.zeros(rows, dtype=bool)
    rest = np.full(rows, target)
    for g in range(groups):
        left = rest - sizes[:, g]
        surely = (left >= 0) & (left <= singles_after[:, g])
        never = (left < 0) | (left > items_after[:, g])
        unclear |= ~surely & ~never
        taken[:, g] = surely
        rest = np.where(surely, left, rest)
    for row in np.flatnonzero(unclear):
        taken[row] = False
        taken[row, fill(sizes[row].tolist(), target)] = True
    return taken


def hash_splits(
    plan: SplitPlan, trials: Int[np.ndarray, " trials"], *, seed_base: int
) -> Bool[np.ndarray, "trials items"]:
    """The published splits: True where an item is reused (public), False where it is held out.

    Within a task the prompt groups are ordered by SHA-256 of `"{seed}|{task}|{prompt hash}"`
    (big-endian integer, then by hash), seed = `seed_base` + trial.
    """
    reused = np.ones((len(trials), plan.items), dtype=bool)
    for row, trial in enumerate(trials.tolist()):
        seed = seed_base + trial
        for task in plan.tasks:
            digests = [prompt_digest(seed, task.name, prompt) for prompt in task.prompts]
            order = sorted(range(len(digests)), key=digests.__getitem__)
            for g in fill([task.sizes[g] for g in order], task.target):
                reused[row, task.members[order[g]]] = False
    return reused


def group_words(
    plan: SplitPlan, trials: Int[np.ndarray, " trials"], *, seed: int, stream: Stream
) -> UInt64[np.ndarray, "trials groups"]:
    """A random word for every prompt group, task by task, keyed by (seed, trial, prompt number)."""
    (keys,) = trial_keys(seed, (stream,), trials)
    numbers = [p for task in plan.tasks for p in task.numbers]
    # Padded: a word depends on its counter alone, and a program on the number of counters.
    counters = np.zeros(bucket(len(numbers)), dtype=np.uint32)
    counters[: len(numbers)] = numbers
    high, low = (np.asarray(word) for word in trial_words(keys, jnp.asarray(counters)))
    return (high.astype(np.uint64) << np.uint64(32) | low)[:, : len(numbers)]


def prompt_digest(seed: int, task: str, prompt: str) -> bytes:
    """What the hash order of a split goes by: SHA-256 of `"{seed}|{task}|{prompt hash}"`.

    Digests of one length order like the big-endian integers that they spell.
    """
    return hashlib.sha256(f"{seed}|{task}|{prompt}".encode()).digest()


def prng_splits(
    plan: SplitPlan, trials: Int[np.ndarray, " trials"], *, seed: int
) -> Bool[np.ndarray, "trials items"]:
    """Fresh splits: the fill rule with groups in the order of counter-based words.

    The word of a group is keyed by (seed, trial, number of its prompt): a trial's split does not
    depend on which trials are made together.
    """
    drawn = group_words(plan, trials, seed=seed, stream=Stream.SPLIT)
    reused = np.ones((len(trials), plan.items), dtype=bool)
    start = 0
    for task in plan.tasks:
        here = drawn[:, start : start + len(task.numbers)]
        start += len(task.numbers)
        order = np.argsort(here, axis=1, kind="stable")
        sizes = np.array(task.sizes)
        if sizes.max() == 1:
            members = np.array([m[0] for m in task.members])
            np.put_along_axis(reused, members[order[:, : task.target]], False, axis=1)
            continue
        taken = np.zeros(here.shape, dtype=bool)
        np.put_along_axis(taken, order, fill_many(sizes[order], task.target), axis=1)
        for g, items in enumerate(task.members):
            reused[:, items] = ~taken[:, g : g + 1]
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
