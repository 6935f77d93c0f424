"""The simulation against the oracle, which is handed the words of the documented counters."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fresh
import jaxbench
from comparing import compare, note
from jaxbench.attacker import ENDPOINT_RULES
from jaxbench.benchmark import scoring
from jaxbench.engine import plan
from jaxbench.engine.evaluator import Evaluator
from jaxbench.options import Protocol, resolve
from oracle.attack import OracleRefusal, pool_small_tasks, run_trial
from routes import final_routes
from worlds import World, worlds

# Three trials under three budgets nearly everywhere: the programs are shared.
TRIALS = 3
# The edge of a block of 64 candidates (budget k has k - 1 of them), and that of the next.
EDGES = [63, 64, 65, 66, 130]


def expected_trial(world: World, trial: int, options: dict) -> list[dict]:
    """The oracle's rows, with whatever is drawn fresh handed in."""
    bench = pool_small_tasks(world.oracle(), options.get("min_task_items", 1))
    foreign = ("trials", "resamples", "preset", "seed", "routers", "split", "endpoints")
    known = {k: v for k, v in options.items() if k not in foreign and v != "exact"}
    fraction = Fraction(known.pop("holdout_fraction", "2/3"))
    if options["split"] == "prng":
        known["reused"] = fresh.split(bench, options["seed"], trial, fraction)
    if options["routers"] == "prng":
        candidates = options["budgets"][-1] - 1
        known["signs"] = fresh.signs(bench, options["seed"], trial, candidates)
        known["ties"] = fresh.ties(bench, options["seed"], trial)
    return run_trial(
        world.oracle(), trial=trial, rule=options["endpoints"],
        holdout_fraction=fraction, **known,
    )  # fmt: skip


def agree(world: World, **options) -> list[list[dict]] | None:
    """Run both, compare every column of every row, and return the oracle's trials."""
    options = {"preset": "simulation", "trials": TRIALS, "resamples": 2, "seed": 0} | options
    options = {"routers": "prng", "split": "prng", "endpoints": "top5"} | options
    try:
        expected = [expected_trial(world, trial, options) for trial in range(TRIALS)]
    except OracleRefusal:
        with pytest.raises(jaxbench.BadRequest):
            jaxbench.attack(world.benchmark(), **options)
        note("both refuse")
        return None
    table = jaxbench.attack(world.benchmark(), **options).trials()
    compare(table, [row for trial in expected for row in trial])
    note(f"eligible trials: {sum(trial[0]['eligible'] for trial in expected)}")
    return expected


def shuffled(seed: int, *, models=6, repeats=2, **facts) -> World:
    """Models that trade one task for the other, with noise, so that most trials are eligible.

    Prompts stand in another order than items, and two of them on more items than one.
    """
    rng = np.random.default_rng(seed)
    names = ("task 0",) * 7 + ("task 1",) * 8
    prompts = [f"{p:02d}" for p in rng.permutation(15)]
    for first, others in ((0, [3, 5]), (7, [9])):
        for other in others:
            prompts[other] = prompts[first]
    level = np.linspace(0.1, 0.9, models)[:, None]
    chance = np.where(np.arange(15) < 7, level, 1 - level)
    rows = rng.binomial(repeats, chance)
    return World(tuple(map(tuple, rows.tolist())), repeats, names, tuple(prompts), **facts)


def traded() -> World:
    """Two models, each perfect where the other fails: every trial is eligible.

    Contrasts are small, so that votes are often zero and one candidate more turns them.
    """
    rows = ((1,) * 6 + (0,) * 6, (0,) * 6 + (1,) * 6)
    return World(rows, 1, ("task 0",) * 6 + ("task 1",) * 6, tuple(f"p{i}" for i in range(12)))


