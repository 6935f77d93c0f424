"""The reduced simulator beside the full one, trial by trial on the same splits."""

from math import sqrt

import jax
import numpy as np
import pytest

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, Runner, Work, reduced, reduced_inputs
from jaxbench.engine.programs import Program, Programs
from jaxbench.engine.reduced_run import draws_records, numbers_of
from jaxbench.engine.run import chunked, shape_of
from jaxbench.errors import BadRequest
from jaxbench.options.study import read_study
from jaxbench.studies import plan_cells
from reducing import Run, bare_outcomes, evaluator, logistic, run

# Two in a billion per comparison: about a millionth over the few hundred made here.
Z = 6.0
COLUMNS = (
    "selection_loss", "false_winner", "rank_reused", "rank_heldout", "selected_reused",
    "heldout_regret", "rank_drop",
)  # fmt: skip


def compare(benchmark: Benchmark, *, gap: float = 0.0004, **options) -> None:
    """Mean differences of every column and budget are noise; gaps within .04 pp of it."""
    pairs = zip(
        run(benchmark, **options),
        run(benchmark, simulator="reduced", **options),
        strict=True,
    )
    for full, short in pairs:
        _compare(full, short, gap)


def _compare(full: Run, short: Run, gap: float) -> None:
    eligible = full.eligible
    np.testing.assert_array_equal(short.eligible, eligible)
    assert eligible.sum() > len(eligible) / 4

    def check(mine, other, what, allowed=0.0):
        differ = (mine.astype(float) - other.astype(float))[eligible]
        assert np.isfinite(mine.astype(float)).all()
        error = differ.std(axis=0) / sqrt(len(differ))
        off = np.abs(differ.mean(axis=0)) > Z * error + allowed
        assert not off.any(), (what, differ.mean(axis=0), error)

    for name in COLUMNS:
        check(getattr(short.measured, name), getattr(full.measured, name), name)
    check(short.measured.selected < 0, full.measured.selected < 0, "selected router")
    check(short.measured.score_gap, full.measured.score_gap, "score gap", gap)
    for side in ("reused", "heldout"):
        one, other = getattr(short.router, side), getattr(full.router, side)
        check(one, other, side)
        centre = other.mean(axis=0)
        check((one - centre) ** 2, (other - centre) ** 2, f"spread of {side}")
        best = f"best_{side}"
        check(getattr(short.router, best), getattr(full.router, best), best, gap)
    # The static router is no draw, but where endpoints are equal on a coordinate.
    np.testing.assert_array_equal(short.static_side, full.static_side)
    sure = (full.static_side != 0).all(axis=1) & eligible
    assert sure.mean() > 0.2
    for side in ("counts_reused", "counts_heldout"):
        one, other = getattr(short, side)[:, 0], getattr(full, side)[:, 0]
        np.testing.assert_array_equal(one[sure], other[sure])


