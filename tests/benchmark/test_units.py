"""Units: how tasks are cut where a run needs finer counts, and the weights on them."""

from fractions import Fraction

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest

# Items stand in the order of (task, item); task t, category c, subtask s per item.
TASKS = "aaaaabbbbccc"
CATEGORIES = "QQPPQPPPPPPP"
SUBTASKS = "yxxyxxxxxyyz"


def benchmark(tasks=TASKS, **facts) -> Benchmark:
    scores = np.zeros((2, len(tasks)))
    scores[1] = 1.0
    return Benchmark.from_scores(
        scores, models=["m", "n"], items=[f"i{i:02d}" for i in range(len(tasks))],
        tasks=list(tasks), **{k: list(v) for k, v in facts.items()},
    )  # fmt: skip


def test_a_task_is_a_unit():
    # Categories and subtasks that nobody asks for cut nothing.
    for facts in ({}, {"categories": CATEGORIES, "subtasks": SUBTASKS}):
        found = Units.of(benchmark(**facts), subtasks=False, categories=False)
        assert found.of_item.tolist() == [0] * 5 + [1] * 4 + [2] * 3
        assert found.count == 3
        assert found.tasks == found.cells == ((0,), (1,), (2,))
        assert found.cell_names == ("a", "b", "c")
        assert found.cell_tasks == (0, 1, 2)
        assert (found.categories, found.chances) == ((), ())


def test_tasks_are_cut_by_subtask():
    found = Units.of(benchmark(subtasks=SUBTASKS), subtasks=True, categories=False)
    # a/x, a/y, b/x, c/y, c/z: equal names in two tasks are two cells.
    assert found.of_item.tolist() == [1, 0, 0, 1, 0, 2, 2, 2, 2, 3, 3, 4]
    assert found.tasks == ((0, 1), (2,), (3, 4))
    assert found.cells == ((0,), (1,), (2,), (3,), (4,))
    assert found.cell_names == ("a / x", "a / y", "b / x", "c / y", "c / z")
    assert found.cell_tasks == (0, 0, 1, 2, 2)
    assert found.chances == (0,) * 5


def test_tasks_are_cut_by_category():
    found = Units.of(benchmark(categories=CATEGORIES), subtasks=False, categories=True)
    # a/P, a/Q, b/P, c/P.
    assert found.of_item.tolist() == [1, 1, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3]
    assert found.tasks == ((0, 1), (2,), (3,))
    assert found.categories == ((0, 2, 3), (1,))
    assert found.cells == found.tasks


def test_tasks_are_cut_both_ways():
    found = Units.of(
        benchmark(categories=CATEGORIES, subtasks=SUBTASKS), subtasks=True, categories=True
    )
    # a/x/P, a/x/Q, a/y/P, a/y/Q, b/x/P, c/y/P, c/z/P.
    assert found.of_item.tolist() == [3, 1, 0, 2, 1, 4, 4, 4, 4, 5, 5, 6]
    assert found.tasks == ((0, 1, 2, 3), (4,), (5, 6))
    assert found.cells == ((0, 1), (2, 3), (4,), (5,), (6,))
    assert found.cell_tasks == (0, 0, 1, 2, 2)
    assert found.categories == ((0, 2, 4, 5, 6), (1, 3))


def test_every_unit_is_in_one_task_and_one_cell():
    for subtasks in (False, True):
        for categories in (False, True):
            found = Units.of(
                benchmark(categories=CATEGORIES, subtasks=SUBTASKS),
                subtasks=subtasks, categories=categories,
            )  # fmt: skip
            for groups in (found.tasks, found.cells):
                assert sorted(u for group in groups for u in group) == list(range(found.count))


def test_sizes_of_a_side():
    found = Units.of(benchmark(subtasks=SUBTASKS), subtasks=True, categories=False)
    members = np.array([True, False, False, True, False] + [True] * 4 + [False] * 3)
    assert found.sizes(members).tolist() == [0, 2, 4, 0, 0]
    assert found.sizes(~members).tolist() == [3, 0, 0, 2, 1]


def test_chance_levels_of_cells():
    level = {"x": Fraction(1, 4), "y": Fraction(1, 10), "z": Fraction(0)}
    found = Units.of(
        benchmark(subtasks=SUBTASKS, chances=[level[s] for s in SUBTASKS]),
        subtasks=True, categories=False,
    )  # fmt: skip
    assert found.chances == tuple(level[name[-1]] for name in found.cell_names)
    # Where chance is not asked for it is not looked at.
    assert Units.of(
        benchmark(chances=[level[s] for s in SUBTASKS]), subtasks=False, categories=False
    ).chances == ()  # fmt: skip


@pytest.mark.parametrize(
    ("subtasks", "words"),
    [
        ("x" * 12, ["task 'b', subtask 'x'", "1/4 and 1/5", "'i07'", "one level per subtask"]),
        (None, ["task 'b': 1/4 and 1/5", "'i07'"]),
    ],
)
def test_chance_that_differs_within_a_subtask_is_refused(subtasks, words):
    levels = [Fraction(1, 4)] * 12
    levels[7] = Fraction(1, 5)
    facts = {"chances": levels} | ({"subtasks": subtasks} if subtasks else {})
    with pytest.raises(BadRequest) as error:
        Units.of(benchmark(**facts), subtasks=True, categories=False)
    for word in words:
        assert word in str(error.value)
    # A subtask of its own for the item is the way out.
    apart = benchmark(chances=levels, subtasks="xxxxxxxyxxxx")
    found = Units.of(apart, subtasks=True, categories=False)
    assert found.chances == (Fraction(1, 4),) * 2 + (Fraction(1, 5), Fraction(1, 4))


# --- weights ------------------------------------------------------------------------------------


def test_weights_of_tasks():
    third = (Fraction(1, 3),) * 3
    nested = benchmark(categories="P" * 9 + "Q" * 3)
    assert scoring.category_of_task(nested) == ("P", "P", "Q")
    by_category = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    assert scoring.task_weights(nested, "equal_category") == by_category
    assert scoring.task_weights(nested, "mean_win_rate") == by_category
    assert scoring.task_weights(nested, "equal_task") == third
    # Categories of items weigh nothing.
    mixed = benchmark(categories=CATEGORIES)
    assert scoring.category_of_task(mixed) is None
    assert scoring.task_weights(mixed, "mean_win_rate") == third
    assert scoring.task_weights(benchmark(), "mean_win_rate") == third


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "benchmark has no categories; use equal_task or item_mean"),
        ({"categories": CATEGORIES}, "task 'a' has items of 2 categories"),
    ],
)
def test_equal_category_needs_tasks_within_categories(facts, words):
    with pytest.raises(BadRequest, match=words):
        scoring.task_weights(benchmark(**facts), "equal_category")
