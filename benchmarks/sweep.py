"""Speed of a sweep: fresh routers, six granularities and twelve budgets in one pass.

    python benchmarks/sweep.py [RESULTS.json]

Two floors of the kernel: the bare float32 products with the same multiply-adds (differences and
signs on both sides of the split, contrasts and signs for every granularity), signs given; and the
random words alone, drawn and unpacked. Both run as the kernel does, one call per core at a time.
Every ratio is the median over neighbouring pairs in one process; compile seconds are apart.
"""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
from machine import paired, seconds, write

from jaxbench import attacker, metrics
from jaxbench.attacker import FreshBank
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, Evaluator, Stopwatch, plan, run_cell
from jaxbench.engine.requests import request_for
from jaxbench.engine.tables import trial_table
from jaxbench.jobs.attack import AttackRun
from jaxbench.sources import load
from worlds import BUDGETS, SIZES, kernel_calls, world

TRIALS = 512
SIX = ["groups:1", "groups:2", "groups:3", "groups:5", "groups:7", "task"]
TWELVE = [*SIX, "groups:4", "groups:6", "groups:2:1", "groups:3:1", "groups:5:1", "groups:7:1"]
SMALL = {"trials": 16_384, "budgets": [2**i for i in range(8)], "save_trials": False}
REPEATS = 3


def options(**changed) -> dict[str, object]:
    """The sweep of this measurement, with what is changed."""
    sweep = {
        "preset": "simulation", "endpoints": "top5", "endpoint_view": "tasks", "interface": SIX,
        "budgets": BUDGETS, "trials": TRIALS,
    }  # fmt: skip
    return sweep | changed


def whole_run(benchmark: Benchmark, asked: dict[str, object]) -> Callable[[], None]:
    """A whole run, tables and sums over trials included; the bootstrap of a summary is not."""
    request = request_for(benchmark, asked)

    def run() -> None:
        for _ in AttackRun(benchmark, request):
            pass

    return run


def compiled(run: Callable[[], object]) -> float:
    """Seconds of tracing and compiling in a first call."""
    with Stopwatch() as watch:
        jax.block_until_ready(run())
    return round(watch.compile, 1)


def in_turns(calls: list[Callable]) -> Callable[[], None]:
    """Calls as a run makes them: as many at a time as it has workers."""
    workers = plan.workers(jax.default_backend())

    def run() -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda call: jax.block_until_ready(call()), calls))

    return run


def bare_products(rows: int, slots: int, conditions: int, blocks: int) -> Callable:
    """The multiply-adds of a call in one task, with nothing around them; signs are given."""
    rng = np.random.default_rng(0)
    # Two blocks in turns, so that no product can be taken out of the loop.
    signs = jnp.asarray(rng.choice([-1.0, 1.0], (2, rows, 64, slots)), dtype=jnp.float32)
    apart = jnp.asarray(rng.integers(-1, 2, (rows, 2, slots)), dtype=jnp.float32)

    @jax.jit
    def products(apart, signs):
        def block(index, carry):
            votes, total = carry
            here = signs[index % 2]
            contrasts, hidden = (
                jnp.einsum("rvs,rcs->rvc", apart[:, side, None], here) for side in (0, 1)
            )
            weights = jnp.concatenate([contrasts] * conditions, axis=1)
            return votes + jnp.einsum("rkc,rcs->rks", weights, here), total + hidden

        carry = (jnp.zeros((rows, conditions, slots)), jnp.zeros((rows, 1, 64)))
        return jax.lax.fori_loop(0, blocks, block, carry)

    return lambda: products(apart, signs)


def bare_words(rows: int, slots: int, blocks: int) -> Callable:
    """The random signs of a call, drawn, unpacked and added up."""
    bank = FreshBank(
        keys=jnp.zeros((rows, 2), dtype=jnp.uint32),
        tie_keys=jnp.zeros((rows, 2), dtype=jnp.uint32),
        prompts=jnp.broadcast_to(jnp.arange(slots, dtype=jnp.uint32), (rows, slots)),
    )

    @jax.jit
    def draw(bank):
        def block(index, total):
            return total + bank.block(index, 64, jnp.dtype("float32"), slice(0, slots)).sum(axis=1)

        return jax.lax.fori_loop(0, blocks, block, jnp.zeros((rows, slots)))

    return lambda: draw(bank)


