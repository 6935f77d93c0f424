"""The reduced simulator beside the full one, trial by trial on the same splits."""

from math import sqrt

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark
from jaxbench.engine import Study, prepare, reduced, reduced_inputs
from jaxbench.engine.condition import Attack
from jaxbench.errors import BadRequest
from jaxbench.options import Protocol, resolve
from reducing import (
    bare_outcomes,
    full_metrics,
    logistic,
    reduced_metrics,
    reduced_outcomes,
)

# Two in a billion per comparison: about a millionth over the few hundred made here.
Z = 6.0
COLUMNS = (
    "selection_loss", "false_winner", "rank_reused", "rank_heldout", "selected_reused",
    "heldout_regret", "rank_drop",
)  # fmt: skip


def study(benchmark: Benchmark, **options) -> Study:
    asked = {"preset": "simulation", "endpoints": ["public_top5"], "resamples": 2, "seed": 3}
    return Study(benchmark, resolve(asked | options, Protocol()))


def compare(made: Study, trials: int, gap: float = 0.0004) -> Attack:
    """Mean differences of every column and budget are noise; gaps within .04 pp of it."""
    attack, full, router = full_metrics(made)
    short, reduced_router = reduced_metrics(attack, np.arange(trials))

    eligible = attack.endpoints.eligible[:trials]
    assert eligible.sum() > trials / 4

    def check(mine, other, what, allowed=0.0):
        differ = (mine.astype(float) - other.astype(float))[eligible]
        assert np.isfinite(mine.astype(float)).all()
        error = differ.std(axis=0) / sqrt(len(differ))
        off = np.abs(differ.mean(axis=0)) > Z * error + allowed
        assert not off.any(), (what, differ.mean(axis=0), error)

    for name in COLUMNS:
        check(getattr(short, name), getattr(full, name), name)
    check(short.selected < 0, full.selected < 0, "selected router")
    check(short.score_gap, full.score_gap, "score gap", gap)
    for side in ("reused", "heldout"):
        one, other = getattr(reduced_router, side), getattr(router, side)
        check(one, other, side)
        centre = other.mean(axis=0)
        check((one - centre) ** 2, (other - centre) ** 2, f"spread of {side}")
        check(
            getattr(reduced_router, f"best_{side}"), getattr(router, f"best_{side}"),
            f"best {side}", gap,
        )  # fmt: skip
    # The static router is no draw, but where endpoints are equal on a coordinate.
    interface = attack.condition.interface
    tally = made.tally(interface, made.splits(np.arange(trials)))
    released = tally.rules.release.chain(tally.board.reused.astype(np.float64))
    row, (a, b) = np.arange(trials), (attack.endpoints.a, attack.endpoints.b)
    sure = (released[row, a] != released[row, b]).all(axis=1) & eligible
    assert sure.mean() > 0.2
    for side in ("reused", "heldout"):
        one, other = getattr(reduced_router, side)[:, 0], getattr(router, side)[:, 0]
        np.testing.assert_allclose(one[sure], other[sure], rtol=0, atol=1e-15)
    return attack


# name: (items per task, models, options)
WORLDS = {
    "three tasks": ((30, 30, 30), 8, {"scoring": "equal_task", "endpoints": ["top5"]}),
    "unequal tasks": ((75, 30, 12), 12, {"scoring": "equal_task"}),
    "unequal tasks, all items alike": ((75, 30, 12), 12, {"scoring": "item_mean"}),
    "one number": ((30, 21, 9), 6, {"scoring": "item_mean", "interface": ["aggregate"]}),
    "exact and stretches": ((240,), 8, {"holdout_fraction": "1/2"}),
}


@pytest.mark.parametrize("name", WORLDS)
def test_agrees_with_the_full_simulator(name):
    sizes, models, options = WORLDS[name]
    trials = 1500
    made = study(
        logistic(sizes, models, seed=len(name)), trials=trials, budgets=[1, 2, 4, 16, 64, 65, 256],
        **options,
    )  # fmt: skip
    attack = compare(made, trials)
    shape = reduced_outcomes(attack, np.arange(2))[0]
    assert shape.reused.dtype == np.int64
    assert shape.reused.shape == (7, 2, len(sizes))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_full_simulator_at_length(seed):
    sizes = ((500,), (300, 120, 80), (20, 20, 20, 20), (900,))[seed]
    made = study(
        logistic(sizes, 12, seed), trials=4000, budgets=[1, 2, 3, 8, 32, 64, 128, 500, 1024, 2048]
    )
    compare(made, 4000)


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
    budgets, trials = [64, 66, 128, 700], 6000
    short = bare_outcomes([9], [30], budgets, trials)
    long = bare_outcomes([9], [30], budgets, trials, records=False)
    for field in ("best_reused", "best_heldout", "gap"):
        one, other = getattr(short, field), getattr(long, field)
        # Up to budget 64 they are the same candidates.
        np.testing.assert_array_equal(one[0], other[0])
        error = np.sqrt((one.var(axis=1) + other.var(axis=1)) / trials)
        assert (np.abs(one.mean(axis=1) - other.mean(axis=1)) <= Z * error).all(), field
        assert (np.diff(one, axis=0) >= 0).all()
    assert (np.abs(short.reused) <= 9).all()
    assert short.best_reused.max() <= 1.0


