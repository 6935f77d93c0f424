"""The public part of the reused items: what feedback comes from where the rest stays private.

The prompt groups of a trial's reused items, of all tasks together, stand in the order of the
split's hash (or of its counter-based words); the first ones are public. How many items those are is
the split's target rule, `round(share * n)`, halves to even, and groups are taken by its fill rule.
Where no set of whole groups has that many items, it is the largest reachable number below.

Source: spec of the mechanisms, rules 10 and 15.
"""

from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Int

from jaxbench.benchmark.split import SplitPlan, fill_many, group_words, prompt_digest
from jaxbench.counters import Stream
from jaxbench.errors import BadRequest, counted


def hash_public_part(
    plan: SplitPlan,
    reused: Bool[np.ndarray, "trials items"],
    trials: Int[np.ndarray, " trials"],
    *,
    share: Fraction,
    seed_base: int,
) -> Bool[np.ndarray, "trials items"]:
    """The public part under `split=hash`: True where a reused item is public.

    Groups are ordered by SHA-256 of `"{seed}|{task}|{prompt hash}"`, as within a task's split,
    seed = `seed_base` + trial. A trial's part depends on its number and reused items alone.

    **Errors:** `BadRequest` where the public or the private part would be empty.
    """
    names = [(task.name, prompt) for task in plan.tasks for prompt in task.prompts]
    held = _held_groups(plan, reused)
    order = np.empty(held.shape, dtype=np.int64)
    for row, trial in enumerate(trials.tolist()):
        here = np.flatnonzero(held[row]).tolist()
        digests = {g: (prompt_digest(seed_base + trial, *names[g]), names[g][1]) for g in here}
        order[row, : len(here)] = sorted(here, key=digests.__getitem__)
        order[row, len(here) :] = np.flatnonzero(~held[row])
    return _first_groups(plan, reused, order, share)


def prng_public_part(
    plan: SplitPlan,
    reused: Bool[np.ndarray, "trials items"],
    trials: Int[np.ndarray, " trials"],
    *,
    share: Fraction,
    seed: int,
) -> Bool[np.ndarray, "trials items"]:
    """The public part under `split=prng`: the same, in the order of the split's own words.

    **Errors:** `BadRequest` where the public or the private part would be empty.
    """
    words = group_words(plan, trials, seed=seed, stream=Stream.SPLIT)
    # Groups that are held out go last, where they count for nothing.
    order = np.lexsort((words, ~_held_groups(plan, reused)), axis=1)
    return _first_groups(plan, reused, order, share)


def _held_groups(
    plan: SplitPlan, reused: Bool[np.ndarray, "trials items"]
) -> Bool[np.ndarray, "trials groups"]:
    return reused[:, [items[0] for task in plan.tasks for items in task.members]]


def _first_groups(
    plan: SplitPlan,
    reused: Bool[np.ndarray, "trials items"],
    order: Int[np.ndarray, "trials groups"],
    share: Fraction,
) -> Bool[np.ndarray, "trials items"]:
    group_of = np.empty(plan.items, dtype=np.int64)
    members = [items for task in plan.tasks for items in task.members]
    for group, items in enumerate(members):
        group_of[items] = group
    group_sizes = np.array([len(items) for items in members])
    # A group that is held out has no items here: whether it is taken counts for nothing.
    sizes = np.where(_held_groups(plan, reused), group_sizes, 0)
    ordered = np.take_along_axis(sizes, order, axis=1)
    targets = _targets(sizes, share)
    taken = np.empty(ordered.shape, dtype=bool)
    for target in np.unique(targets):
        rows = targets == target
        taken[rows] = fill_many(ordered[rows], int(target))
    public = np.empty(taken.shape, dtype=bool)
    np.put_along_axis(public, order, taken, axis=1)
    return reused & public[:, group_of]


def _targets(
    sizes: Int[np.ndarray, "trials groups"], share: Fraction
) -> Int[np.ndarray, " trials"]:
    """Public items of every trial: `round(share * n)`, or the nearest reachable number below."""
    found: dict[tuple[int, ...], int] = {}
    targets = np.empty(len(sizes), dtype=np.int64)
    for row, mine in enumerate(sizes):
        # How many groups there are of each size says what is reachable.
        key = tuple(np.bincount(mine)[1:].tolist())
        if key not in found:
            found[key] = _target(key, share)
        targets[row] = found[key]
    return targets


def _target(groups: tuple[int, ...], share: Fraction) -> int:
    """The same for `groups[s - 1]` groups of s items."""
    items = sum(size * count for size, count in enumerate(groups, 1))
    # Bit s is set where some groups have s items together.
    reachable = 1
    for size, count in enumerate(groups, 1):
        for _ in range(count):
            reachable |= reachable << size
    wanted = round(share * items)
    target = (reachable & ((1 << wanted + 1) - 1)).bit_length() - 1
    if not 0 < target < items:
        side = "public" if target == 0 else "private"
        raise BadRequest(
            f"public={share}: of {counted(items, 'reused item')} none would be {side} in some "
            "split (equal prompts stay together); choose a share further from 0 and 1, or hold out "
            "fewer items"
        )
    return target
