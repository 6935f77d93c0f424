"""Units: the finest groups of items whose counts a run keeps apart.

Every released, overall or ranking score is made of counts per unit (`benchmark.aggregate`). A unit
is a task, cut finer only where a run needs it: by subtask for `chance_normalised`, by category
where categories are released but do not contain whole tasks.
"""

from collections.abc import Sequence
from fractions import Fraction

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Int

from jaxbench.benchmark.container import Benchmark
from jaxbench.errors import BadRequest


class Units(eqx.Module):
    """The unit of every item, and what each unit belongs to.

    `tasks` and `cells` list the units of every task and of every (task, subtask); `cell_tasks`
    and `chances` say which task a cell is in and its chance level; `categories` lists the units
    of every category, where the run needs them.
    """

    of_item: Int[np.ndarray, " items"]
    count: int = eqx.field(static=True)
    tasks: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    cells: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    cell_names: tuple[str, ...] = eqx.field(static=True)
    cell_tasks: tuple[int, ...] = eqx.field(static=True)
    chances: tuple[Fraction, ...] = eqx.field(static=True)
    categories: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        *,
        subtasks: bool,
        categories: bool,
        task_order: Sequence[int] | None = None,
    ) -> "Units":
        """Cut tasks by subtask and by category as asked.

        Units stand in `task_order`, so that those of a group of tasks stand together and a program
        does not depend on which tasks it groups.

        **Errors:** `BadRequest` where chance levels differ within a subtask.
        """
        items = range(len(benchmark.items))
        subtask = benchmark.subtasks if subtasks and benchmark.subtasks else ("",) * len(items)
        category = benchmark.categories if categories and benchmark.categories else None
        task = benchmark.task_index.tolist()
        keys = [(task[i], subtask[i], "" if category is None else category[i]) for i in items]
        rank = {t: r for r, t in enumerate(task_order or range(len(benchmark.tasks)))}
        units = sorted(set(keys), key=lambda key: (rank[key[0]], key[1:]))
        place = {key: index for index, key in enumerate(units)}
        cells = sorted({key[:2] for key in units})
        names = sorted({key[2] for key in units}) if category is not None else []
        return cls(
            of_item=np.array([place[key] for key in keys], dtype=np.int64),
            count=len(units),
            tasks=_group(units, range(len(benchmark.tasks)), lambda key: key[0]),
            cells=_group(units, cells, lambda key: key[:2]),
            cell_names=tuple(f"{benchmark.tasks[t]} / {s}" if s else benchmark.tasks[t]
                             for t, s in cells),
            cell_tasks=tuple(t for t, _ in cells),
            chances=_chances(benchmark, [key[:2] for key in keys], cells) if subtasks else (),
            categories=_group(units, names, lambda key: key[2]) if names else (),
        )  # fmt: skip

    def sizes(self, members: Bool[np.ndarray, "*trials items"]) -> Int[np.ndarray, "*trials units"]:
        """Items per unit among `members` (masks over items)."""
        # A product of whole numbers that float32 holds, on BLAS.
        unit = (self.of_item[:, None] == np.arange(self.count)).astype(np.float32)
        return np.rint(members.astype(np.float32) @ unit).astype(np.int64)


def _group(units: list, values: Sequence, of) -> tuple[tuple[int, ...], ...]:
    members: dict[object, list[int]] = {value: [] for value in values}
    for index, key in enumerate(units):
        members[of(key)].append(index)
    return tuple(tuple(m) for m in members.values())


def _chances(benchmark: Benchmark, keys: list, cells: list) -> tuple[Fraction, ...]:
    levels: dict[object, Fraction] = {}
    for item, key in enumerate(keys):
        chance = benchmark.chances[item] if benchmark.chances else Fraction(0)
        if levels.setdefault(key, chance) != chance:
            raise BadRequest(
                f"{benchmark.name}: chance differs within task {benchmark.tasks[key[0]]!r}"
                f"{f', subtask {key[1]!r}' if key[1] else ''}: {levels[key]} and {chance} "
                f"(item {benchmark.items[item]!r}); one level per subtask is needed"
            )
    return tuple(levels[cell] for cell in cells)
