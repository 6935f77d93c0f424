"""Outcomes of the engine side by side, bit for bit."""

from collections.abc import Iterable

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, ChunkOutcome, Condition, Evaluator, Runner, chunked, plan
from jaxbench.options import AttackRequest, Protocol, resolve

# Everything found about some trials, and the condition and bank that it was found under.
Key = tuple[Condition, int]
Whole = dict[Key, dict[str, np.ndarray]]


def request(**options) -> AttackRequest:
    """A request: simulation, few trials and resamples."""
    return resolve({"preset": "simulation", "trials": 8, "resamples": 2} | options, Protocol())


def cell(benchmark: Benchmark, *requests: AttackRequest) -> Cell:
    return Cell(Evaluator(benchmark, *requests))


def run(one: Cell, runner: Runner | None = None) -> list[ChunkOutcome]:
    """All trials of one cell."""
    runner = runner or Runner()
    return list(runner.run(chunked(one, 0, one.evaluator.request.trials)))


def by_task(outcome: ChunkOutcome, counts: np.ndarray) -> np.ndarray:
    """Counts per task: how tasks are cut into units depends on what runs beside a condition."""
    tasks = outcome.cell.evaluator.units.tasks
    return np.stack([counts[:, :, list(units)].sum(axis=2) for units in tasks], axis=2)


def whole(outcomes: Iterable[ChunkOutcome]) -> Whole:
    """All fields of outcomes of one cell, trials joined, per condition and bank."""
    parts: dict[Key, list[dict[str, np.ndarray]]] = {}
    for outcome in outcomes:
        fields = {
            "trials": outcome.trials,
            "counts_reused": by_task(outcome, outcome.counts_reused),
            "counts_heldout": by_task(outcome, outcome.counts_heldout),
        }
        for part in ("endpoints", "measured", "router"):
            fields |= {f"{part}.{k}": v for k, v in vars(getattr(outcome, part)).items()}
        parts.setdefault((outcome.condition, outcome.bank), []).append(fields)
    return {
        key: {field: np.concatenate([p[field] for p in chunks]) for field in chunks[0]}
        for key, chunks in parts.items()
    }


def same(found: Whole, expected: Whole) -> None:
    """The same conditions and banks, and all fields equal bit for bit."""
    assert found.keys() == expected.keys()
    for key, fields in expected.items():
        assert found[key].keys() == fields.keys()
        for name, values in fields.items():
            mine = found[key][name]
            assert (mine.dtype, mine.shape) == (values.dtype, values.shape), (key, name)
            assert mine.tobytes() == values.tobytes(), (key, name, mine, values)


def cut(patch: pytest.MonkeyPatch, *, chunk: int | None = None, call: int | None = None) -> None:
    """Chunks of so many trials, calls of so many rows."""
    if chunk:
        patch.setattr(plan.Shape, "trials_per_chunk", lambda *_, **__: chunk)
    if call:
        patch.setattr(plan.Shape, "rows_per_call", lambda *_, **__: call)
        patch.setattr(plan.Shape, "most_rows", lambda *_, **__: call)
