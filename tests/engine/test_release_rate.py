"""How many submissions are told a number of their own, where a rule about time decides it."""

import numpy as np
import pytest

import jaxbench
from jaxbench.benchmark import Benchmark

OPTIONS = {"preset": "simulation", "trials": 6, "budgets": [1, 3, 8, 20], "resamples": 2}


@pytest.fixture(scope="module")
def benchmark():
    scores = np.random.default_rng(1).integers(0, 2, (5, 30)).astype(float)
    return Benchmark.from_scores(
        scores,
        models=[f"m{m}" for m in range(5)],
        items=[f"i{i:02d}" for i in range(30)],
        tasks=[f"t{i % 2}" for i in range(30)],
    )


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        # One number for every batch of four, the last one short.
        ({"name": "delay", "batch": 4, "kind": "best"}, [1, 1 / 3, 2 / 8, 5 / 20]),
        # Submissions 1, 5, 9, 13 and 17 at the most are scored before the final one.
        ({"name": "delay", "batch": 4, "kind": "last"}, [1, 1 / 3, 2 / 8, 5 / 20]),
        ({"name": "delay", "batch": 4}, [1, 1, 1, 1]),
        ("cap:5", [1, 1, 5 / 8, 5 / 20]),
        ("refresh:4", [1, 1, 1, 1]),
    ],
    ids=str,
)
def test_share_of_submissions_that_are_told(benchmark, mechanism, expected):
    table = jaxbench.attack(benchmark, mechanism=mechanism, **OPTIONS).trials()
    rows = table[table["eligible"] & (table["budget"] > 0)]
    found = rows.groupby("budget")["release_rate"].unique()
    assert [list(one) for one in found] == [[pytest.approx(x)] for x in expected]
