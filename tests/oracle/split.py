"""Benchmarks and their splits into reused and held-out items (sections 1 and 2)."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction


class OracleRefusal(ValueError):
    """A request that the specification refuses."""


@dataclass(frozen=True)
class OracleItem:
    id: str
    task: str
    prompt_hash: str
    category: str | None = None
    subtask: str | None = None  # below the task; with chance for `chance_normalised` only
    chance: Fraction = Fraction(0)


@dataclass(frozen=True)
class OracleBenchmark:
    models: tuple[str, ...]
    items: tuple[OracleItem, ...]
    scores: tuple[tuple[Fraction, ...], ...]  # scores[m][i] in [0, 1], higher is better


def check(bench: OracleBenchmark) -> None:
    if len(bench.models) < 2:
        raise OracleRefusal("an attack needs at least two models")
    if len(set(bench.models)) != len(bench.models):
        raise OracleRefusal("model names must be unique")
    if len(bench.scores) != len(bench.models):
        raise OracleRefusal("one row of scores per model is needed")
    for model, row in zip(bench.models, bench.scores, strict=True):
        if len(row) != len(bench.items):
            raise OracleRefusal(f"model {model!r} does not have one score per item")
        if not all(isinstance(score, (int, Fraction)) and 0 <= score <= 1 for score in row):
            raise OracleRefusal(f"model {model!r} has a score that is no fraction in [0, 1]")
    task_of_hash: dict[str, str] = {}
    for item in bench.items:
        if task_of_hash.setdefault(item.prompt_hash, item.task) != item.task:
            raise OracleRefusal(f"prompt hash {item.prompt_hash!r} occurs in two tasks")


def task_names(bench: OracleBenchmark) -> list[str]:
    return sorted({item.task for item in bench.items})


def pool_small_tasks(bench: OracleBenchmark, k: int) -> OracleBenchmark:
    """Tasks of fewer than k items become one task `other`; everything else about an item stays."""
    if k < 1:
        raise OracleRefusal("min_task_items is at least 1")
    sizes = Counter(item.task for item in bench.items)
    large = {task for task, size in sizes.items() if size >= k}
    name = "other (pooled)" if "other" in large else "other"
    if name in large and len(large) < len(sizes):
        raise OracleRefusal(f"a task is named {name!r} already")
    items = tuple(item if item.task in large else replace(item, task=name) for item in bench.items)
    return replace(bench, items=items)


def reachable_sums(sizes: list[int]) -> list[int]:
    """Entry n: the sums of subsets of sizes[n:], as a bit mask (bit s is set: s is reachable)."""
    sums = [1]
    for size in reversed(sizes):
        sums.append(sums[-1] | sums[-1] << size)
    return sums[::-1]


def fill(sizes: list[int], target: int) -> list[bool] | None:
    """Which groups, in the order given, are held out; None when no subset hits the target."""
    reachable = reachable_sums(sizes)
    if not reachable[0] >> target & 1:
        return None
    taken = []
    rest = target
    for position, size in enumerate(sizes):
        take = size <= rest and bool(reachable[position + 1] >> (rest - size) & 1)
        taken.append(take)
        rest -= size if take else 0
    assert rest == 0
    return taken


def split_order(seed: int, task: str, prompt_hash: str) -> tuple[int, str]:
    digest = hashlib.sha256(f"{seed}|{task}|{prompt_hash}".encode()).digest()
    return int.from_bytes(digest, "big"), prompt_hash


def hash_split(bench: OracleBenchmark, seed: int, holdout_fraction: Fraction) -> list[bool]:
    """True = reused (public), False = held out, per item."""
    check(bench)
    if isinstance(holdout_fraction, float):
        raise OracleRefusal("the held-out fraction is exact, never a float")
    held_hashes = set()
    for task in task_names(bench):
        sizes = Counter(item.prompt_hash for item in bench.items if item.task == task)
        n_task = sum(sizes.values())
        target = round(Fraction(holdout_fraction) * n_task)
        if target == 0 or target == n_task:
            side = "held-out" if target == 0 else "reused"
            raise OracleRefusal(f"task {task!r} would have no {side} item")
        order = sorted(sizes, key=lambda prompt_hash: split_order(seed, task, prompt_hash))
        taken = fill([sizes[prompt_hash] for prompt_hash in order], target)
        if taken is None:
            raise OracleRefusal(
                f"task {task!r}: no set of its prompt groups has exactly {target} items"
            )
        held_hashes |= {h for h, take in zip(order, taken, strict=True) if take}
    return [item.prompt_hash not in held_hashes for item in bench.items]


def check_split(bench: OracleBenchmark, reused: list[bool]) -> None:
    """A split handed in keeps equal prompts together and leaves no task without either side."""
    if len(reused) != len(bench.items):
        raise OracleRefusal("the split needs one entry per item")
    side_of_hash: dict[str, bool] = {}
    sides_of_task: dict[str, set[bool]] = {}
    for item, side in zip(bench.items, reused, strict=True):
        if side_of_hash.setdefault(item.prompt_hash, bool(side)) != bool(side):
            raise OracleRefusal(f"prompt hash {item.prompt_hash!r} stands on both sides")
        sides_of_task.setdefault(item.task, set()).add(bool(side))
    for task, sides in sorted(sides_of_task.items()):
        if sides != {True, False}:
            raise OracleRefusal(
                f"task {task!r} has no {'held-out' if True in sides else 'reused'} item"
            )


def check_kept(bench: OracleBenchmark, reused: list[bool], kept: list[bool]) -> None:
    """What is kept is reused, in whole prompts, and there is some of every task."""
    side_of_hash: dict[str, bool] = {}
    tasks = set()
    for item, side, stays in zip(bench.items, reused, kept, strict=True):
        if stays and not side:
            raise OracleRefusal(f"item {item.id!r} is kept but not reused")
        if side_of_hash.setdefault(item.prompt_hash, bool(stays)) != bool(stays):
            raise OracleRefusal(f"prompt hash {item.prompt_hash!r} is kept in part")
        if stays:
            tasks.add(item.task)
    for task in task_names(bench):
        if task not in tasks:
            raise OracleRefusal(f"task {task!r} has no item that is kept")
