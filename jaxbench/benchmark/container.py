"""The array container every study runs on."""

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction

import equinox as eqx
import numpy as np
from jaxtyping import Int

from jaxbench.benchmark.counts import (
    LARGEST_DENOMINATOR,
    counts_from_scores,
    simplest_fraction,
)
from jaxbench.errors import BadRequest, counted, some
from jaxbench.options import Protocol

# How results name the attack's own router; no genuine model may bear it.
FINAL_ROUTER = "Final router"


class Benchmark(eqx.Module):
    """Outcomes of genuine models on the items of a benchmark, in integers.

    Models stand in name order and items in the order of (task, item id), whatever the order of
    the source: name order is the protocol's last tie-break, so an index comparison settles ties.
    Arrays live on the host; the engine ships what a run needs.

    A score is `counts / denominator`, in [0, 1], higher is better (spec: attack, section 1).
    """

    counts: Int[np.ndarray, "models items"]
    task_index: Int[np.ndarray, " items"]
    denominator: int = eqx.field(static=True)
    name: str = eqx.field(static=True)
    models: tuple[str, ...] = eqx.field(static=True)
    items: tuple[str, ...] = eqx.field(static=True)
    tasks: tuple[str, ...] = eqx.field(static=True)
    prompt_hashes: tuple[str, ...] = eqx.field(static=True)
    categories: tuple[str, ...] | None = eqx.field(static=True)
    subtasks: tuple[str, ...] | None = eqx.field(static=True)
    chances: tuple[Fraction, ...] | None = eqx.field(static=True)
    protocol: Protocol | None = eqx.field(static=True)
    provenance: tuple[str, ...] = eqx.field(static=True)

    @classmethod
    def from_scores(
        cls,
        scores: np.ndarray,
        *,
        models: Sequence[str],
        items: Sequence[str],
        tasks: Sequence[str],
        prompt_hashes: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        subtasks: Sequence[str] | None = None,
        chances: Sequence[Fraction | float | str] | None = None,
        name: str = "benchmark",
        protocol: Protocol | None = None,
        provenance: Sequence[str] = (),
        denominator: int | None = None,
        keep_shared_prompts: bool = False,
    ) -> "Benchmark":
        """Check a complete score matrix and bring it to canonical order and integer counts.

        **Arguments:**

        - `scores`: `(models, items)`, fractions in [0, 1]; the mean over repeats where a model
          ran an item several times.
        - `models`, `items`: names, distinct.
        - `tasks`, `categories`, `prompt_hashes`: one per item. Items with one prompt hash are
          always routed alike and never split; without hashes every item is its own prompt.
        - `subtasks`, `chances`: one per item, for `scoring=chance_normalised`; a chance level is a
          fraction in [0, 1), alike within a subtask.
        - `protocol`: the published protocol of this benchmark, if it has one.
        - `denominator`: what scores are multiples of one over, where that is known (else it is
          found out).
        - `keep_shared_prompts`: take a prompt that stands in two tasks, which no split can keep
          on one side; such a benchmark can be described but not attacked.

        **Errors:** `BadRequest` for a score that is not finite or outside [0, 1] (naming model
        and item), repeated names, no model or item, or a prompt hash in two tasks.
        """
        scores = np.asarray(scores, dtype=np.float64)
        models, items = [str(m) for m in models], [str(i) for i in items]
        tasks = [str(t) for t in tasks]
        hashes = list(items) if prompt_hashes is None else [str(h) for h in prompt_hashes]
        levels = None if chances is None else [*map(_chance, chances, items)]
        per_item = {
            "tasks": tasks, "prompt_hashes": hashes, "categories": categories,
            "subtasks": subtasks, "chances": chances,
        }  # fmt: skip
        _check_shapes(scores, models, items, per_item)
        _check_names("model", models)
        if FINAL_ROUTER in models:
            raise BadRequest(
                f"a model is named {FINAL_ROUTER!r}, which is what results call the attack's own "
                "router; give it another name"
            )
        _check_names("item", items)
        for kind, names in (("models", models), ("items", items)):
            if not names:
                raise BadRequest(f"found no {kind}")
        for kind, names in (("task", tasks), ("category", categories), ("subtask", subtasks)):
            _check_given(kind, names, items)
        _check_scores(scores, models, items)
        if not keep_shared_prompts:
            check_prompts(hashes, tasks, items)

        row = sorted(range(len(models)), key=models.__getitem__)
        column = sorted(range(len(items)), key=lambda i: (tasks[i], items[i]))
        counts, denominator, note = counts_from_scores(scores[np.ix_(row, column)], denominator)
        names = tuple(sorted(set(tasks)))
        place = {task: index for index, task in enumerate(names)}
        task_index = np.array([place[tasks[i]] for i in column], dtype=np.int64)
        for array in (counts, task_index):
            array.flags.writeable = False
        return cls(
            counts=counts,
            task_index=task_index,
            denominator=denominator,
            name=name,
            models=tuple(models[m] for m in row),
            items=tuple(items[i] for i in column),
            tasks=names,
            prompt_hashes=tuple(hashes[i] for i in column),
            categories=None if categories is None else tuple(str(categories[i]) for i in column),
            subtasks=None if subtasks is None else tuple(str(subtasks[i]) for i in column),
            chances=None if levels is None else tuple(levels[i] for i in column),
            protocol=protocol,
            provenance=(*provenance, note),
        )

    def __repr__(self) -> str:
        named = (("model", self.models), ("item", self.items), ("task", self.tasks))
        models, items, tasks = (counted(len(names), noun) for noun, names in named)
        shape = f"{models} x {items} in {tasks}"
        return f"Benchmark({self.name!r}: {shape})"

    @property
    def scores(self) -> np.ndarray:
        """`(models, items)` float64 scores."""
        return self.counts / self.denominator

    def digest(self) -> str:
        """SHA-256 of everything an attack can depend on, in hexadecimal."""
        facts = [self.models, self.items, self.tasks, self.prompt_hashes, self.categories]
        facts += [self.subtasks, [str(c) for c in self.chances or ()]]
        spelled = json.dumps([*facts, self.task_index.tolist(), self.denominator])
        digest = hashlib.sha256(spelled.encode())
        digest.update(self.counts.astype("<i8").tobytes())
        return digest.hexdigest()

    @property
    def prompt_index(self) -> Int[np.ndarray, " items"]:
        """The number of every item's prompt, in the order of the prompt hashes."""
        place = {prompt: p for p, prompt in enumerate(sorted(set(self.prompt_hashes)))}
        return np.array([place[prompt] for prompt in self.prompt_hashes], dtype=np.int64)

    @property
    def item_tasks(self) -> tuple[str, ...]:
        """The task of every item."""
        return tuple(self.tasks[t] for t in self.task_index.tolist())

    @property
    def task_sizes(self) -> Int[np.ndarray, " tasks"]:
        """Items per task."""
        return np.bincount(self.task_index, minlength=len(self.tasks))


