"""Speed of `jaxbench attack` beside the floor of this machine.

    python benchmarks/attack.py [RESULTS.json]

The floor of a shared bank is the bare float32 matrix products with the same multiply-adds: two
products of differences and signs (reused and held-out side) and one of contrasts and signs. The
floor of fresh routers is drawing their random words and the same sums over unpacked signs, once.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from machine import paired, seconds, write

from jaxbench.benchmark import Benchmark
from jaxbench.counters import words
from jaxbench.engine import Cell, Evaluator, Stopwatch, run_cell
from jaxbench.options import Protocol, resolve
from jaxbench.sources import load
from worlds import BUDGETS, SIZES, kernel_calls, world

RULES = ["top5", "full_frontier"]
REPEATS = 7


def study(benchmark: Benchmark, **options) -> Evaluator:
    """A study with the defaults of the published preset."""
    return Evaluator(
        benchmark, resolve({"preset": "published", "resamples": 2} | options, Protocol())
    )


def bare_products(trials: int, items: int, candidates: int, rules: int) -> Callable:
    """The same multiply-adds with nothing around them."""
    rng = np.random.default_rng(0)
    signs = jnp.asarray(rng.choice([-1.0, 1.0], (candidates, items)), dtype=jnp.float32)
    public, hidden = (
        jnp.asarray(rng.integers(-1, 2, (trials, items)), dtype=jnp.float32) for _ in range(2)
    )
    dot = partial(jnp.dot, precision=jax.lax.Precision.HIGHEST)

    @jax.jit
    def products(public, hidden, signs):
        contrasts = dot(public, signs.T)
        return dot(hidden, signs.T), dot(contrasts, signs)

    return lambda: [products(public, hidden, signs) for _ in range(rules)]


def both_rules() -> dict[str, object]:
    """The comparison of the issue: 250 trials, 12 budgets, two rules, 169 x 500 x 10."""
    benchmark = world()
    made = study(benchmark, trials=250, budgets=BUDGETS, endpoints=RULES)
    (call,), frame = kernel_calls(made, 250)
    with Stopwatch() as watch:
        jax.block_until_ready(call())
    floor = bare_products(250, sum(SIZES), 2047, len(RULES))
    results: dict[str, object] = {
        "kernel": paired(call, floor, REPEATS),
        "kernel_compile_s": round(watch.compile, 2),
        "arithmetic": frame.arithmetic.name,
    }
    trials = np.arange(250)
    stages = {
        "splits": lambda: made.split(trials),
        "endpoints": lambda: Cell(made).chunk(trials),
        "kernel_metrics_tables_inputs": lambda: list(run_cell(Cell(made))),
    }
    results["stages_ms"] = {
        name: round(1e3 * statistics.median(seconds(stage, REPEATS)[2:]), 1)
        for name, stage in stages.items()
    }
    return results


def doublings() -> dict[str, object]:
    """How kernel time grows when one size doubles."""
    base = {"trials": 250, "budgets": BUDGETS, "endpoints": "top5"}
    double_sizes = tuple(2 * size for size in SIZES)
    shapes = {
        "trials": study(world(), **base | {"trials": 500}),
        "items": study(world(double_sizes), **base),
        "candidates": study(world(), **base | {"budgets": [*BUDGETS[:-1], 4096]}),
    }
    (once,), _ = kernel_calls(study(world(), **base), 250)
    found = {}
    for name, made in shapes.items():
        (call,), _ = kernel_calls(made, made.request.trials)
        found[name] = paired(call, once, REPEATS)["ratio"]
    return found


def fresh_routers() -> dict[str, object]:
    """Trials per second with routers of their own, beside their random words and sums alone."""
    found = {}
    for name, benchmark, trials, largest in (
        ("70 items x 127 candidates", load("terminal_science"), 4096, 128),
        ("500 items x 2047 candidates", world(), 128, 2048),
    ):
        budgets = [k for k in BUDGETS if k <= largest]
        made = study(
            benchmark, trials=trials, budgets=budgets, preset="simulation", endpoints="top5"
        )
        calls, frame = kernel_calls(made)
        together = -(-trials // len(calls))

        def run(made=made):
            return list(run_cell(Cell(made)))

        floor = words_and_sums(together, frame.slots, -(-(largest - 1) // 64))
        calls = len(calls)
        measured = paired(run, lambda floor=floor, calls=calls: [floor() for _ in range(calls)], 5)
        found[name] = measured | {
            "trials_per_second": round(1e3 * trials / measured["ms"]),
            "rows_per_call": together,
        }
    return found


def words_and_sums(rows: int, slots: int, blocks: int) -> Callable:
    """Draw and unpack the signs of some trials; contrasts on both sides and votes, as one task."""
    keys = jnp.zeros((rows, 2), dtype=jnp.uint32)
    prompts = jnp.broadcast_to(jnp.arange(slots, dtype=jnp.uint32), (rows, slots))
    differences = jnp.ones((rows, slots), dtype=jnp.float32)

    @jax.jit
    def run(keys, prompts, differences):
        def block(index, carry):
            votes, total = carry
            pair = words(keys[:, None, :], prompts, index.astype(jnp.uint32)[None, None])
            shifts = jnp.arange(32, dtype=jnp.uint32)[None, None, :]
            bits = jnp.concatenate([(w[:, :, None] >> shifts) & 1 for w in pair], axis=2)
            signs = (2 * bits.astype(jnp.int32) - 1).astype(jnp.float32)
            contrasts = jnp.einsum("rs,rsc->rc", differences, signs)
            hidden = jnp.einsum("rs,rsc->rc", -differences, signs)
            votes += jnp.einsum("rc,rsc->rs", contrasts, signs)
            return votes, total + jnp.sum(hidden)

        carry = (jnp.zeros((rows, slots)), jnp.zeros(()))
        return jax.lax.fori_loop(0, blocks, block, carry)

    return lambda: run(keys, prompts, differences)


def peak_memory() -> dict[str, int]:
    """Peak resident MB of whole runs, each in a process of its own."""
    script = (
        "import resource, jaxbench as j;"
        "j.attack(j.load('terminal_science'), preset='simulation', trials={}, save_trials=False);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    return {
        f"{trials} trials": int(
            subprocess.run(
                [sys.executable, "-c", script.format(trials)],
                capture_output=True, text=True, check=True,
            ).stdout.split()[-1]
        )
        for trials in (1_000, 10_000, 100_000)
    }  # fmt: skip


def main() -> None:
    """Measure everything."""
    results = {
        "both_rules_169x500x10_250_trials_12_budgets": both_rules(),
        "kernel_time_when_doubled": doublings(),
        "fresh_routers": fresh_routers(),
        "peak_memory_mb": peak_memory(),
    }
    write("attack", results, sys.argv[1] if len(sys.argv) > 1 else None)


if __name__ == "__main__":
    main()
