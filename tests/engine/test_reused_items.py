"""Fewer reused items against the oracle: endpoints of the whole split, all else of the subset."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fresh
import jaxbench
from comparing import compare, note
from jaxbench.attacker import ENDPOINT_RULES
from jaxbench.benchmark import scoring
from jaxbench.options.table import KNOWN
from oracle.attack import OracleRefusal, hash_split, pool_small_tasks, run_trial
from worlds import World, worlds

TRIALS = 3
KINDS = [
    {"routers": "prng", "split": "prng"},
    {"routers": "hash", "split": "hash", "split_seed_base": 41},
    {"routers": "hash", "split": "prng", "routing_seed": "r"},
    {"routers": "prng", "split": "hash", "split_seed_base": 7},
]


def expected_trial(world: World, trial: int, options: dict, size: int | None) -> list[dict]:
    """The oracle's rows, with whatever is drawn fresh handed in."""
    bench = pool_small_tasks(world.oracle(), options.get("min_task_items", 1))
    foreign = ("trials", "resamples", "preset", "seed", "routers", "split", "endpoints")
    known = {k: v for k, v in options.items() if k not in foreign and v != "exact"}
    share, seed = Fraction(known.pop("holdout_fraction", "2/3")), options["seed"]
    if options["split"] == "prng":
        reused = fresh.split(bench, seed, trial, share)
    else:
        reused = hash_split(bench, options["split_seed_base"] + trial, share)
    if size is not None:
        known["kept"] = fresh.kept(bench, reused, seed, trial, size)
    if options["routers"] == "prng":
        known["signs"] = fresh.signs(bench, seed, trial, options["budgets"][-1] - 1)
        known["ties"] = fresh.ties(bench, seed, trial)
    known.pop("split_seed_base", None)
    return run_trial(world.oracle(), trial=trial, reused=reused, rule=options["endpoints"], **known)


def agree(world: World, size: int | None, **options) -> list[list[dict]] | None:
    """Run both, compare every column of every row, and return the oracle's trials."""
    options = {"preset": "simulation", "trials": TRIALS, "resamples": 2, "seed": 0} | options
    options = KINDS[0] | {"endpoints": "top5"} | options
    if (
        options.get("scoring") == "equal_category"
        and scoring.category_of_task(world.benchmark()) is None
    ):
        options["scoring"] = "equal_task"
    if options.get("interface") == "category" and world.categories is None:
        options["interface"] = "task"
    asked = options | {"reused_items": "all" if size is None else size}
    try:
        expected = [expected_trial(world, trial, options, size) for trial in range(TRIALS)]
    except OracleRefusal as refusal:
        with pytest.raises(jaxbench.BadRequest):
            jaxbench.attack(world.benchmark(), **asked)
        note(f"both refuse: {str(refusal).split()[0]}")
        return None
    table = jaxbench.attack(world.benchmark(), **asked).trials()
    compare(table, [row for trial in expected for row in trial])
    note(f"eligible trials: {sum(trial[0]['eligible'] for trial in expected)}")
    return expected


