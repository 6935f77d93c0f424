"""Small benchmarks for tests, as the engine and as the oracle see them."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from jaxbench.benchmark import Benchmark
from oracle.attack import OracleBenchmark, OracleItem


@dataclass(frozen=True)
class World:
    """Whole successes out of `repeats` per model and item; items carry task, category, prompt."""

    successes: tuple[tuple[int, ...], ...]
    repeats: int
    tasks: tuple[str, ...]
    prompts: tuple[str, ...]
    categories: tuple[str, ...] | None = None
    subtasks: tuple[str, ...] | None = None
    chances: tuple[Fraction, ...] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(f"model {chr(ord('a') + m)}" for m in range(len(self.successes)))

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(f"item {i:03d}" for i in range(len(self.tasks)))

    def benchmark(self) -> Benchmark:
        return Benchmark.from_scores(
            np.array(self.successes) / self.repeats,
            models=self.models,
            items=self.items,
            tasks=self.tasks,
            prompt_hashes=self.prompts,
            categories=self.categories,
            subtasks=self.subtasks,
            chances=self.chances,
        )

    def oracle(self) -> OracleBenchmark:
        none = (None,) * len(self.items)
        facts = zip(
            self.items, self.tasks, self.prompts, self.categories or none, self.subtasks or none,
            self.chances or (Fraction(0),) * len(self.items), strict=True,
        )  # fmt: skip
        return OracleBenchmark(
            models=self.models,
            items=tuple(
                OracleItem(id=i, task=t, prompt_hash=h, category=c, subtask=s, chance=p)
                for i, t, h, c, s, p in facts
            ),
            scores=tuple(tuple(Fraction(s, self.repeats) for s in row) for row in self.successes),
        )


@st.composite
def worlds(draw, tasks: int = 2, most_models: int = 8) -> World:
    """Worlds of one shape bucket: `tasks` tasks of at most 8 items, some prompts repeated."""
    sizes = draw(st.lists(st.sampled_from([8, 7, 6, 5, 4, 3, 2]), min_size=tasks, max_size=tasks))
    models = draw(st.sampled_from(range(most_models, 1, -1)))
    repeats = draw(st.integers(1, 5))
    names, prompts = [], []
    for task, size in enumerate(sizes):
        # Now and then prompts are drawn from few values, so that some stand on several items.
        drawn = list(range(size))
        if draw(st.integers(0, 3)) == 0:
            few = draw(st.integers(max(2, size - 2), size))
            drawn = draw(st.lists(st.integers(0, few - 1), min_size=size, max_size=size))
        names += [f"task {task}"] * size
        prompts += [f"prompt {task} {value}" for value in drawn]
    kind = draw(st.sampled_from(["free"] * 4 + ["extreme"] * 2 + ["frontier"] * 2 + ["equal"]))
    items = len(names)
    if kind == "equal":
        row = draw(st.lists(st.integers(0, repeats), min_size=items, max_size=items))
        successes = [row] * models
    elif kind == "frontier":
        # What one model gains on the first task it loses on the others: wide frontiers, many ties.
        successes = []
        for _ in range(models):
            level = draw(st.integers(0, repeats))
            successes.append([level if t == "task 0" else repeats - level for t in names])
    else:
        values = st.integers(0, repeats) if kind == "free" else st.sampled_from([0, repeats])
        row = st.lists(values, min_size=items, max_size=items)
        successes = draw(st.lists(row, min_size=models, max_size=models))
    grouping = draw(st.sampled_from(["none", "tasks", "items"]))
    categories = None
    if grouping == "tasks":
        categories = tuple(f"category {int(t[-1]) // 2}" for t in names)
    elif grouping == "items":
        categories = tuple(f"category {draw(st.integers(0, 1))}" for _ in names)
    # Two subtasks per task and a chance level each; equal prompts need not share a subtask.
    subtasks = tuple(f"s{i % 2}" for i in range(items)) if draw(st.booleans()) else None
    levels = [Fraction(0), Fraction(1, 4), Fraction(1, 10)]
    level = {s: draw(st.sampled_from(levels)) for s in ("s0", "s1", None)}
    chances = tuple(level[s] for s in (subtasks or (None,) * items))
    return World(
        tuple(map(tuple, successes)), repeats, tuple(names), tuple(prompts), categories, subtasks,
        chances,
    )  # fmt: skip
