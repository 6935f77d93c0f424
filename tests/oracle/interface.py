"""What is released of a row, and the coordinate that carries each item.

The readings of `interface`:

* `task`: the native task values (exact means over reused items, at the released precision).
* `category`: the plain mean of the native values of a category's tasks, rounded once; where some
  task has items of several categories, the plain mean over the category's reused items, rounded
  once.
* `aggregate`: the released overall, one coordinate.
* `groups:D[:P]`: the plain mean of the native values of a group's tasks, rounded once. Tasks in
  the order of SHA-256 hex of `{group_seed}-partition-{P}|{task}`, cut into D runs, longer first.
"""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction

from .scoring import mean, native_task_values, released_overall, task_categories, to_tick
from .split import OracleBenchmark, OracleRefusal, task_names


def partition(tasks: list[str], d: int, p: int, group_seed: str) -> list[list[str]]:
    """The tasks in d groups."""
    if not 1 <= d <= len(tasks):
        raise OracleRefusal(f"{len(tasks)} tasks cannot be cut into {d} groups")

    def key(task: str) -> tuple[str, str]:
        text = f"{group_seed}-partition-{p}|{task}"
        return hashlib.sha256(text.encode()).hexdigest(), task

    order = sorted(tasks, key=key)
    small, longer = divmod(len(order), d)  # the first `longer` groups have one task more
    groups = []
    start = 0
    for n in range(d):
        end = start + small + (1 if n < longer else 0)
        groups.append(order[start:end])
        start = end
    return groups


def coordinate_tasks(
    bench: OracleBenchmark, interface: str, group_seed: str
) -> dict[str, list[str]] | None:
    """The tasks of every coordinate; None where coordinates are not made of whole tasks."""
    tasks = task_names(bench)
    if interface == "task":
        return {task: [task] for task in tasks}
    if interface == "aggregate":
        return {"overall": tasks}
    if interface == "category":
        if any(item.category is None for item in bench.items):
            raise OracleRefusal("interface category needs a category for every item")
        categories = task_categories(bench)
        if categories is None:
            return None
        return {c: [t for t in tasks if categories[t] == c] for c in set(categories.values())}
    found = re.fullmatch(r"groups:([0-9]+)(?::([0-9]+))?", interface)
    if not found:
        raise OracleRefusal(f"interface {interface!r} is not in the oracle")
    groups = partition(tasks, int(found[1]), int(found[2] or 0), group_seed)
    return {f"group {n}": group for n, group in enumerate(groups)}


class Interface:
    """One benchmark under one interface and one split: `of_item` and `release(row)`."""

    def __init__(
        self,
        bench: OracleBenchmark,
        reused: list[bool],
        *,
        interface: str = "task",
        group_seed: str = "jaxbench",
        scoring: str = "item_mean",
        precision: int | None = None,
    ):
        if interface == "aggregate" and scoring == "mean_win_rate":
            raise OracleRefusal(
                "mean_win_rate has no overall that interface aggregate could release"
            )
        self.bench, self.reused = bench, reused
        self.kind, self.scoring, self.precision = interface, scoring, precision
        self.tasks = coordinate_tasks(bench, interface, group_seed)
        self.of_item: list[str]  # the coordinate of every item
        if self.tasks is None:
            self.of_item = [str(item.category) for item in bench.items]
        else:
            of_task = {task: c for c, group in self.tasks.items() for task in group}
            self.of_item = [of_task[item.task] for item in bench.items]
        public = {c for c, side in zip(self.of_item, reused, strict=True) if side}
        for c in sorted(set(self.of_item) - public):
            raise OracleRefusal(f"category {c!r} has no reused item")

    def release(self, row: list[Fraction]) -> dict[str, Fraction]:
        """The released value of every coordinate, for a row with one score per item."""
        if self.kind == "aggregate":
            value = released_overall(self.bench, row, self.reused, self.scoring, self.precision)
            return {"overall": value}
        if self.tasks is None:
            values: dict[str, list[Fraction]] = {c: [] for c in self.of_item}
            for c, score, side in zip(self.of_item, row, self.reused, strict=True):
                if side:
                    values[c].append(score)
            return {c: to_tick(mean(scores), self.precision) for c, scores in values.items()}
        native = native_task_values(self.bench, row, self.reused, self.precision)
        return {
            c: to_tick(mean([native[task] for task in group]), self.precision)
            for c, group in self.tasks.items()
        }


def public_profile(
    bench: OracleBenchmark, reused: list[bool], precision: int | None = None
) -> dict[str, dict[str, Fraction]]:
    """The native task values of every genuine model."""
    return {
        model: native_task_values(bench, list(row), reused, precision)
        for model, row in zip(bench.models, bench.scores, strict=True)
    }
