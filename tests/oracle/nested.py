"""Fewer reused items: nested subsets of the reused side of a split (lifespan, its first section).

Written with loops and fractions. The specification says nested, in proportion, duplicates together;
what it leaves open is read like this:

* The prompt groups of a task come in the order of random words, which the caller hands in.
* Every task keeps one group at least: its first.
* Seats after that go one group at a time to where the share of the task that would be kept, up to
  the middle of its next group, is least (with single prompts: Webster's divisors 1/2, 3/2, ...);
  among equals to the task that comes first.
* A subset stops before the first group that would take it past its size.
"""

from __future__ import annotations

from fractions import Fraction

from .split import OracleBenchmark, OracleRefusal, task_names


def seats(
    bench: OracleBenchmark, reused: list[bool], words: dict[str, int]
) -> tuple[list[list[int]], list[list[int]]]:
    """The groups of items in the order in which they are kept: first ones of tasks, then others."""
    waiting: dict[str, list[list[int]]] = {}
    for task in task_names(bench):
        groups: dict[str, list[int]] = {}
        for i, item in enumerate(bench.items):
            if item.task == task and reused[i]:
                groups.setdefault(item.prompt_hash, []).append(i)
        waiting[task] = [groups[h] for h in sorted(groups, key=lambda h: (words[h], h))]
    size = {task: sum(map(len, groups)) for task, groups in waiting.items()}
    first = [groups.pop(0) for groups in waiting.values()]
    kept = {task: len(group) for task, group in zip(waiting, first, strict=True)}
    others = []
    while any(waiting.values()):
        best = None
        for task, groups in waiting.items():
            if groups:
                share = (kept[task] + Fraction(len(groups[0]), 2)) / size[task]
                if best is None or share < best[0]:
                    best = share, task
        group = waiting[best[1]].pop(0)
        kept[best[1]] += len(group)
        others.append(group)
    return first, others


def reused_subset(
    bench: OracleBenchmark, reused: list[bool], size: int, words: dict[str, int]
) -> list[bool]:
    """True where an item is kept. `words`: the random word of every prompt hash."""
    first, others = seats(bench, reused, words)
    kept = [i for group in first for i in group]
    if not len(first) <= size <= sum(reused) or len(kept) > size:
        raise OracleRefusal(f"no subset of {size} items has some of every task")
    for group in others:
        if len(kept) + len(group) > size:
            break
        kept += group
    return [i in kept for i in range(len(bench.items))]
