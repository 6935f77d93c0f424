"""The block kernel and the sequential one: two programs, one result."""

import numpy as np
import pytest

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.engine.conditions import Condition

OPTIONS = {
    "preset": "simulation", "trials": 40, "budgets": [1, 2, 5, 64, 65, 130], "resamples": 2,
    "holdout_fraction": "1/2", "seed": 5,
}  # fmt: skip
LADDER = {"name": "ladder", "step": "0.03"}
SHAKY = {"name": "shaky_ladder", "step": "0.03", "scale": "0.005"}
# One of every way through the block kernel; the others are wide.
SOON = [
    {"mechanism": ["gaussian:0.03", "rounding:0.05"], "interface": "groups:2"},
    {"mechanism": LADDER, "on": "coordinates", "scoring": "equal_task"},
    {"mechanism": LADDER, "state": "global", "on": "gate"},
    {"mechanism": "frontier_ladder:0.02"},
    {"interface": "top:3"},
    {"mechanism": "delay:8"},
]
ASKED = [
    {"mechanism": "rounding:0.05"},
    {"mechanism": "gaussian:0.03"},
    {"mechanism": "subsample:12"},
    {"mechanism": LADDER},
    {"mechanism": LADDER, "decoder": "naive"},
    {"mechanism": LADDER, "submitter": "sign"},
    {"mechanism": LADDER, "submitter": "majority", "on": "coordinates"},
    {"mechanism": LADDER, "state": "global"},
    {"mechanism": LADDER, "on": "gate"},
    {"mechanism": SHAKY},
    {"mechanism": SHAKY | {"monotone": True}, "clip": True},
    {"mechanism": "visibility:everyone"},
    {"mechanism": "visibility:submitter"},
    {"interface": "rank"},
    {"interface": "rank:all"},
    {"interface": "bucket:4"},
    {"interface": "interval_rank"},
    {"interface": "interval:0.05"},
    {"mechanism": "cap:20"},
    {"mechanism": "refresh:30"},
]


@pytest.fixture(scope="module")
def benchmark():
    rng = np.random.default_rng(3)
    chance = np.linspace(0.35, 0.6, 8)[:, None] + rng.normal(0, 0.2, 60)
    return Benchmark.from_scores(
        (rng.random((8, 60)) < chance).astype(float),
        models=[f"m{m}" for m in range(8)],
        items=[f"i{i:02d}" for i in range(60)],
        tasks=[f"t{i % 4}" for i in range(60)],
    )


@pytest.mark.parametrize(
    "asked", [*SOON, *(pytest.param(one, marks=pytest.mark.wide) for one in ASKED)], ids=str
)
def test_the_same_from_either_kernel(benchmark, asked, monkeypatch):
    in_blocks = jaxbench.attack(benchmark, **OPTIONS, **asked).trials()
    monkeypatch.setattr(Condition, "sequenced", True)
    one_by_one = jaxbench.attack(benchmark, **OPTIONS, **asked).trials()
    assert set(in_blocks) == set(one_by_one)
    assert in_blocks["eligible"].sum() > 100
    for name, found in in_blocks.items():
        other = one_by_one[name]
        if found.dtype == np.float64:
            np.testing.assert_allclose(other, found, rtol=0, atol=1e-10, err_msg=name)
        else:
            assert found.equals(other), name
