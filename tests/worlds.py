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
        )

    def oracle(self) -> OracleBenchmark:
        categories = self.categories or (None,) * len(self.items)
        return OracleBenchmark(
            models=self.models,
            items=tuple(
                OracleItem(id=i, task=t, prompt_hash=h, category=c)
                for i, t, h, c in zip(self.items, self.tasks, self.prompts, categories, strict=True)
            ),
            scores=tuple(tuple(Fraction(s, self.repeats) for s in row) for row in self.successes),
        )


@st.composite
def worlds(draw, tasks: int = 2, most_models: int = 8) -> World:
    """Worlds of one shape bucket: `tasks` tasks of at most 8 items, some prompts repeated."""
    sizes = draw(st.lists(st.integers(2, 8), min_size=tasks, max_size=tasks))
    models = draw(st.integers(2, most_models))
    repeats = draw(st.integers(1, 5))
    names, prompts = [], []
    for task, size in enumerate(sizes):
        # Prompts are drawn from few values, so that some stand on several items of the task.
        few = draw(st.integers(max(2, size - 2), size))
        drawn = draw(st.lists(st.integers(0, few - 1), min_size=size, max_size=size))
        names += [f"task {task}"] * size
        prompts += [f"prompt {task} {value}" for value in drawn]
    kind = draw(st.sampled_from(["free", "extreme", "equal", "frontier"]))
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
    grouped = draw(st.booleans())
    categories = tuple(f"category {int(t[-1]) // 2}" for t in names) if grouped else None
    return World(tuple(map(tuple, successes)), repeats, tuple(names), tuple(prompts), categories)
