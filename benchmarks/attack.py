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
from jaxbench.engine import Evaluator, Stopwatch, kernel, prepare, run_attacks
from jaxbench.options import Protocol, resolve
from jaxbench.sources import load

MODELS = 169
SIZES = (231, 75, 44, 34, 32, 22, 22, 19, 10, 11)
RULES = ["top5", "full_frontier"]
BUDGETS = [2**i for i in range(12)]
REPEATS = 7


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


def study(benchmark: Benchmark, **options) -> Evaluator:
    """A study with the defaults of the published preset."""
    return Evaluator(
        benchmark, resolve({"preset": "published", "resamples": 2} | options, Protocol())
    )


def kernel_calls(made: Evaluator) -> list[Callable]:
    """One call of the kernel per endpoint rule, over all trials, banks and splits given."""
    trials = np.arange(made.request.trials)
    reused, tallies = made.chunk(trials)
    calls = []
    for attack in prepare(made):
        tally = tallies[attack.condition.interface]
        with jax.enable_x64(True):
            arguments = (
                attack.rows(tally, reused, trials),
                attack.shared_bank(0),
                jnp.asarray(made.budgets, dtype=jnp.int32),
                jax.tree.map(jnp.asarray, tally.rules),
            )
        static = {
            "sizes": attack.layout.sizes,
            "arithmetic": attack.arithmetic,
            "block": attack.block,
        }
        calls.append(partial(_with_x64, kernel.attack_rows, *arguments, **static))
    return calls


def _with_x64(function, *arguments, **static):
    with jax.enable_x64(True):
        return function(*arguments, **static)


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
    calls = kernel_calls(made)
    with Stopwatch() as watch:
        jax.block_until_ready(calls[0]())
    floor = bare_products(250, sum(SIZES), 2047, len(RULES))
    results: dict[str, object] = {
        "kernel": paired(lambda: [call() for call in calls], floor, REPEATS),
        "kernel_compile_s": round(watch.compile, 2),
        "arithmetic": prepare(made)[0].arithmetic.name,
    }
    stages = {
        "splits": lambda: made.splits(np.arange(250)),
        "endpoints": lambda: prepare(made),
        "kernel_metrics_tables_inputs": lambda: list(run_attacks(made, prepare(made))),
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
    (once,) = kernel_calls(study(world(), **base))
    found = {}
    for name, made in shapes.items():
        (call,) = kernel_calls(made)
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
        (attack,) = prepare(made)
        slots, together = sum(attack.layout.sizes), attack.rows_per_call

        def run(made=made, attack=attack):
            return list(run_attacks(made, [attack]))

        floor = words_and_sums(together, slots, -(-(largest - 1) // 64))
        calls = -(-trials // together)
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