def test_one_program_for_many_worlds():
    before = reduced.reduced_rows._cache_size()
    for seed in (1, 2):
        made = study(logistic((31,), 6, 9), trials=9, budgets=[1, 8 * seed], seed=seed)
        reduced_outcomes(prepare(made)[0], np.arange(9))
    assert reduced.reduced_rows._cache_size() == before + 1


def check(benchmark: Benchmark, **options) -> None:
    asked = {"trials": 20, "budgets": [1, 4], "routers": "prng"} | options
    made = study(benchmark, **asked)
    attack = prepare(made)[0]
    interface = attack.condition.interface
    reduced_inputs.check_reduced(
        made.benchmark, attack.pairs, attack.first.units, attack.first.rules.release,
        interface=interface, routers=made.request.routers,
    )  # fmt: skip


def scores(values: np.ndarray, tasks: list[str], prompts: list[str] | None = None) -> Benchmark:
    return Benchmark.from_scores(
        values, models=["a", "b"], items=[f"item {i:02d}" for i in range(values.shape[1])],
        tasks=tasks, prompt_hashes=prompts,
    )  # fmt: skip


RNG = np.random.default_rng(0)
RIGHT = np.stack([np.arange(30) % 2, 1 - np.arange(30) % 2]).astype(float)
TASKS = [f"task {int(i >= 18)}" for i in range(30)]


def test_range():
    check(logistic((20, 20), 5, 0))
    check(logistic((20, 20), 5, 0), interface=["groups:1"])
    check(scores(RIGHT, TASKS), scoring="item_mean", interface=["aggregate"])
    # Equal steps that are not 1, and items without a difference.
    check(scores(0.25 + 0.5 * RIGHT, TASKS))
    # A prompt may stand twice where the endpoints agree.
    same = RIGHT.copy()
    same[:, :2] = 1.0
    check(scores(same, TASKS, ["p", "p"] + [f"q{i}" for i in range(28)]))


@pytest.mark.parametrize(
    ("values", "prompts", "options", "message"),
    [
        (RIGHT, None, {"routers": "hash", "split": "hash"}, "routers=hash.*routers=prng"),
        (RIGHT, None, {"precision": 2}, "precision=exact"),
        (RIGHT * np.where(np.arange(30) < 9, 1, 0.5), None, {}, "item 'item 00' and by 0.5"),
        (RIGHT, ["p", "p"] + [f"q{i}" for i in range(28)], {}, "'item 00' stands on 2 items"),
        (
            RIGHT, None, {"interface": ["aggregate"], "scoring": "equal_task"},
            "weighs the items of task 0, task 1 differently",
        ),
    ],
)  # fmt: skip
def test_out_of_range(values, prompts, options, message):
    with pytest.raises(BadRequest, match=f"simulator=reduced.*{message}.*simulator=full"):
        check(scores(values, TASKS, prompts), **options)


def test_counts_of_differing_items():
    made = study(logistic((12, 9), 5, 4), trials=6, budgets=[1, 2])
    attack, trials = prepare(made)[0], np.arange(6)
    split = made.splits(trials)
    tally = made.tally("task", split)
    a, b, counts = attack.endpoints.a, attack.endpoints.b, made.benchmark.counts
    found = reduced_inputs.count_differing(counts, a[:6], b[:6], split, tally.units)
    for trial in range(6):
        for unit in range(2):
            here = tally.units.of_item == unit
            gap = counts[a[trial]] - counts[b[trial]]
            for side, known in (("reused", split[trial]), ("heldout", ~split[trial])):
                assert getattr(found, side)[trial, unit] == (gap[here & known] != 0).sum()
                assert getattr(found, f"lead_{side}")[trial, unit] == gap[here & known].sum()
    assert (found.step == 1).all()


def test_tails():
    tails = reduced_inputs.binomial_tails(np.array([0, 3, 3, 200]), 202)
    np.testing.assert_allclose(tails[0, :2], [1, 0])
    np.testing.assert_allclose(tails[1, :5], [1, 7 / 8, 4 / 8, 1 / 8, 0])
    np.testing.assert_array_equal(tails[1], tails[2])
    assert tails[3, 100] == pytest.approx(0.5 + 0.0563484790 / 2, abs=1e-9)
    assert (np.diff(tails, axis=1) <= 0).all()
