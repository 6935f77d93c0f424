"""What a mechanism adds to a plain sweep: the kernel with it beside the kernel without.

    python benchmarks/mechanisms.py [--only WORD] [--out RESULTS.json]

Fresh routers, twelve budgets, endpoints from the task profile, so that both kernels do the same
beside the mechanism. Every ratio is the median over neighbouring pairs in one process. What has to
be taken submission by submission (`Condition.sequenced`) is timed apart, per whole run.
"""

import argparse
from collections.abc import Callable

import jax
from machine import paired, write
from sweep import in_turns

from jaxbench.engine import Evaluator, run_cell
from jaxbench.engine.cell import Cell
from jaxbench.engine.requests import request_for
from worlds import BUDGETS, kernel_calls, world

TRIALS = 256
REPEATS = 5
SIX = {"interface": ["groups:1", "groups:2", "groups:3", "groups:5", "groups:7", "task"]}
SHAKY = {"name": "shaky_ladder", "step": "0.02", "scale": "0.005"}
# Name: what is asked for beside what everything shares, and without the mechanism.
IN_BLOCKS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "rounding, six granularities": ({"mechanism": "rounding:0.01"} | SIX, SIX),
    "gaussian, six granularities": ({"mechanism": "gaussian:0.01"} | SIX, SIX),
    "rounding": ({"mechanism": "rounding:0.01"}, {}),
    "gaussian": ({"mechanism": "gaussian:0.01"}, {}),
    "subsample": ({"mechanism": "subsample:100"}, {}),
    "ladder, overall": ({"mechanism": "ladder:0.01"}, {"interface": "aggregate"}),
    "ladder, gate": ({"mechanism": "ladder:0.01", "on": "gate"}, {}),
    "ladder, coordinates": ({"mechanism": "ladder:0.01", "on": "coordinates"}, {}),
    "shaky ladder, overall": ({"mechanism": SHAKY}, {"interface": "aggregate"}),
    "frontier ladder": ({"mechanism": "frontier_ladder:0.01"}, {}),
    "rank": ({"interface": "rank"}, {"interface": "aggregate"}),
    "top 10": ({"interface": "top:10"}, {"interface": "aggregate"}),
}  # fmt: skip
IN_SEQUENCE: dict[str, dict[str, object]] = {
    "parameter free": {"mechanism": "parameter_free"},
    "thresholdout": {"mechanism": {"name": "thresholdout", "threshold": "0.05", "scale": "0.01"}},
    "flip": {"submitter": "flip"},
    "flip, ladder": {"submitter": "flip", "mechanism": "ladder:0.01"},
    "rounds": {"submitter": "rounds"},
    "development": {"submitter": "development"},
}


def made(asked: dict[str, object], **more: object) -> Evaluator:
    """The evaluator of a sweep."""
    benchmark = world()
    shared = {
        "preset": "simulation", "endpoints": "top5", "endpoint_view": "tasks", "trials": TRIALS,
        "budgets": BUDGETS, "scoring": "item_mean",
    }  # fmt: skip
    return Evaluator(benchmark, request_for(benchmark, shared | asked | more))


def kernel(asked: dict[str, object]) -> Callable[[], None]:
    """All calls of the kernel, as a run makes them."""
    return in_turns(kernel_calls(made(asked))[0])


def whole(asked: dict[str, object]) -> Callable[[], None]:
    """A whole run with few trials."""
    evaluator = made(asked, trials=64)

    def run() -> None:
        for outcome in run_cell(Cell(evaluator)):
            jax.block_until_ready(outcome.measured.selected)

    return run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--out", help="where the JSON document goes")
    asked = parser.parse_args()
    results: dict[str, object] = {}
    for name, (with_it, without) in IN_BLOCKS.items():
        if asked.only in name:
            results[name] = paired(kernel(with_it), kernel(without), REPEATS)
    for name, with_it in IN_SEQUENCE.items():
        if asked.only in name:
            results[f"{name} (whole run)"] = paired(whole(with_it), whole({}), 3)
    write("mechanisms", results, asked.out)


if __name__ == "__main__":
    main()