@settings(max_examples=20)
@given(
    world=worlds(tasks=2, most_models=6),
    share=st.sampled_from(["1/2", "1/3"]),
    size=st.integers(2, 7),
    rule=st.sampled_from(sorted(ENDPOINT_RULES)),
    rows=st.sampled_from(["item_mean", "equal_task", "mean_win_rate"]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_world(world, share, size, rule, rows, kind, seed):
    agree(
        world, size, endpoints=rule, scoring=rows, holdout_fraction=share, budgets=[1, 2, 9],
        seed=seed, **kind,
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150)
@given(
    world=worlds(tasks=3),
    share=st.sampled_from(["1/2", "1/3"]),
    size=st.integers(3, 12),
    rule=st.sampled_from(sorted(ENDPOINT_RULES)),
    rows=st.sampled_from(KNOWN["scoring"]),
    interface=st.sampled_from(["task", "category", "aggregate", "groups:1", "groups:2:1"]),
    precision=st.sampled_from(["exact", 0, 1, 2, 5]),
    view=st.sampled_from(["released", "tasks"]),
    kind=st.sampled_from(KINDS),
    least=st.integers(1, 4),
    seed=st.integers(0, 2**64 - 1),
)
def test_every_rule_with_every_interface(
    world, share, size, rule, rows, interface, precision, view, kind, least, seed
):
    agree(
        world, size, endpoints=rule, scoring=rows, interface=interface, precision=precision,
        endpoint_view=view, holdout_fraction=share, min_task_items=least, budgets=[1, 2, 9],
        seed=seed, **kind,
    )  # fmt: skip


def shuffled(seed: int, *, models: int = 6, repeats: int = 2) -> World:
    """Models that trade one task for the other, some prompts on more items than one.

    Two categories of whole tasks, and two subtasks to a task that are large enough to be cut.
    """
    rng = np.random.default_rng(seed)
    task = np.repeat([0, 1], [15, 17])
    prompts = [f"{p:02d}" for p in rng.permutation(32)]
    for first, others in ((0, [2, 4]), (15, [17]), (19, [21])):
        for other in others:
            prompts[other] = prompts[first]
    level = np.linspace(0.1, 0.9, models)[:, None]
    rows = rng.binomial(repeats, np.where(task == 0, level, 1 - level))
    return World(
        tuple(map(tuple, rows.tolist())), repeats, tuple(f"task {t}" for t in task),
        tuple(prompts), tuple(f"category {t}" for t in task),
        tuple(f"s{i % 2}" for i in range(32)),
        tuple(Fraction(0) if i % 2 else Fraction(1, 10) for i in range(32)),
    )  # fmt: skip


FORMS = [
    {"scoring": "item_mean", "interface": "aggregate", "endpoints": "public_top5"},
    {"scoring": "item_mean", "interface": "aggregate", "endpoint_view": "tasks", "precision": 2},
    {"scoring": "equal_category", "interface": "category", "precision": 1},
    {"scoring": "chance_normalised", "precision": 3, "holdout_fraction": "1/3"},
    {"scoring": "mean_win_rate", "interface": "groups:1", "endpoints": "public_top5"},
]


@pytest.mark.parametrize(
    "form", [*FORMS[:3], *(pytest.param(form, marks=pytest.mark.slow) for form in FORMS[3:])]
)
def test_other_rules_and_interfaces(form):
    """Each matters: endpoints are those of the whole split, scores are not."""
    seed = FORMS.index(form)
    options = {"budgets": [1, 2, 9], "seed": seed} | KINDS[seed % 2] | form
    # Three of eleven: still some of either subtask, as it happens.
    size = 16 if form["scoring"] == "chance_normalised" else 6
    fewer = agree(shuffled(seed), size, **options)
    whole = agree(shuffled(seed), None, **options)
    assert fewer is not None
    assert any(trial[0]["eligible"] for trial in fewer)
    for one, other in zip(fewer, whole, strict=True):
        for column in ("eligible", "endpoint_a", "endpoint_b"):
            assert one[0][column] == other[0][column]
    last = [[trial[-1]["router_reused_pp"] for trial in trials] for trials in (fewer, whole)]
    assert last[0] != last[1]


def test_the_whole_reused_side_is_all():
    """As a number it is what `all` is, whatever the words."""
    options = {"preset": "simulation", "trials": 8, "budgets": [1, 2, 9], "resamples": 2}
    world = shuffled(2).benchmark()
    whole = jaxbench.attack(world, **options).trials()
    # 2/3 of 15 and of 17 are held out: 10 and 11.
    assert jaxbench.attack(world, reused_items=11, **options).trials().equals(whole)
    with pytest.raises(jaxbench.BadRequest, match="reused_items=12: expected 2 to 11"):
        jaxbench.attack(world, reused_items=12, **options)
    with pytest.raises(jaxbench.BadRequest, match="reused_items=1: expected 2 to 11"):
        jaxbench.attack(world, reused_items=1, **options)


def test_budgets_around_the_edge_of_a_block():
    for kind in KINDS[:2]:
        agree(shuffled(3), 6, budgets=[63, 64, 65, 66, 130], seed=2**40, **kind)