def _check_shapes(scores, models, items, per_item) -> None:
    if scores.shape != (len(models), len(items)):
        raise BadRequest(
            f"scores have shape {scores.shape}, expected {len(models)} models x {len(items)} items"
        )
    for word, values in per_item.items():
        if values is not None and len(values) != len(items):
            raise BadRequest(f"{word} has {len(values)} entries for {len(items)} items")


def _chance(value: Fraction | float | str, item: str) -> Fraction:
    try:
        # A float is the decimal that it prints as: 0.1 is a tenth. A long one was a fraction
        # before it was a float: 0.3333333333333333 is a third.
        level = value if isinstance(value, Fraction) else Fraction(str(value))
        if level.denominator > LARGEST_DENOMINATOR:
            level = simplest_fraction(float(level))
    except (ValueError, ZeroDivisionError, OverflowError):
        level = Fraction(-1)
    if not 0 <= level < 1:
        raise BadRequest(f"chance {value} of item {item!r}: expected a fraction in [0, 1)")
    return level


def _check_names(kind: str, names: list[str]) -> None:
    if any(not name.strip() for name in names):
        raise BadRequest(f"a {kind} has an empty name")
    if len(set(names)) < len(names):
        seen: set[str] = set()
        repeated = sorted({name for name in names if name in seen or seen.add(name)})
        raise BadRequest(f"{kind} named more than once: {some(repeated)}")


def _check_given(kind: str, names: Sequence[str] | None, items: list[str]) -> None:
    for name, item in () if names is None else zip(names, items, strict=True):
        if not str(name).strip():
            raise BadRequest(f"item {item!r} has a {kind} without a name")


def _check_scores(scores: np.ndarray, models: list[str], items: list[str]) -> None:
    # A hair outside [0, 1] is the float32 rounding of a mean, not a percentage.
    bad = ~np.isfinite(scores) | (scores < -1e-6) | (scores > 1 + 1e-6)
    if bad.any():
        m, i = np.argwhere(bad)[0]
        more = f" ({bad.sum()} such scores)" if bad.sum() > 1 else ""
        if 1 < np.nanmax(scores) <= 100 and np.nanmin(scores) >= 0:
            more += "; if these are percentages, say max_score=100 or divide them by 100"
        raise BadRequest(
            f"score {scores[m, i]} of model {models[m]!r} on item {items[i]!r}: expected a number "
            f"in [0, 1]{more}"
        )


def check_prompts(hashes: Sequence[str], tasks: Sequence[str], items: Sequence[str]) -> None:
    """Refuse a prompt in two tasks: no split by tasks could keep it on one side.

    **Errors:** `BadRequest` naming the prompt and two of its items.
    """
    first: dict[str, int] = {}
    for i, prompt in enumerate(hashes):
        j = first.setdefault(prompt, i)
        if tasks[i] != tasks[j]:
            raise BadRequest(
                f"prompt hash {prompt!r} stands in two tasks: item {items[j]!r} in {tasks[j]!r} "
                f"and item {items[i]!r} in {tasks[i]!r}; one prompt must belong to one task, or "
                "it would leak across the split: leave one of the items out, or all such items of "
                "files with shared_prompts=drop"
            )
