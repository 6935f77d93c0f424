"""Small tasks pooled into one."""

from fractions import Fraction

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark, pool_small_tasks
from jaxbench.benchmark.split import SplitPlan
from jaxbench.errors import BadRequest


def benchmark(sizes: dict[str, int], **facts) -> Benchmark:
    """Item i of a task has score i / 10 for both models, and its own prompt."""
    names = [task for task, size in sizes.items() for _ in range(size)]
    place = [i for size in sizes.values() for i in range(size)]
    items = [f"{task} {i}" for task, i in zip(names, place, strict=True)]
    row = [i / 10 for i in place]
    return Benchmark.from_scores(
        np.array([row, row]), models=["m", "n"], items=items, tasks=names,
        prompt_hashes=[f"prompt of {item}" for item in items],
        **{k: list(v) for k, v in facts.items()},
    )  # fmt: skip


def test_nothing_small_nothing_changes():
    board = benchmark({"a": 3, "b": 4})
    assert pool_small_tasks(board, 1) is board
    assert pool_small_tasks(board, 3) is board


def test_small_tasks_become_one():
    board = benchmark(
        {"a": 2, "q": 3, "z": 4}, categories="PPQQQRRRR", subtasks="stuvwxyzs",
        chances=[Fraction(1, n) for n in range(2, 11)],
    )  # fmt: skip
    pooled = pool_small_tasks(board, 4)
    # A task of exactly the least size stays. `other` sorts before z, and items by name within it.
    assert pooled.tasks == ("other", "z")
    assert pooled.items == ("a 0", "a 1", "q 0", "q 1", "q 2", "z 0", "z 1", "z 2", "z 3")
    assert pooled.task_index.tolist() == [0] * 5 + [1] * 4
    assert pooled.task_sizes.tolist() == [5, 4]
    assert any(
        "2 of 3 tasks" in note and "fewer than 4 items" in note and "'other'" in note
        for note in pooled.provenance
    )
    assert board.provenance == pooled.provenance[:-1]
    # Everything else about an item goes with it.
    before, after = ({item: i for i, item in enumerate(b.items)} for b in (board, pooled))
    for item, old in before.items():
        new = after[item]
        assert pooled.counts[:, new].tolist() == board.counts[:, old].tolist()
        for field in ("prompt_hashes", "categories", "subtasks", "chances"):
            assert getattr(pooled, field)[new] == getattr(board, field)[old]
    assert pooled.prompt_index[after["q 1"]] == board.prompt_index[before["q 1"]]


def test_items_move_to_where_the_pool_sorts():
    pooled = pool_small_tasks(benchmark({"a": 2, "m": 5, "z": 1}), 3)
    assert pooled.tasks == ("m", "other")
    assert pooled.items == ("m 0", "m 1", "m 2", "m 3", "m 4", "a 0", "a 1", "z 0")
    assert pooled.counts[0].tolist() == [0, 1, 2, 3, 4, 0, 1, 0]


def test_all_tasks_pooled():
    pooled = pool_small_tasks(benchmark({"a": 2, "b": 1}), 10)
    assert pooled.tasks == ("other",)
    assert pooled.task_index.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("sizes", "tasks"),
    [
        # A small task named other is pooled under its own name.
        ({"a": 9, "other": 2, "z": 1}, ("a", "other")),
        # A large one keeps it.
        ({"a": 1, "other": 9, "z": 1}, ("other", "other (pooled)")),
        ({"a": 1, "other": 9, "other (pooled)": 1}, ("other", "other (pooled)")),
        ({"a": 1, "other (pooled)": 9, "z": 1}, ("other", "other (pooled)")),
    ],
)
def test_the_name_of_the_pool(sizes, tasks):
    pooled = pool_small_tasks(benchmark(sizes), 5)
    assert pooled.tasks == tasks
    moved = sum(size for size in sizes.values() if size < 5)
    name = "other" if sizes.get("other", 0) < 5 else "other (pooled)"
    assert pooled.task_sizes[pooled.tasks.index(name)] == moved


def test_a_pool_never_joins_a_large_task():
    with pytest.raises(BadRequest, match=r"'other \(pooled\)'"):
        pool_small_tasks(benchmark({"a": 1, "other": 9, "other (pooled)": 9}), 5)


def test_a_pool_can_be_split_where_its_tasks_could_not():
    board = benchmark({"a": 6, "b": 1, "c": 1, "d": 1})
    with pytest.raises(BadRequest, match="task 'b' has 1 item"):
        SplitPlan(board, Fraction(2, 3))
    plan = SplitPlan(pool_small_tasks(board, 2), Fraction(2, 3))
    assert [(task.name, task.target) for task in plan.tasks] == [("a", 4), ("other", 2)]