@settings(max_examples=25)
@given(
    world=worlds(most_models=6),
    rule=st.sampled_from(sorted(ENDPOINT_RULES)),
    rows=st.sampled_from(["item_mean", "equal_task", "mean_win_rate"]),
    budgets=st.sampled_from([[1, 2, 5], [1, 4, 9], [1, 33, 34], [1, 32, 70]]),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_world(world, rule, rows, budgets, seed):
    agree(world, endpoints=rule, scoring=rows, budgets=budgets, seed=seed)


@settings(max_examples=12)
@given(
    world=worlds(most_models=6),
    form=st.sampled_from(
        [
            {"scoring": "equal_category", "precision": 1},
            {"scoring": "mean_win_rate", "precision": 0},
            {"scoring": "chance_normalised"},
            {"scoring": "item_mean", "interface": "category"},
        ]
    ),
    least=st.integers(1, 4),
    seed=st.integers(0, 2**64 - 1),
)
def test_other_rules(world, form, least, seed):
    if form["scoring"] == "equal_category" and scoring.category_of_task(world.benchmark()) is None:
        form = form | {"scoring": "equal_task"}
    if world.categories is None:
        form = {k: v for k, v in form.items() if k != "interface"}
    agree(world, min_task_items=least, budgets=[1, 2, 9], seed=seed, **form)


@pytest.mark.parametrize("seed", [0, 2**32 + 5])
def test_budgets_around_the_edge_of_a_block(seed):
    agree(shuffled(seed % 7), budgets=EDGES, seed=seed)
    expected = agree(traded(), budgets=EDGES, seed=seed)
    # The edge is in the data: one candidate more does turn a route.
    routes = [[row["route"] for row in trial[1:]] for trial in expected]
    assert any(trial[place] != trial[place + 1] for trial in routes for place in range(3))


@pytest.mark.parametrize("fraction", ["1/2", "0.3"])
def test_other_shares_held_out(fraction):
    agree(shuffled(3), budgets=EDGES, holdout_fraction=fraction)


def test_ties_take_their_own_sign():
    decided = 0
    bench = traded().oracle()
    for seed in range(6):
        expected = agree(traded(), budgets=[1, 2, 3], seed=seed)
        for trial, rows in enumerate(expected):
            turned = run_trial(
                bench, trial=trial, budgets=[1, 2, 3], reused=fresh.split(bench, seed, trial),
                signs=fresh.signs(bench, seed, trial, 2),
                ties=[-sign for sign in fresh.ties(bench, seed, trial)],
            )  # fmt: skip
            decided += sum(
                row["router_heldout_pp"] != other["router_heldout_pp"]
                for row, other in zip(rows[1:], turned[1:], strict=True)
            )
    # Other tie signs would have shown in scores that were compared.
    assert decided > 3


def test_an_ineligible_trial_stays_empty():
    rows = ((1,) * 12, (0,) * 12, (0,) * 12)
    world = World(rows, 1, traded().tasks, traded().prompts)
    expected = agree(world, budgets=[1, 2, 5])
    assert not any(trial[0]["eligible"] for trial in expected)


@pytest.mark.parametrize(
    "options",
    [
        {"routers": "hash", "split": "prng", "routing_seed": "r", "tie_seed": "t", "seed": 2**35},
        {"routers": "prng", "split": "hash", "split_seed_base": 41, "seed": 2**35},
        # The published preset draws the same words where it is told to.
        {"routers": "prng", "split": "prng", "preset": "published", "seed": 6},
    ],
)
def test_fresh_and_hashed_mix(options):
    for world in (shuffled(0), shuffled(1), traded()):
        agree(world, budgets=[1, 2, 65], **options)


def test_routes_equal_the_oracles():
    """The final routers themselves, item by item where the endpoints differ."""
    world, budgets = shuffled(5), [1, 3, 66]
    expected = agree(world, budgets=budgets, seed=9)
    options = {"preset": "simulation", "trials": TRIALS, "budgets": budgets, "seed": 9}
    evaluator = Evaluator(world.benchmark(), resolve(options, Protocol()))
    (outcome,), routes, _ = final_routes(evaluator)
    counts = world.benchmark().counts
    compared = 0
    for trial, rows in enumerate(expected):
        if not rows[0]["eligible"]:
            continue
        mine = {item: route for (_, where, item), route in routes.items() if where == trial}
        # Only items on which this trial's endpoints differ have a slot, and signs.
        a, b = outcome.endpoints.a[trial], outcome.endpoints.b[trial]
        assert sorted(mine) == np.flatnonzero(counts[a] != counts[b]).tolist()
        for item, route in mine.items():
            for place in range(len(budgets)):
                assert bool(route[place]) == (rows[1 + place]["route"][item] > 0)
                compared += 1
    assert compared > 30


# --- what must not matter: tables are equal bit for bit ------------------------------------------

# Sizes of categories on either side differ from trial to trial.
UNEVEN = shuffled(11, models=6, categories=tuple("ab"[i % 2] for i in range(15)))
CASES = {
    "released ticks": {"scoring": "mean_win_rate", "precision": 2},
    "item categories": {"interface": "category", "precision": 2, "holdout_fraction": "1/2"},
}


def table(world: World, **options) -> pd.DataFrame:
    defaults = {"preset": "simulation", "trials": 20, "budgets": [1, 2, 70], "resamples": 2}
    return jaxbench.attack(world.benchmark(), **defaults | options).trials()


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Equal bit for bit, missing values in the same places, columns of the same types."""
    pd.testing.assert_frame_equal(
        one.reset_index(drop=True),
        other.reset_index(drop=True),
        check_exact=True,
        check_dtype=False,
    )


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Options, and the table that one call on one chunk gives."""
    options = CASES[request.param]
    whole = table(UNEVEN, **options)
    assert whole["eligible"].any()
    pairs = whole[["endpoint_a", "endpoint_b"]].dropna().drop_duplicates()
    assert len(pairs) > 2
    return options, whole


@pytest.fixture
def cuts(monkeypatch):
    """How a run was cut up: trials per chunk and rows per call, as the plan was asked for them."""
    found = {}
    for name in ("trials_per_chunk", "rows_per_call"):
        real = getattr(plan.Shape, name)

        def asked(*args, name=name, real=real, **of):
            found[name] = real(*args, **of)
            return found[name]

        monkeypatch.setattr(plan.Shape, name, asked)
    return found


def test_the_smallest_chunks(monkeypatch, case, cuts):
    options, whole = case
    monkeypatch.setattr(plan, "CHUNK_BYTES", 1)
    same(table(UNEVEN, **options), whole)
    # The smallest bucket.
    assert cuts["trials_per_chunk"] == 8


def test_the_smallest_calls(monkeypatch, case, cuts):
    options, whole = case
    monkeypatch.setitem(plan.CALL_BYTES["cpu"], "fresh", 1)
    same(table(UNEVEN, **options), whole)
    # 20 trials are padded to 24, and go through in the smallest bucket.
    assert (cuts["trials_per_chunk"], cuts["rows_per_call"]) == (24, 8)


def test_chunks_and_calls_that_come_out_uneven(monkeypatch, case):
    # Chunks of 7, 7 and 6 trials, each in calls of 3, 3 and 1: both ends are filled up.
    options, whole = case
    monkeypatch.setattr(plan.Shape, "trials_per_chunk", lambda *_, **__: 7)
    monkeypatch.setattr(plan.Shape, "rows_per_call", lambda *_, **__: 3)
    same(table(UNEVEN, **options), whole)


def test_more_trials_go_on_where_fewer_ended(case):
    options, whole = case
    same(table(UNEVEN, trials=7, **options), whole[whole["trial"] < 7])


def test_a_budget_means_nothing_to_the_others():
    among = table(UNEVEN, trials=TRIALS, budgets=EDGES)
    for budget in (63, 130):
        alone = table(UNEVEN, trials=TRIALS, budgets=[1, 2, budget])
        kept = [frame[frame["budget"].isin([0, budget])] for frame in (alone, among)]
        same(*kept)


def test_conditions_do_not_touch_each_other():
    rules, interfaces = ["top5", "full_frontier"], ["task", "groups:1"]
    options = {"trials": TRIALS, "seed": 1}
    together = table(UNEVEN, endpoints=rules, interface=interfaces, **options)
    assert len(together) == 4 * 4 * TRIALS
    for rule in rules:
        for interface in interfaces:
            mine = (together["endpoints"] == rule) & (together["interface"] == interface)
            same(table(UNEVEN, endpoints=rule, interface=interface, **options), together[mine])


def test_splits_of_a_seed_are_alike_whatever_the_routers():
    columns = ["no_attack_model", "no_attack_reused_pp", "no_attack_heldout_pp", "genuine_gap_pp"]
    drawn = table(UNEVEN, trials=TRIALS, seed=5)
    hashed = table(UNEVEN, trials=TRIALS, seed=5, routers="hash", split="prng")
    same(drawn[columns], hashed[columns])
    assert not drawn["router_heldout_pp"].equals(hashed["router_heldout_pp"])


def test_seeds_differ_and_repeat():
    options = CASES["released ticks"]
    tables = [table(UNEVEN, seed=s, **options) for s in (0, 1, 2**32, 2**32 + 1, 2**64 - 1)]
    same(table(UNEVEN, seed=2**64 - 1, **options), tables[-1])
    for i, one in enumerate(tables):
        assert not any(other.equals(one) for other in tables[:i])
        # Trials differ too: each draws its own split and routers.
        router = one.loc[one["budget"] == 70, ["router_reused_pp", "router_heldout_pp"]].dropna()
        assert len(router.drop_duplicates()) > len(router) / 2


def test_columns_have_one_type():
    some = table(shuffled(5), trials=TRIALS)
    rows = ((1,) * 12, (0,) * 12, (0,) * 12)
    none = table(World(rows, 1, traded().tasks, traded().prompts), trials=TRIALS)
    assert some["eligible"].any()
    assert not none["eligible"].any()
    assert some.dtypes.equals(none.dtypes)
