"""The engine against the exact oracle, trial by trial."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbench
from comparing import compare, note
from jaxbench.attacker import ENDPOINT_RULES
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.engine import kernel, plan
from jaxbench.engine.evaluator import Evaluator
from jaxbench.options import Protocol, resolve
from jaxbench.options.table import KNOWN
from oracle.attack import OracleRefusal, run_trial
from routes import final_routes
from worlds import World, worlds

TRIALS = 3
BUDGETS = ([1, 2, 5], [3, 4, 9], [2, 7, 30], [1, 8, 70])


def agree(world: World, **options) -> list[list[dict]] | None:
    """Run both and compare every column of every row.

    A scoring rule or interface that needs categories which the world lacks gives way to one that
    does not.

    `options` are those of `jaxbench attack`; the oracle knows the rule by its older name.
    """
    options = {"trials": TRIALS, "resamples": 2, "preset": "published"} | options
    nested = scoring.category_of_task(world.benchmark()) is not None
    if options.get("scoring") == "equal_category" and not nested:
        options["scoring"] = "equal_task"
    if options.get("interface") == "category" and world.categories is None:
        options["interface"] = "task"
    known = {k: v for k, v in options.items() if k not in ("trials", "resamples", "preset")}
    known["rule"] = known.pop("endpoints", "top5")
    if known.get("precision") == "exact":
        del known["precision"]
    try:
        expected = [
            run_trial(world.oracle(), trial=trial, **known) for trial in range(options["trials"])
        ]
    except OracleRefusal as refusal:
        try:
            jaxbench.attack(world.benchmark(), **options)
        except jaxbench.BadRequest:
            note("both refuse")
            return None
        raise AssertionError(f"only the oracle refuses: {refusal}") from refusal
    table = jaxbench.attack(world.benchmark(), **options).trials()
    compare(table, [row for trial in expected for row in trial])
    note(f"eligible trials: {sum(trial[0]['eligible'] for trial in expected)}")
    return expected


@settings(max_examples=60)
@given(
    world=worlds(),
    rule=st.sampled_from(sorted(ENDPOINT_RULES)),
    rows=st.sampled_from(["item_mean", "equal_task", "equal_category"]),
    budgets=st.sampled_from(BUDGETS),
    seed=st.integers(0, 10**6),
)
def test_exact_task_scores(world, rule, rows, budgets, seed):
    agree(world, endpoints=rule, scoring=rows, budgets=budgets, split_seed_base=seed)


@settings(max_examples=60)
@given(
    world=worlds(),
    rule=st.sampled_from(sorted(ENDPOINT_RULES)),
    rows=st.sampled_from(KNOWN["scoring"]),
    interface=st.sampled_from(["task", "category", "aggregate", "groups:1", "groups:2:1"]),
    precision=st.sampled_from(["exact", 0, 1, 2, 3, 5]),
    view=st.sampled_from(["released", "tasks"]),
    seed=st.integers(0, 10**6),
)
def test_every_rule_with_every_interface(world, rule, rows, interface, precision, view, seed):
    agree(
        world, endpoints=rule, scoring=rows, interface=interface, precision=precision,
        endpoint_view=view, budgets=[1, 2, 9], split_seed_base=seed,
    )  # fmt: skip


@settings(max_examples=25)
@given(
    world=worlds(tasks=4),
    rows=st.sampled_from(KNOWN["scoring"]),
    interface=st.sampled_from(["task", "category", "groups:3", "groups:2"]),
    precision=st.sampled_from(["exact", 2, 5]),
    group_seed=st.sampled_from(["jaxbench", "another"]),
    least=st.integers(1, 5),
    seed=st.integers(0, 10**6),
)
def test_more_tasks_grouped_and_pooled(world, rows, interface, precision, group_seed, least, seed):
    options = {"group_seed": group_seed} if interface.startswith("groups") else {}
    agree(
        world, scoring=rows, interface=interface, precision=precision, min_task_items=least,
        budgets=[1, 3, 6], split_seed_base=seed, **options,
    )  # fmt: skip


def wide_frontier(models: int, repeats: int = 5) -> World:
    """Every model trades one task for the other, and none beats another on both."""
    names = ("task 0",) * 6 + ("task 1",) * 6
    rows = tuple(
        tuple((m % (repeats + 1)) if t == "task 0" else repeats - m % (repeats + 1) for t in names)
        for m in range(models)
    )
    return World(rows, repeats, names, tuple(f"p{i}" for i in range(12)))


@pytest.mark.parametrize("rule", ["top5", "full_frontier"])
@pytest.mark.parametrize("models", [6, 8])
def test_frontiers_wider_than_five(rule, models):
    # Under item_mean every model scores 1/2 in all: the order of the frontier is all ties, so the
    # cut keeps the first five names, and with eight models two pairs are equally far apart.
    expected = agree(wide_frontier(models), endpoints=rule, budgets=[1, 2, 5])
    pair = {expected[0][0]["endpoint_a"], expected[0][0]["endpoint_b"]}
    # Top five by name are a to e with levels 0 to 4; the full frontier reaches level 5 (model f).
    assert pair == ({"model a", "model e"} if rule == "top5" else {"model a", "model f"})


def test_frontier_of_one_is_ineligible():
    # model a solves everything and the others nothing: it is alone on every frontier.
    names = ("task 0",) * 6 + ("task 1",) * 6
    rows = ((1,) * 12, (0,) * 12, (0,) * 12)
    world = World(rows, 1, names, tuple(f"p{i}" for i in range(12)))
    agree(world, scoring="item_mean", budgets=[1, 2, 5], split_seed_base=7)
    result = jaxbench.attack(
        world.benchmark(), preset="published", trials=TRIALS, budgets=[1, 2, 5], resamples=2
    )
    summary = result.summary()
    assert summary["eligible_trials"].tolist() == [TRIALS, 0, 0, 0]
    assert summary["attempted_trials"].tolist() == [TRIALS] * 4
    assert summary.loc[1:, "selection_loss_pp"].isna().all()
    assert summary.loc[0, "selection_loss_pp"] == 0.0
    assert result.first_significant_budget() == {"top5/task": None}


def test_ties_go_to_the_tie_sign():
    # Two models that differ nowhere on average: one item each way per task and k = 2, so a
    # candidate with contrast 0 leaves every vote at zero.
    names = ("task 0",) * 6
    rows = ((1, 0, 1, 0, 1, 0), (0, 1, 0, 1, 0, 1))
    world = World(rows, 1, names, tuple(f"p{i}" for i in range(6)))
    for seed in range(20):
        agree(
            world,
            endpoints="public_top5",
            scoring="item_mean",
            budgets=[1, 2, 5],
            split_seed_base=seed,
        )


def test_routes_equal_the_oracles():
    """The final routers themselves, item by item where the endpoints differ."""
    rng = np.random.default_rng(5)
    world = World(
        tuple(map(tuple, rng.integers(0, 3, (4, 14)).tolist())),
        2,
        ("task 0",) * 6 + ("task 1",) * 8,
        (*(f"p{i}" for i in range(13)), "p12"),
    )
    budgets = [1, 2, 3, 6, 17]
    options = {"trials": TRIALS, "budgets": budgets, "split_seed_base": 3}
    evaluator = Evaluator(world.benchmark(), resolve(options, Protocol()))
    _, routes, differences = final_routes(evaluator)
    compared = 0
    for trial in range(TRIALS):
        expected = run_trial(world.oracle(), trial=trial, budgets=budgets, split_seed_base=3)
        if not expected[0]["eligible"]:
            continue
        for (_, where, item), route in routes.items():
            if where != trial or differences[0, trial, item] == 0:
                continue
            for b in range(len(budgets)):
                assert bool(route[b]) == (expected[1 + b]["route"][item] > 0)
                compared += 1
    assert compared > 50


def test_row_and_column_order_mean_nothing():
    rng = np.random.default_rng(8)
    scores = rng.integers(0, 2, (5, 16)).astype(float)
    facts = {
        "models": [f"m{i}" for i in range(5)],
        "items": [f"i{i:02d}" for i in range(16)],
        "tasks": [f"t{i % 2}" for i in range(16)],
    }
    one = Benchmark.from_scores(scores, **facts)
    rows, columns = rng.permutation(5), rng.permutation(16)
    other = Benchmark.from_scores(
        scores[np.ix_(rows, columns)],
        models=[facts["models"][r] for r in rows],
        items=[facts["items"][c] for c in columns],
        tasks=[facts["tasks"][c] for c in columns],
    )
    assert one.digest() == other.digest()
    a, b = (
        jaxbench.attack(x, trials=4, budgets=[1, 4], resamples=2).trials() for x in (one, other)
    )
    assert a.equals(b)


def test_budgets_do_not_change_each_other():
    world = wide_frontier(6).benchmark()
    alone = jaxbench.attack(world, trials=3, budgets=[7], resamples=2).trials()
    among = jaxbench.attack(world, trials=3, budgets=[1, 3, 7, 66], resamples=2).trials()
    among = among[among["budget"].isin([0, 7])].reset_index(drop=True)
    assert alone.equals(among)


def test_one_program_serves_every_call():
    """Seeds, endpoint rules, budgets of one count and banks are data, not programs."""
    world = wide_frontier(6).benchmark()
    options = {"preset": "published", "trials": 3, "resamples": 2}
    jaxbench.attack(world, budgets=[1, 2, 5], **options)
    before = kernel.attack_rows._cache_size()
    jaxbench.attack(world, budgets=[1, 3, 6], **options)
    jaxbench.attack(world, budgets=[1, 2, 5], routing_seed="another", banks=2, **options)
    jaxbench.attack(world, budgets=[1, 2, 5], split_seed_base=99, tie_seed="x", **options)
    jaxbench.attack(world, budgets=[1, 2, 5], endpoints="full_frontier", **options)
    assert kernel.attack_rows._cache_size() == before


def test_the_size_of_a_call_means_nothing(monkeypatch):
    world = wide_frontier(8).benchmark()
    options = {"preset": "published", "trials": 11, "budgets": [1, 5, 40], "resamples": 2}
    whole = jaxbench.attack(world, **options).trials()
    monkeypatch.setattr(plan.Shape, "rows_per_call", lambda *_, **__: 4)
    assert jaxbench.attack(world, **options).trials().equals(whole)


@pytest.mark.parametrize("block", [1, 7, 64, 300])
def test_the_block_of_candidates_means_nothing(monkeypatch, block):
    world = wide_frontier(8).benchmark()
    options = {"preset": "published", "trials": 2, "budgets": [1, 5, 40, 129], "resamples": 2}
    whole = jaxbench.attack(world, **options).trials()
    monkeypatch.setitem(plan.SHARED_BLOCK, "cpu", block)
    assert jaxbench.attack(world, **options).trials().equals(whole)
