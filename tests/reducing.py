"""Attacks by either simulator, and rows of the reduced one that come from no benchmark."""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench import metrics
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.aggregate import Chain
from jaxbench.counters import words
from jaxbench.engine import Cell, Evaluator, reduced, reduced_inputs, run_cell
from jaxbench.options import Protocol, resolve


class Run(NamedTuple):
    """All trials of one condition."""

    measured: metrics.TrialMetrics
    router: metrics.RouterScores
    eligible: np.ndarray
    counts_reused: np.ndarray
    counts_heldout: np.ndarray
    static_side: np.ndarray


def evaluator(benchmark: Benchmark, **options) -> Evaluator:
    """An evaluator of a small simulation."""
    asked = {"preset": "simulation", "endpoints": ["public_top5"], "resamples": 2, "seed": 3}
    return Evaluator(benchmark, resolve(asked | options, Protocol()))


def run(benchmark: Benchmark, **options) -> list[Run]:
    """Every condition of an attack, in order."""
    made = evaluator(benchmark, **options)
    of = {condition: [] for condition in made.conditions}
    for found in run_cell(Cell(made)):
        part = Run(
            found.measured, found.router, found.endpoints.eligible, found.counts_reused,
            found.counts_heldout, found.static_side,
        )  # fmt: skip
        of[found.condition].append(part)
    return [jax.tree.map(lambda *x: np.concatenate(x), *parts) for parts in of.values()]


def bare_rows(reused: list[int], heldout: list[int], trials: int, *, seed=0, slots=None,
              records=True, first=0):  # fmt: skip
    """Rows of nothing but differing items, every item alike, one unit per coordinate."""
    units = len(reused)
    tile = [np.tile(np.array(side, dtype=np.int64), (trials, 1)) for side in (reused, heldout)]
    none = np.zeros_like(tile[0])
    differing = reduced_inputs.Differing(*tile, none, none, np.ones(trials, dtype=np.int64))
    rules = [
        scoring.Overall.of(
            Chain.start(side[:1]).sums([range(units)]), [Fraction(1)], total=True
        ) for side in tile
    ]  # fmt: skip
    slots = slots or [a + b for a, b in zip(reused, heldout, strict=True)]
    shape = reduced.Shape(tuple((u,) for u in range(units)), tuple(slots), records)
    half = np.full(trials, 0.5)
    rows = reduced_inputs.make_rows(
        differing, shape, units, *rules, seed=seed, trials=np.arange(first, first + trials),
        sums_reused=tile[0].astype(float), sums_heldout=tile[1].astype(float),
        static=np.zeros((trials, units)), best_reused=half, best_heldout=half,
        gap=np.zeros(trials),
    )  # fmt: skip
    return rows, rules, shape


def bare_outcomes(reused: list[int], heldout: list[int], budgets: list[int], trials: int, **how):
    """Outcomes of `bare_rows` as numpy arrays."""
    with jax.enable_x64(True):
        rows, rules, shape = bare_rows(reused, heldout, trials, **how)
        found = reduced.reduced_rows(
            rows, jnp.asarray(budgets, dtype=jnp.int32),
            *jax.tree.map(jnp.asarray, tuple(rules)), shape=shape,
        )  # fmt: skip
        return jax.tree.map(np.asarray, found)


def bare_signs(rows: reduced.ReducedRows, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs of the first 64 candidates `(rows, items, 64)` and tie signs, of the first unit."""
    number = jnp.arange(items, dtype=jnp.uint32)[None, :]
    zero = jnp.zeros((1, 1), dtype=jnp.uint32)
    pair = [np.asarray(w) for w in words(rows.sign_keys[:, None, :], number, zero)]
    ties = np.asarray(words(rows.tie_keys[:, None, :], number, zero)[0])
    bits = np.concatenate([(w[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1 for w in pair], 2)
    return 2 * bits.astype(np.int64) - 1, 2 * (ties & 1).astype(np.int64) - 1


def logistic(sizes: tuple[int, ...], models: int, seed: int, spread: float = 0.5) -> Benchmark:
    """Right and wrong answers of a two-parameter logistic model; models differ by task."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    ability = rng.normal(size=(models, 1)) * spread + rng.normal(size=(models, len(sizes))) * 0.4
    chance = 1 / (1 + np.exp(-1.5 * (ability[:, task] - rng.normal(size=len(task)))))
    return Benchmark.from_scores(
        (rng.random(chance.shape) < chance).astype(float),
        models=[f"model {m:02d}" for m in range(models)],
        items=[f"item {i:04d}" for i in range(len(task))],
        tasks=[f"task {t}" for t in task],
    )