# name: (items per task, models, options)
WORLDS = {
    "unequal tasks": ((75, 30, 12), 12, {"scoring": "equal_task"}),
    "one number beside tasks, fewer reused items": (
        (30, 21, 9), 6,
        {"interface": ["task", "aggregate"], "endpoint_view": "tasks", "reused_items": 15},
    ),
    "three tasks": ((30, 30, 30), 8, {"scoring": "equal_task", "endpoints": ["top5"]}),
    "unequal tasks, all items alike": ((75, 30, 12), 12, {"scoring": "item_mean"}),
    "win rates": ((30, 30, 30), 8, {"scoring": "mean_win_rate"}),
    "exact and stretches": ((240,), 8, {"holdout_fraction": "1/2"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_agrees_with_the_full_simulator(name):
    sizes, models, options = WORLDS[name]
    compare(
        logistic(sizes, models, seed=len(name)), trials=1500,
        budgets=[1, 2, 4, 16, 64, 65, 256], **options,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_full_simulator_at_length(seed):
    sizes = ((500,), (300, 120, 80), (20, 20, 20, 20), (900,))[seed]
    budgets = [1, 2, 3, 8, 32, 64, 128, 500, 1024, 2048]
    compare(logistic(sizes, 12, seed), trials=4000, budgets=budgets)


# One program serves the tests of a benchmark and its parts.
BUDGETS = [1, 3, 64, 100, 300]
OURS = {"preset": "simulation", "trials": 1200, "budgets": BUDGETS, "resamples": 2, "seed": 3}


def ours() -> Benchmark:
    return logistic((50, 21), 6, 1)


def test_agrees_with_the_full_simulator_on_two_tasks():
    compare(ours(), **OURS)


def test_an_attack_says_the_same_by_either_simulator():
    """Through the front door: what is drawn agrees within its errors and the stated ones."""
    options = OURS | {"endpoints": "public_top5"}
    full = jaxbench.attack(ours(), **options)
    short = jaxbench.attack(ours(), simulator="reduced", **options)
    assert short.request.simulator == "reduced"
    assert short.conditions[0].arithmetic.startswith("reduced")
    one, other = full.trials(), short.trials()
    same = [
        "trial",
        "budget",
        "endpoint_a",
        "endpoint_b",
        "no_attack_model",
        "no_attack_heldout_pp",
    ]
    assert one[same].equals(other[same])
    for column, allowed in (
        ("selection_loss_pp", 0.0), ("router_reused_pp", 0.06), ("router_heldout_pp", 0.0),
        ("score_gap_pp", 0.04), ("false_winner", 0.0),
    ):  # fmt: skip
        apart = one[column].astype(float) - other[column].astype(float)
        by_budget = apart[one["budget"] > 0].groupby(one["budget"])
        error = by_budget.std() / sqrt(OURS["trials"])
        assert (by_budget.mean().abs() <= Z * error + allowed + 1e-9).all(), column
    assert list(full.summary()["budget"]) == list(short.summary()["budget"])


def joined(cell: Cell, runner: Runner, work: list[Work]) -> dict:
    """Every array of every outcome, per condition, in the order of trials."""
    of: dict = {}
    for found in runner.run(work):
        leaves = jax.tree.leaves(
            (found.trials, found.measured, found.router, found.counts_reused,
             found.counts_heldout, found.static_side)
        )  # fmt: skip
        of.setdefault(found.condition, []).append(leaves)
    return {key: [np.concatenate(x) for x in zip(*parts, strict=True)] for key, parts in of.items()}


@pytest.mark.parametrize(
    "scoring", ["item_mean", pytest.param("equal_task", marks=pytest.mark.slow)]
)
def test_chunks_and_calls_change_nothing(scoring):
    """Whole, in pieces, in small calls, beside other conditions and after other benchmarks."""
    options = OURS | {"simulator": "reduced", "scoring": scoring}
    cell = Cell(evaluator(ours(), **options))
    whole = joined(cell, Runner(), list(chunked(cell, 0, 1200)))
    (condition,) = whole

    def same(found: dict, first: int = 0, last: int = 1200) -> None:
        for one, other in zip(whole[condition], found[condition], strict=True):
            np.testing.assert_array_equal(one[first:last], other)

    # Pieces of 16, the last filled up, in a program for a benchmark with more items.
    larger = Cell(evaluator(logistic((90, 33), 6, 4), **options))
    runner = Runner()
    for _ in runner.run([Work(larger, np.arange(16))]):
        pass
    programs = reduced.reduced_rows._cache_size()
    pieces = [Work(cell, np.arange(0, 16)), Work(cell, np.arange(16, 32)),
              Work(cell, np.minimum(np.arange(32, 48), 39), padding=8)]  # fmt: skip
    same(joined(cell, runner, pieces), 0, 40)
    same(joined(cell, runner, pieces[1:]), 16, 40)
    both = Cell(evaluator(ours(), **options | {"endpoints": ["top5", "public_top5"]}))
    found = joined(both, Runner(), list(chunked(both, 0, 1200)))
    assert len(found) == 2
    same(found)
    (other,) = run(ours(), **options | {"budgets": [1, 3, 64, 90, 300]})
    (mine,) = run(ours(), **options)
    kept = [0, 1, 2, 4]
    np.testing.assert_array_equal(other.counts_reused[:, kept], mine.counts_reused[:, kept])
    np.testing.assert_array_equal(other.router.gap[:, kept], mine.router.gap[:, kept])
    (other,) = run(ours(), **options | {"seed": 4})
    assert (other.counts_heldout != mine.counts_heldout).any()
    # None of this is a program of its own.
    assert reduced.reduced_rows._cache_size() == programs
    # Calls of 8 rows, as few as there are.
    heard: list[Program] = []
    small = Runner(1, programs=Programs(heard.append))
    same(joined(cell, small, [Work(cell, np.arange(1100, 1124))]), 1100, 1124)
    assert {program.rows for program in heard} == {8}


def test_a_row_takes_no_more_memory_than_planned():
    cell = Cell(evaluator(
        logistic((400, 300, 100), 6, 1), trials=64, budgets=[1, 2, 8, 64, 300],
        simulator="reduced", scoring="equal_task",
    ))  # fmt: skip
    heard: list[Program] = []
    for _ in Runner(2**40, programs=Programs(heard.append)).run(chunked(cell, 0, 64)):
        pass
    (program,) = heard
    shape = shape_of(cell, program.slots, 1)
    assert shape.reduced
    planned = shape.row_bytes * program.rows
    assert planned / 3 < program.bytes < 1.5 * planned, (program, planned)


@pytest.mark.slow
@pytest.mark.parametrize("records", [True, False])
def test_rows_do_not_depend_on_what_stands_beside_them(records):
    budgets = [1, 3, 64, 100, 128, 300]
    how = {"records": records, "seed": 5}
    all_rows = bare_outcomes([40, 7], [50, 20], budgets, 24, **how)
    some = bare_outcomes([40, 7], [50, 20], budgets, 24, first=8, **how)
    padded = bare_outcomes([40, 7], [50, 20], budgets, 24, slots=[112, 32], **how)
    mixed = bare_outcomes([40, 7], [50, 20], [2, 64, 70, 90, 200, 300], 24, **how)
    for field in ("reused", "heldout", "best_reused", "best_heldout", "gap"):
        whole = getattr(all_rows, field)
        np.testing.assert_array_equal(getattr(some, field)[:, :16], whole[:, 8:])
        np.testing.assert_array_equal(getattr(padded, field), whole)
        np.testing.assert_array_equal(getattr(mixed, field)[[1, 5]], whole[[2, 5]])
    other = bare_outcomes([40, 7], [50, 20], budgets, 24, records=records, seed=6)
    assert (other.reused != all_rows.reused).any()


def test_records_have_the_law_of_candidates():
    """Best scores and gaps, with and without drawing every candidate."""
    budgets, trials = [2, 33, 64, 66, 100, 128, 300, 700], 6000
    short = bare_outcomes([9], [30], budgets, trials, slots=[72])
    long = bare_outcomes([9], [30], budgets, trials, slots=[72], records=False)
    for field in ("best_reused", "best_heldout", "gap"):
        one, other = getattr(short, field), getattr(long, field)
        # Up to budget 64 they are the same candidates.
        np.testing.assert_array_equal(one[:3], other[:3])
        error = np.sqrt((one.var(axis=1) + other.var(axis=1)) / trials)
        assert (np.abs(one.mean(axis=1) - other.mean(axis=1)) <= Z * error).all(), field
        assert (np.diff(one, axis=0) >= 0).all()
    assert (np.abs(short.reused) <= 9).all()
    assert short.best_reused.max() <= 1.0


def test_records_are_drawn_where_every_item_weighs_the_same():
    def records(**options) -> bool:
        made = evaluator(logistic((30, 12), 5, 0), simulator="reduced", **options)
        return draws_records(made.units.count, made.first.reused, made.first.heldout)

    assert records(scoring="item_mean")
    assert not records(scoring="equal_task")


def scores(values: np.ndarray, tasks: list[str], prompts: list[str] | None = None) -> Benchmark:
    return Benchmark.from_scores(
        values, models=["a", "b"], items=[f"item {i:02d}" for i in range(values.shape[1])],
        tasks=tasks, prompt_hashes=prompts, name="ours",
    )  # fmt: skip


RIGHT = np.stack([np.arange(30) % 2, 1 - np.arange(30) % 2]).astype(float)
TASKS = [f"task {int(i >= 18)}" for i in range(30)]


@pytest.mark.parametrize(
    "options",
    [
        {}, {"interface": ["task", "aggregate"], "scoring": "item_mean"}, {"reused_items": 4},
        {"scoring": "equal_task"}, {"interface": ["groups:2"]}, {"split": "hash"},
        {"preset": "published", "routers": "prng", "seed": 3},
    ],
)  # fmt: skip
def test_range(options):
    evaluator(scores(RIGHT, TASKS), simulator="reduced", **options)


@pytest.mark.parametrize(
    ("values", "prompts", "options", "message"),
    [
        (RIGHT, None, {"routers": "hash", "split": "hash"}, "routers=hash.*routers=prng"),
        (RIGHT, None, {"precision": 2}, "interface=task.*precision=exact"),
        (RIGHT * np.where(np.arange(30) < 9, 1, 0.5), None, {}, "a has 0.5 on item 'item 09'"),
        (np.full((2, 30), 0.25), None, {}, "a has 0.25 on item 'item 00'"),
        (RIGHT, ["p", "p"] + [f"q{i}" for i in range(28)], {}, "'item 00' stands on 2 items"),
        (
            RIGHT, None, {"interface": ["aggregate"], "scoring": "equal_task"},
            "weighs the items of task 0, task 1 differently",
        ),
    ],
)  # fmt: skip
def test_out_of_range(values, prompts, options, message, monkeypatch):
    """Refused before a trial is split into chunks or anything of the engine is compiled."""
    benchmark = scores(values, TASKS, prompts)
    monkeypatch.setattr(Cell, "chunk", None)
    with pytest.raises(BadRequest, match=f"simulator=reduced.*{message}.*simulator=full"):
        jaxbench.attack(
            benchmark, **{"preset": "simulation", "trials": 20, "simulator": "reduced"} | options
        )


def test_published_routers_are_refused_in_the_users_terms():
    with pytest.raises(BadRequest, match=r"simulator=reduced with routers=hash.*routers=prng"):
        jaxbench.attack(scores(RIGHT, TASKS), preset="published", simulator="reduced")
    with pytest.raises(BadRequest, match="simulator 'quick'; known: full, reduced"):
        jaxbench.attack(scores(RIGHT, TASKS), simulator="quick")


STUDY = """
options: {preset: simulation, trials: 5, budgets: [1, 2], resamples: 2}
vary: {simulator: [full, reduced], world.seed: [0, 1]}
sizes: {smoke: {}, full: {}}
"""


def test_sweeps_tell_simulators_apart(tmp_path):
    study = tmp_path / "study.yaml"

    def plan(world: str):
        study.write_text(f"summary: x\n{STUDY}".replace("trials: 5", f"world: {world}, trials: 5"))
        return plan_cells(read_study(str(study), "smoke", {}, list), lambda _: ours())

    cells = plan("{models: 4, items: 30, tasks: 1}").cells
    assert len({cell.key for cell in cells}) == 4
    assert [cell.shape().reduced for cell in cells].count(True) == 2
    # A world is refused before it is drawn.
    with pytest.raises(BadRequest, match=r"multiples of 1/3.*condition simulator=reduced"):
        plan("{models: 4, items: 30, tasks: 1, repeats: 3}")


def test_counts_of_differing_items():
    made = evaluator(
        logistic((12, 9), 5, 4), trials=6, budgets=[1, 2], reused_items=4, simulator="reduced"
    )
    chunk = Cell(made).chunk(np.arange(6))
    numbers, pair = numbers_of(chunk, 0), chunk.endpoints[0]
    split, counts = chunk.tally(0).split, made.benchmark.counts
    assert (split.reused.sum(axis=1) == 4).all()
    for trial in range(6):
        for unit in range(2):
            here = made.units.of_item == unit
            apart = counts[pair.a[trial]] - counts[pair.b[trial]]
            both = counts[pair.a[trial]] + counts[pair.b[trial]]
            for side in ("reused", "heldout"):
                mine = here & getattr(split, side)[trial]
                differing = getattr(numbers.differing, side)[trial, unit]
                assert differing == (apart[mine] != 0).sum()
                assert getattr(numbers.differing, f"lead_{side}")[trial, unit] == apart[mine].sum()
                assert getattr(numbers, f"sums_{side}")[trial, unit] == both[mine].sum()
    assert (numbers.differing.step == 1).all()


def test_tails():
    tails = reduced_inputs.binomial_tails(np.array([0, 3, 3, 200]), 202)
    np.testing.assert_allclose(tails[0, :2], [1, 0])
    np.testing.assert_allclose(tails[1, :5], [1, 7 / 8, 4 / 8, 1 / 8, 0])
    np.testing.assert_array_equal(tails[1], tails[2])
    assert tails[3, 100] == pytest.approx(0.5 + 0.0563484790 / 2, abs=1e-9)
    assert (np.diff(tails, axis=1) <= 0).all()