def large() -> dict[str, object]:
    """500 items x 2,047 candidates x 12 budgets x 6 granularities."""
    benchmark = world()
    found: dict[str, object] = {"trials": TRIALS}
    six = whole_run(benchmark, options())
    one = whole_run(benchmark, options(interface="task"))
    found["compile_s"] = {"six": compiled(six), "one": compiled(one)}
    pair = paired(six, one, 5)
    found["trials_per_second"] = {
        "six": round(1e3 * TRIALS / pair["ms"]), "one": round(1e3 * TRIALS / pair["floor_ms"]),
    }  # fmt: skip
    found["six_over_one"] = pair["ratio"]

    made = Evaluator(benchmark, request_for(benchmark, options()))
    calls, frame = kernel_calls(made)
    alone, _ = kernel_calls(Evaluator(benchmark, request_for(benchmark, options(interface="task"))))
    of_six, of_one = in_turns(calls), in_turns(alone)
    compiled(calls[0]), compiled(alone[0])
    found["kernel_six_over_one"] = paired(of_six, of_one, 5)["ratio"]
    rows, blocks = -(-TRIALS // len(calls)), 2048 // 64
    floors = {
        "bare_products": bare_products(rows, frame.slots, len(SIX), blocks),
        "bare_words": bare_words(rows, frame.slots, blocks),
    }
    for name, floor in floors.items():
        found[f"kernel_over_{name}"] = paired(of_six, in_turns([floor] * len(calls)), REPEATS)
    found["slots"], found["arithmetic"] = frame.slots, frame.arithmetic.name
    found["stages_us_per_trial"] = stages(made, of_six)
    return found


def stages(made: Evaluator, run_kernel: Callable) -> dict[str, float]:
    """Microseconds per trial of every stage, one after the other (in a run they overlap)."""
    trials, condition, cell = np.arange(TRIALS), made.conditions[0], Cell(made)
    sides = made.split(trials)
    tally = made.tally(sides)
    outcomes = list(run_cell(cell))
    chunk = outcomes[0].cell.chunk(trials)
    calls_frame = kernel_calls(made)[1]
    layout = chunk.layout(calls_frame)
    chunk.releases, chunk.pairs  # noqa: B018 (made once per chunk)

    def endpoints():
        return attacker.choose_endpoints(made.profiles(tally, condition), condition.rule)

    def measure():
        for o in outcomes:
            ends = slice(int(o.trials[0]), int(o.trials[-1]) + 1)
            part = _part(tally, ends)
            ranking = made.ranking(part, o.condition, o.counts_reused, o.counts_heldout, o.router)
            metrics.trial_metrics(part.genuine, o.router, *ranking)

    run = AttackRun(made.benchmark, made.request)

    def tables():
        for o in outcomes:
            run.conditions[o.condition].summary.add(trial_table(o))

    measured = {
        "splits": lambda: made.split(trials),
        "tallies": lambda: made.tally(sides),
        "endpoints": endpoints,
        "inputs": lambda: (chunk.rows(layout, trials), chunk.fresh_bank(layout, trials)),
        "kernel": run_kernel,
        "metrics": measure,
        "tables_and_sums": tables,
    }
    return {
        name: round(1e6 * float(np.median(seconds(stage, 4)[1:])) / TRIALS, 1)
        for name, stage in measured.items()
    }


def _part(tally, ends: slice):
    """Some consecutive trials of a tally."""
    genuine = tally.genuine.at(np.arange(ends.start, ends.stop))
    board = jax.tree.map(lambda x: x[ends], tally.board)
    return type(tally)(tally.split, tally.counted, board, tally.reused, tally.heldout, genuine)


def doublings() -> dict[str, object]:
    """How the time of a whole run grows when one size doubles."""
    benchmark, twice = world(), world(tuple(2 * size for size in SIZES))
    half = {"trials": TRIALS // 2}
    # Twice as many budgets up to the same largest.
    denser = sorted({*BUDGETS, *(3 * 2**i for i in range(10)), 5, 1000})
    changes = {
        "trials": (benchmark, options()),
        "items": (twice, options(**half)),
        "candidates": (benchmark, options(budgets=[*BUDGETS[:-1], 4096], **half)),
        "budgets": (benchmark, options(budgets=denser, **half)),
        "granularities": (benchmark, options(interface=TWELVE, **half)),
    }
    once = whole_run(benchmark, options(**half))
    return {
        name: paired(whole_run(*changed), once, REPEATS)["ratio"]
        for name, changed in changes.items()
    }


def small() -> dict[str, object]:
    """70 items x 127 candidates: whole runs, and peak memory of processes of their own."""
    run = whole_run(load("terminal_science"), {"preset": "simulation"} | SMALL)
    compile_s = compiled(run)
    taken = float(np.median(seconds(run, 5)))
    return {
        "compile_s": compile_s,
        "trials_per_second": round(int(str(SMALL["trials"])) / taken),
        "peak_memory_mb": {f"{n} trials": peak_mb(n) for n in (1_000, 10_000, 100_000)},
    }


def peak_mb(trials: int) -> int:
    """Peak resident MB (VmHWM) of a whole run in a process of its own, summary included."""
    script = (
        "import jaxbench as j;"
        "j.attack(j.load('terminal_science'), preset='simulation', save_trials=False,"
        f"budgets=[2**i for i in range(8)], trials={trials}).summary();"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'));"
        "print(int(status['VmHWM'].split()[0]) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


def main() -> None:
    """Measure everything."""
    results = {
        "500_items_2047_candidates_12_budgets": large(),
        "time_when_doubled": doublings(),
        "70_items_127_candidates_8_budgets": small(),
    }
    write("sweep", results, sys.argv[1] if len(sys.argv) > 1 else None)


if __name__ == "__main__":
    main()
