"""The container itself: what it takes and what it refuses."""

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest

SCORES = np.array([[1.0, 0.0, 0.5]])
GOOD = {"models": ["a"], "items": ["x", "y", "z"], "tasks": ["t", "t", "u"]}


def test_one_model_is_a_benchmark():
    benchmark = Benchmark.from_scores(SCORES, **GOOD)
    assert repr(benchmark) == "Benchmark('benchmark': 1 model x 3 items in 2 tasks)"
    assert benchmark.item_tasks == ("t", "t", "u")


@pytest.mark.parametrize("kind", ["task", "category", "subtask"])
@pytest.mark.parametrize("name", ["", " "])
def test_names_that_are_none_are_refused(kind, name):
    plural = {"task": "tasks", "category": "categories", "subtask": "subtasks"}[kind]
    with pytest.raises(BadRequest, match=rf"item 'y' has a {kind} without a name"):
        Benchmark.from_scores(SCORES, **GOOD | {plural: ["t", name, "u"]})


def test_a_denominator_that_is_given_is_kept_if_it_fits():
    assert Benchmark.from_scores(SCORES, **GOOD).denominator == 2
    assert Benchmark.from_scores(SCORES, **GOOD, denominator=10).counts.tolist() == [[10, 0, 5]]
    assert Benchmark.from_scores(SCORES, **GOOD, denominator=5).denominator == 2


def test_a_prompt_in_two_tasks_is_taken_only_on_request():
    shared = GOOD | {"prompt_hashes": ["p", "q", "p"]}
    with pytest.raises(BadRequest, match="'p' stands in two tasks"):
        Benchmark.from_scores(SCORES, **shared)
    kept = Benchmark.from_scores(SCORES, **shared, keep_shared_prompts=True)
    assert kept.prompt_hashes == ("p", "q", "p")
