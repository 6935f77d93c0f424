"""Running cells: no number depends on order, memory, resume point, or what runs beside it."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest

import jaxbench
from fresh import split
from jaxbench import metrics
from jaxbench.benchmark import FINAL_ROUTER
from jaxbench.engine import Runner
from jaxbench.jobs.sweep_into import sweep
from jaxbench.metrics import METRICS
from jaxbench.store import Store
from jaxbench.studies import run_cells, summarise
from jaxbench.studies.truth import COLUMNS as TRUTH
from jaxbench.synthetic import draw_worlds
from sweep_studies import FAST, TINY, planned, write_study
from worlds import World

ENDS = ("", "_low", "_high")
MEASURED = [name + end for name in METRICS for end in ENDS]


@pytest.fixture
def plan(tmp_path):
    def planning(options=None, **parts):
        return planned(tmp_path, options=FAST | (options or {}), **parts)

    return planning


def run(plan, folder, **options):
    """Compute what is missing; the bytes of every shard by its name."""
    store = Store(folder)
    with store.exclusive():
        run_cells(plan, store, **options)
    assert store.missing(list(plan.shards)) == []
    return {path.name: path.read_bytes() for path in (folder / "shards").glob("*.parquet")}


def stamps(folder):
    """What changes when a shard is written anew."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (folder / "shards").glob("*.parquet")
    }


def summary(plan, folder):
    run(plan, folder)
    return summarise(plan, Store(folder))


def same(one, other):
    pd.testing.assert_frame_equal(one, other, check_exact=True)


# Worlds of two shapes and two kinds of trials, and a benchmark.
MIXED = {
    "conditions": [
        {"world": TINY}, {"world": TINY | {"models": 9}}, {"benchmark": "terminal_science"},
    ],
    "vary": {"seed": [0, 3], "interface": ["task", "aggregate"]},
    "options": {"preset": "simulation", "trials": 7},
}  # fmt: skip


def test_order_memory_and_resume_point_change_nothing(plan, tmp_path):
    found = plan(**MIXED)
    whole = run(found, tmp_path / "whole")
    assert len(whole) == 6
    # In small calls and chunks.
    told = []
    runner = Runner(call_bytes=1)
    small = run(found, tmp_path / "small", runner=runner, host_bytes=1,
                told=lambda shard, cell, trials: told.append((shard, trials)))  # fmt: skip
    assert small == whole
    assert [shard for shard, _ in told] == list(found.shards)
    assert sum(trials for _, trials in told) == found.shards.trials
    # In another order.
    turned = MIXED | {
        "conditions": MIXED["conditions"][::-1],
        "vary": {key: values[::-1] for key, values in reversed(MIXED["vary"].items())},
    }
    assert run(plan(**turned), tmp_path / "turned") == whole
    # One after the other.
    for entry, seed in itertools.product(MIXED["conditions"], (0, 3)):
        parts = {"conditions": [entry], "vary": MIXED["vary"] | {"seed": [seed]}}
        run(plan(**(MIXED | parts)), tmp_path / "single")
    assert run(found, tmp_path / "single", told=pytest.fail) == whole
    # From what is left of a run.
    chosen = random.Random(3)
    for _ in range(3):
        gone = chosen.sample(sorted(whole), chosen.randint(1, len(whole)))
        for name in gone:
            (tmp_path / "whole/shards" / name).unlink()
        before = stamps(tmp_path / "whole")
        assert run(found, tmp_path / "whole") == whole
        after = stamps(tmp_path / "whole")
        assert {name for name in whole if before.get(name) != after[name]} == set(gone)


