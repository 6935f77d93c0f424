"""The benchmark that speed is measured on, and the kernel's calls for it."""

from collections.abc import Callable
from functools import partial

import jax
import numpy as np

from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, Evaluator, Runner, call, kernel
from jaxbench.engine.frame import Frame

MODELS = 169
SIZES = (231, 75, 44, 34, 32, 22, 22, 19, 10, 11)
BUDGETS = [2**i for i in range(12)]


def world(sizes=SIZES, models: int = MODELS, seed: int = 0) -> Benchmark:
    """Right and wrong answers of a two-parameter logistic model."""
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(size=models), rng.normal(size=sum(sizes))
    discrimination = np.exp(0.3 * rng.normal(size=sum(sizes)))
    chance = 1 / (1 + np.exp(-discrimination * (ability[:, None] - difficulty)))
    tasks = [f"task {t:02d}" for t, size in enumerate(sizes) for _ in range(size)]
    return Benchmark.from_scores(
        (rng.random(chance.shape) < chance).astype(float),
        models=[f"model {m:03d}" for m in range(models)],
        items=[f"item {i:04d}" for i in range(len(tasks))],
        tasks=tasks,
    )


def kernel_calls(made: Evaluator, together: int | None = None) -> tuple[list[Callable], Frame]:
    """The kernel's calls over all trials of the first bank, with all inputs there.

    **Arguments:** `together`: trials of a call (None: as many as a run takes).

    **Returns:** the calls, and the frame that their program is made for.
    """
    cell, runner = Cell(made), Runner()
    chunk = cell.chunk(np.arange(made.request.trials))
    runner._grow(chunk, None)
    frame = runner._frames[None]
    layout = chunk.layout(frame)
    rows = len(chunk.trials)
    together = together or runner.rows_per_call(chunk, None, rows)
    shared = None if cell.fresh else cell.banks.bank(layout, 0)
    calls = []
    for first in range(0, rows, together):
        with jax.enable_x64(True):
            pieces = call.pieces_of([chunk], [layout], first, together)
            arguments = jax.device_put(call.arguments_of(pieces, shared)[0])
        static = call.static_of(frame)
        calls.append(partial(_with_x64, kernel.attack_rows, *arguments, **static))
    return calls, frame


def _with_x64(function, *arguments, **static):
    with jax.enable_x64(True):
        return function(*arguments, **static)
