"""Theory's sentences beside an attack: which numbers they are worked out for, where they stand."""

import json

import numpy as np
import pytest

from commands import answer, elsewhere
from jaxbench.benchmark import Benchmark
from jaxbench.jobs.promised import PLAIN, promised
from jaxbench.options import resolve
from jaxbench.options.attack import SIMULATION


def benchmark(sizes=(30, 60, 90), prompts=None):
    tasks = [f"task {t}" for t, size in enumerate(sizes) for _ in range(size)]
    return Benchmark.from_scores(
        np.random.default_rng(0).integers(0, 2, (3, len(tasks))).astype(float),
        models=["a", "b", "c"],
        items=[f"item {i}" for i in range(len(tasks))],
        tasks=tasks,
        prompt_hashes=prompts,
    )


def sentences(made, **options):
    given = {"preset": "simulation", "budgets": [1, 100], "holdout_fraction": 0.5} | options
    return promised(made, resolve(given, SIMULATION))


def test_without_a_mechanism_there_is_nothing_to_say():
    assert sentences(benchmark()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        # Noise is on every number: the smallest task has 15 reused items. 1 + 4 * 15 * .1^2.
        ({"mechanism": "gaussian:0.1", "interface": "task"}, "1.6 times (1 + 4 n s^2, 15 items)"),
        ({"mechanism": "gaussian:0.1", "interface": "aggregate"}, "4.6 times"),
        ({"mechanism": "gaussian:0.1", "interface": "rank"}, "90 items"),
        ({"mechanism": "gaussian:0.1", "interface": "task", "reused_items": 60}, "10 items"),
        # A Ladder acts on the overall, unless it is told to act on every number.
        ({"mechanism": "ladder:0.1", "interface": "task"}, "100 submissions and 90 items"),
        ({"mechanism": "ladder:0.1", "on": "coordinates"}, "3 Ladders side by side"),
        ({"mechanism": ["cap:40", "ladder:0.1"]}, "40 submissions and 90 items"),
    ],
)
def test_the_size_is_that_of_what_the_mechanism_acts_on(options, words):
    assert any(words in sentence for sentence in sentences(benchmark(), **options))


def test_interfaces_that_differ_are_named():
    both = sentences(benchmark(), mechanism="gaussian:0.1", interface=["task", "aggregate"])
    assert {s.split(":")[0] for s in both if PLAIN not in s} == {
        "interface task", "interface aggregate",
    }  # fmt: skip
    alike = sentences(benchmark(), mechanism="ladder:0.1", interface=["task", "aggregate"])
    assert not any(s.startswith("interface") for s in alike)


def test_equal_prompts_weigh_together_in_what_privacy_there_is():
    made = benchmark((20, 20))
    prompts = [f"{i // 2:064x}" for i in range(40)]
    twice = benchmark((20, 20), prompts)
    options = {"mechanism": "laplace:0.5", "interface": "aggregate", "budgets": [1]}
    # One release at n = 20: Delta / b = .1 and, with two items per prompt, .2.
    assert any("1 release: eps 0.1;" in s for s in sentences(made, **options))
    assert any("1 release: eps 0.2;" in s for s in sentences(twice, **options))


def test_a_run_prints_and_records_them(tmp_path, capsys):
    command = ("attack", "trials=3", "budgets=[1,2]", "out=run")
    with elsewhere(tmp_path) as here:
        out = answer(capsys, *command, "mechanism=gaussian:0.05").out
        record = json.loads((here / "run/run.json").read_text())
        assert any("slows the weighted vote" in sentence for sentence in record["theory"])
        printed = " ".join(out.split())
        table = printed.index("selection loss")
        for sentence in record["theory"]:
            assert printed.index(" ".join(sentence.split())) > table
        answer(capsys, *command, "overwrite=true")
        assert json.loads((here / "run/run.json").read_text())["theory"] == []