def test_shards_of_several_chunks(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("jaxbench.studies.cells.SHARD_TRIALS", 5)
    parts = {"options": {"preset": "simulation", "trials": 13, "world": TINY},
             "vary": {"interface": ["task", "aggregate"], "world.seed": [0, 1]}}  # fmt: skip
    found = plan(**parts)
    assert len(list(found.shards)) == 6
    whole = run(found, tmp_path / "whole")
    assert run(found, tmp_path / "small", runner=Runner(1), host_bytes=1) == whole
    # However trials are cut into shards, the summary is the same.
    cut = summarise(found, Store(tmp_path / "whole"))
    monkeypatch.undo()
    same(cut, summary(plan(**parts), tmp_path / "one"))


@pytest.mark.parametrize("routers", ["prng", "hash"])
def test_saved_trials_do_not_change_the_summary(routers, plan, tmp_path, monkeypatch):
    monkeypatch.setattr("jaxbench.studies.cells.SHARD_TRIALS", 4)
    tables = []
    for save in (True, False):
        options = {"benchmark": "terminal_science", "save_trials": save, "routers": routers,
                   "preset": "simulation", "trials": 9}  # fmt: skip
        if routers == "hash":
            options |= {"banks": 3}
        vary = {"interface": ["task", "aggregate"], "resamples": [20, 50]}
        tables.append(summary(plan(options=options, vary=vary), tmp_path / str(save)))
    same(*tables)
    if routers == "hash":
        assert (tables[0]["banks"] == 3).all()
        assert f"{METRICS[0]}_bank_sd" in tables[0]


def test_a_sweep_is_what_each_attack_alone_is(plan, tmp_path):
    options = {"preset": "simulation", "endpoint_view": "tasks", "benchmark": "terminal_science"}
    vary = {
        "seed": [0, 5],
        "interface": ["task", "aggregate"],
        "endpoints": ["top5", "public_top5"],
        "reused_items": ["all", 12],
    }
    table = summary(plan(options=options, vary=vary), tmp_path)
    every = list(itertools.product(*vary.values()))
    assert len(table) == len(every) * 4
    benchmark = jaxbench.load("terminal_science")
    # Each of these compiles; every value is among them, with and without its neighbours.
    for seed, interface, rule, items in [every[0], every[6], every[11], every[13]]:
        mine = table[
            (table["seed"] == seed) & (table["interface"] == interface)
            & (table["endpoints"] == rule) & (table["reused_items"] == items)
        ].reset_index(drop=True)  # fmt: skip
        asked = FAST | {"preset": "simulation", "endpoint_view": "tasks", "seed": seed}
        alone = jaxbench.attack(
            benchmark, interface=interface, endpoints=rule, reused_items=items, **asked
        ).summary()
        columns = [c for c in alone.columns if c not in ("banks",) and c in mine]
        assert set(columns) >= {"benchmark", "coordinates", "eligible_trials", *MEASURED}
        same(mine[columns], alone[columns])


def test_published_conditions_with_banks_are_what_each_attack_alone_is(plan, tmp_path):
    options = {"benchmark": "terminal_science", "banks": 2}
    table = summary(plan(options=options, vary={"interface": ["task", "aggregate"]}), tmp_path)
    benchmark = jaxbench.load("terminal_science")
    for interface in ("task", "aggregate"):
        mine = table[table["interface"] == interface].reset_index(drop=True)
        alone = jaxbench.attack(benchmark, interface=interface, banks=2, **FAST).summary()
        assert f"{METRICS[0]}_bank_mean" in alone
        spread = [column for column in alone if "_bank_" in column]
        rest = [column for column in alone if column not in spread]
        same(mine[rest], alone[rest])
        # Means over trials, added up in another order: a few units in the last place of 100 pp.
        np.testing.assert_allclose(mine[spread], alone[spread], rtol=0, atol=1e-12)


def test_worlds_are_what_each_attack_alone_is(plan, tmp_path):
    vary = {"world.seed": [0, 1, 2], "world.models": [5, 9], "seed": [0, 1]}
    found = plan(options={"world": TINY}, vary=vary)
    table = summary(found, tmp_path)
    for cell in found.cells:
        (world,) = draw_worlds([cell.world])
        alone = jaxbench.attack(world.benchmark, seed=cell.request.seed, **FAST).summary()
        mine = table[(table["benchmark"] == cell.name) & (table["seed"] == cell.request.seed)]
        same(mine[list(alone.columns)].reset_index(drop=True), alone)


# Truth


def slow_truth(world, trials, scoring, weights):
    """`selected_true_pp` of every row, by hand, from names, splits and the truth per task."""
    bench = world.benchmark
    plain = World(
        tuple(map(tuple, bench.counts.tolist())), bench.denominator, bench.item_tasks,
        bench.prompt_hashes, bench.categories,
    ).oracle()  # fmt: skip
    expected = [sum(w * s for w, s in zip(weights, row, strict=True)) for row in world.truth]
    place = {name: m for m, name in enumerate(bench.models)}
    found = []
    for row in trials.itertuples():
        if row.budget and not row.eligible:
            found.append(np.nan)
        elif row.selected_model != FINAL_ROUTER:
            found.append(expected[place[row.selected_model]])
        elif row.budget > 1:
            found.append((expected[place[row.endpoint_a]] + expected[place[row.endpoint_b]]) / 2)
        else:
            a, b = place[row.endpoint_a], place[row.endpoint_b]
            reused = split(plain, 0, row.trial)
            wins = []
            for task in bench.tasks:
                mine = [i for i, t in enumerate(bench.item_tasks) if t == task and reused[i]]
                wins.append(sum(bench.counts[a][i] for i in mine)
                            - sum(bench.counts[b][i] for i in mine))  # fmt: skip
            if row.interface == "aggregate":
                wins = [sum(wins)] * len(wins)
            total = 0.0
            for t, win in enumerate(wins):
                best = (world.truth[a][t] + world.truth[b][t]) / 2
                if win:
                    best = world.truth[a if win > 0 else b][t]
                total += weights[t] * best
            found.append(total)
    return 100 * np.array(found, dtype=float)


@pytest.mark.parametrize("interface", ["task", "aggregate"])
def test_truth_of_worlds(interface, tmp_path):
    file = write_study(
        tmp_path,
        options=FAST | {"trials": 40, "world": TINY | {"size_ratio": 3.0, "leader_gap": 0.0}},
        vary={"world.seed": [0, 1, 2, 3], "interface": [interface]},
    )
    result = sweep(file)
    trials, table = result.trials(), result.summary()
    specs = {spec.name: spec for spec in planned_worlds(tmp_path, file)}
    routers = 0
    for name, mine in trials.groupby("benchmark"):
        (world,) = draw_worlds([specs[name]])
        weights = world.benchmark.task_sizes / world.spec.items
        selected = slow_truth(world, mine, "item_mean", weights)
        np.testing.assert_allclose(mine["selected_true_pp"], selected, rtol=0, atol=1e-10)
        before = np.repeat(selected[mine["budget"] == 0], 4)
        np.testing.assert_allclose(mine["no_attack_true_pp"], before, rtol=0, atol=1e-10)
        np.testing.assert_allclose(mine["true_loss_pp"], before - selected, rtol=0, atol=1e-10)
        routers += int(((mine["budget"] == 1) & (mine["selected_model"] == FINAL_ROUTER)).sum())
        # The mean over trials that count.
        rows = table[table["benchmark"] == name].set_index("budget")
        for k in (1, 2, 4):
            mean = mine.loc[(mine["budget"] == k) & mine["eligible"], "true_loss_pp"].mean()
            assert rows.loc[k, "true_loss_pp"] == pytest.approx(mean, abs=1e-10)
    # Static routers were looked at, too, where they can be best.
    assert routers > 0 or interface == "aggregate"


def planned_worlds(folder, file):
    from jaxbench.jobs.sweep import plan_sweep

    return [cell.world for cell in plan_sweep(file, "smoke", {}).cells]


@pytest.mark.parametrize(
    ("options", "weigh"),
    [
        ({"scoring": "equal_task"}, lambda sizes: [1 / 3] * 3),
        ({"scoring": "equal_category"}, lambda sizes: [1 / 4, 1 / 4, 1 / 2]),
        # The two smaller tasks are pooled, and weigh as one.
        ({"min_task_items": 9}, lambda sizes: [n / 24 for n in sizes]),
        (
            {"min_task_items": 9, "scoring": "equal_task"},
            lambda sizes: [*(n / sum(sizes[:2]) / 2 for n in sizes[:2]), 1 / 2],
        ),
    ],
    ids=["tasks", "categories", "pooled", "pooled tasks"],
)
def test_truth_under_other_scoring(options, weigh, tmp_path):
    world = TINY | {"size_ratio": 3.0, "leader_gap": 0.0, "categories": 2}
    file = write_study(tmp_path, options=FAST | {"world": world} | options)
    trials = sweep(file).trials()
    (spec,) = planned_worlds(tmp_path, file)
    (drawn,) = draw_worlds([spec])
    weights = weigh(drawn.benchmark.task_sizes.tolist())
    genuine = trials[(trials["budget"] != 1) & trials["eligible"]]
    selected = slow_truth(drawn, genuine, None, weights)
    np.testing.assert_allclose(genuine["selected_true_pp"], selected, rtol=0, atol=1e-10)
    assert trials.loc[trials["eligible"], "selected_true_pp"].notna().all()


def test_truth_that_is_not_known_is_empty(tmp_path):
    file = write_study(tmp_path, options=FAST | {"world": TINY, "scoring": "mean_win_rate"})
    result = sweep(file)
    assert result.trials()[list(TRUTH)].isna().all(axis=None)
    assert result.summary()["true_loss_pp"].isna().all()
    assert result.summary()["selection_loss_pp"].notna().any()
    # Nor drawn, and no failure either.
    spec = {"name": "f", "metric": "true_loss_pp"}
    file = write_study(
        tmp_path, options=FAST | {"world": TINY, "scoring": "mean_win_rate"}, figures=[spec]
    )
    assert sweep(file).plot("f").axes


def test_metrics_of_a_cell(plan):
    found = plan(**MIXED)
    for cell in found.cells:
        truth = TRUTH if cell.world else ()
        assert cell.metrics == (*metrics.METRICS, *truth)


def test_cells_that_run_in_blocks_stand_beside_those_that_wait_for_feedback(plan, tmp_path):
    vary = {"submitter": ["linear", "flip", "sign"], "mechanism": ["ladder:0.1", "parameter_free"]}
    options = {"preset": "simulation", "endpoints": "top5"}
    whole = plan(options, vary=vary, sources=[{"world": TINY}])
    assert [cell.name for cell in whole.cells] == [whole.cells[0].name] * 3
    table = summary(whole, tmp_path / "whole")
    for submitter in vary["submitter"]:
        alone = plan(options, vary=vary | {"submitter": [submitter]}, sources=[{"world": TINY}])
        rows = table[table["submitter"] == submitter].reset_index(drop=True)
        same(rows, summary(alone, tmp_path / submitter))


@pytest.mark.parametrize("table", ["mechanisms", "submitters"])
def test_a_study_writes_its_tables_and_can_be_replaced(tmp_path, table):
    vary = {"mechanism": ["none", "ladder:0.1"], "submitter": ["linear", "majority"]}
    file = write_study(
        tmp_path, options=FAST | {"preset": "simulation", "endpoints": "top5"}, vary=vary,
        sources=[{"world": TINY}], table=table, contraction={"over": "coordinates"},
        figures=[{"name": "harm", "kind": "pareto"}],
    )  # fmt: skip
    out = tmp_path / "out"
    result = sweep(file, out=out)
    found = pd.read_csv(out / f"{table}.csv")
    # Two mechanisms at one budget; or by two submitters each.
    assert len(found) == (2 if table == "mechanisms" else 4)
    assert found["budget"].eq(4).all()
    assert set(result.tables()) == {table, "contraction", "false_winners"}
    assert (out / "harm.svg").is_file()
    sweep(file, out=out, overwrite=True)
