"""Boards of places behind mechanisms that look at items, or at two parts of the reused ones."""

import numpy as np
import pytest

import jaxbench
from jaxbench.benchmark import Benchmark

OPTIONS = {"preset": "simulation", "trials": 4, "budgets": [1, 6], "resamples": 2}
THRESHOLDOUT = {"name": "thresholdout", "threshold": "0.02", "scale": "0.01"}


@pytest.fixture(scope="module")
def benchmark():
    scores = np.random.default_rng(2).integers(0, 2, (5, 40)).astype(float)
    return Benchmark.from_scores(
        scores,
        models=[f"m{m}" for m in range(5)],
        items=[f"i{i:02d}" for i in range(40)],
        tasks=[f"t{i % 2}" for i in range(40)],
    )


@pytest.mark.parametrize("interface", ["top:2", "rank:all"])
def test_two_memories_of_submissions_are_refused(benchmark, interface):
    with pytest.raises(jaxbench.BadRequest, match=f"interface={interface} with mechanism=para"):
        jaxbench.attack(benchmark, mechanism="parameter_free", interface=interface, **OPTIONS)


@pytest.mark.parametrize("asked", [("rank", THRESHOLDOUT), ("rank", "parameter_free")], ids=str)
def test_places_of_what_such_a_mechanism_releases(benchmark, asked):
    interface, mechanism = asked
    table = jaxbench.attack(benchmark, interface=interface, mechanism=mechanism, **OPTIONS).trials()
    rows = table[table["eligible"] & (table["budget"] > 0)]
    assert len(rows)
    assert rows["rank_reused"].between(1, 6).all()
    # One of a team's numbers is its own at least: the first that is released.
    assert (rows["release_rate"] > 0).any()
