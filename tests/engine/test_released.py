"""The block kernel with mechanisms against the exact oracle, and against itself cut otherwise."""

from fractions import Fraction
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbench
from comparing import compare, note
from engine.test_traces import growth
from jaxbench.engine import channel as channels
from jaxbench.engine import feedback, plan
from jaxbench.leaderboard.mechanisms import Feedback
from jaxbench.leaderboard.mechanisms.frontier_ladder import FrontierLadder
from oracle.attack import OracleRefusal
from oracle.released import run_released
from outcomes import cell, cut, request, run, same, whole
from worlds import World

TRIALS = 3
BUDGETS = [1, 2, 5, 24]
STEPS = [Fraction(1, 10), Fraction(0), Fraction(1, 7), Fraction(1, 3), Fraction(1, 50)]
TASKS = ("task 0",) * 8 + ("task 1",) * 6
Parts = list[tuple[str, dict]]


@st.composite
def worlds(draw, repeats: tuple[int, ...] = (1, 2, 3), models: tuple[int, ...] = (6, 3)) -> World:
    """Worlds of one shape: two tasks, four categories of items or two of tasks, all prompts apart."""
    each, count = draw(st.sampled_from(repeats)), draw(st.sampled_from(models))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    if draw(st.booleans()):
        scores = rng.integers(0, each + 1, (count, len(TASKS)))
    else:
        # Close together, and every model ahead somewhere: wide frontiers, many ties.
        leads = np.arange(count)[:, None] % 2 == (np.array(TASKS) == "task 1")
        scores = rng.binomial(each, np.where(leads, 0.7, 0.4))
    across = draw(st.booleans())
    categories = [f"category {i % 2 if across else int(t[-1])}" for i, t in enumerate(TASKS)]
    prompts = tuple(f"p{i:02d}" for i in range(len(TASKS)))
    return World(
        tuple(map(tuple, scores.tolist())), each, TASKS, prompts, tuple(categories),
        chances=(Fraction(1, 10),) * len(TASKS),
    )  # fmt: skip


def option(parts: Parts) -> object:
    """A chain as users give it."""
    return [
        {"name": name}
        | {key: str(v) if isinstance(v, Fraction) else v for key, v in values.items()}
        for name, values in parts
    ] or "none"


def agree(world: World, parts: Parts, *, trials: int = TRIALS, **options) -> list[list[dict]]:
    """Every column of every row, of the engine and of the oracle."""
    options = {"budgets": BUDGETS, "holdout_fraction": Fraction(1, 2)} | options
    known = options | {"rule": options.get("endpoints", "top5")}
    known.pop("endpoints", None)
    asked = options | {"holdout_fraction": str(options["holdout_fraction"])}
    asked |= {"preset": "published", "trials": trials, "resamples": 2, "mechanism": option(parts)}
    try:
        expected = [
            run_released(world.oracle(), trial=trial, mechanism=parts, **known)
            for trial in range(trials)
        ]
    except OracleRefusal as refusal:
        with pytest.raises(jaxbench.BadRequest):
            jaxbench.attack(world.benchmark(), **asked)
        note(f"both refuse: {refusal}")
        return []
    table = jaxbench.attack(world.benchmark(), **asked).trials()
    compare(table, [row for trial in expected for row in trial])
    note(f"eligible trials: {sum(trial[0]['eligible'] for trial in expected)}")
    return expected


# What is beside a mechanism: data to the program, or one of few forms.
around = st.fixed_dictionaries(
    {
        "endpoints": st.sampled_from(["top5", "public_top5", "non_leading", "full_frontier"]),
        "endpoint_view": st.sampled_from(["released", "released", "tasks"]),
        "scoring": st.sampled_from(["item_mean", "equal_task", "equal_category"]),
        "decoder": st.sampled_from(["aware", "naive"]),
        "submitter": st.sampled_from(["linear", "linear", "majority", "sign"]),
        "split_seed_base": st.integers(0, 10**6),
    }
)
vectors = st.sampled_from(["task", "category", "groups:2:1"])
steps = st.sampled_from(STEPS)


def with_rows(world: World, options: dict) -> dict:
    """Categories across tasks can weigh no tasks."""
    nested = len(set(zip(world.tasks, world.categories or (), strict=True))) == 2
    if options["scoring"] == "equal_category" and not nested:
        return options | {"scoring": "equal_task"}
    return options


@settings(max_examples=25)
@given(
    world=worlds(),
    interface=st.sampled_from(["task", "category", "aggregate"]),
    step=st.sampled_from([s for s in STEPS if s]),
    mode=st.sampled_from(["even", "floor"]),
    behind=st.sampled_from([None, None, "everyone", "submitter"]),
    precision=st.sampled_from(["exact", 2]),
    options=around,
)
def test_rounding_and_visibility(world, interface, step, mode, behind, precision, options):
    parts = [("rounding", {"step": step, "mode": mode})]
    if behind:
        parts.append(("visibility", {"to": behind}))
    options = with_rows(world, options)
    if precision != "exact":
        options |= {"precision": precision}
    agree(world, parts, interface=interface, **options)


@settings(max_examples=25)
@given(
    world=worlds(),
    interface=vectors,
    on=st.sampled_from(["overall", "coordinates", "gate"]),
    state=st.sampled_from(["team", "global"]),
    step=steps,
    how=st.sampled_from(["true", "false", "julia"]),
    grid=st.sampled_from([None, None, ("before", Fraction(1, 20)), ("behind", Fraction(1, 4))]),
    options=around,
)
def test_ladders(world, interface, on, state, step, how, grid, options):
    parts = [("ladder", {"step": step, "round": how})]
    if grid:
        rounding = ("rounding", {"step": grid[1], "mode": "even"})
        parts = [rounding, *parts] if grid[0] == "before" else [*parts, rounding]
    agree(world, parts, interface=interface, on=on, state=state, **with_rows(world, options))


@settings(max_examples=20)
@given(
    world=worlds(),
    interface=vectors,
    state=st.sampled_from(["team", "global"]),
    step=steps,
    grid=st.sampled_from([None, None, Fraction(1, 4)]),
    budgets=st.sampled_from([BUDGETS, [1, 2, 4]]),
    options=around,
)
def test_frontier_ladders(world, interface, state, step, grid, budgets, options):
    parts = [("frontier_ladder", {"step": step})]
    if grid:
        parts.append(("rounding", {"step": grid, "mode": "floor"}))
    agree(
        world, parts, interface=interface, on="coordinates", state=state,
        **with_rows(world, options) | {"budgets": budgets},
    )  # fmt: skip


@settings(max_examples=25)
@given(
    world=worlds(),
    interface=st.sampled_from(["rank", "rank:all", "top:1", "top:4", "bucket:3", "bucket:10"]),
    before=st.sampled_from([None, None, "rounding", "ladder"]),
    step=st.sampled_from([Fraction(1, 10), Fraction(1, 20)]),
    scoring=st.sampled_from(["item_mean", "equal_task", "chance_normalised"]),
    options=around,
)
def test_places(world, interface, before, step, scoring, options):
    parts = [(before, {"step": step})] if before else []
    if not parts and not interface.startswith("top"):
        options.pop("decoder")
    agree(world, parts, **options | {"interface": interface, "scoring": scoring})


@settings(max_examples=12)
@given(
    world=worlds(repeats=(1,)),
    interface=st.sampled_from(["interval:0.05", "interval:0.01", "interval_rank"]),
    options=around,
)
def test_intervals(world, interface, options):
    options.pop("decoder")
    agree(world, [], **options | {"interface": interface, "scoring": "item_mean"})


caps = st.sampled_from([None, {"total": 4}, {"per_period": 2, "periods": 3, "accounts": 2}])


@settings(max_examples=15)
@given(
    world=worlds(models=(6,)),
    cap=caps,
    behind=st.sampled_from([
        None, ("delay", {"batch": 3, "kind": "each"}), ("delay", {"batch": 3, "kind": "last"}),
        ("refresh", {"every": 4}),
    ]),
    scoring=st.sampled_from(["item_mean", "equal_task", "mean_win_rate"]),
    options=around,
)  # fmt: skip
def test_rules_on_budgets(world, cap, behind, scoring, options):
    parts = [*([("cap", cap)] if cap else []), *([behind] if behind else [])]
    options.pop("decoder")
    agree(world, parts, **options | {"scoring": scoring})


@settings(max_examples=10)
@given(
    world=worlds(models=(6,)),
    total=st.sampled_from([4, 9]),
    every=st.sampled_from([5, 24]),
    submitter=st.sampled_from(["static", "linear"]),
    step=steps,
    seed=st.integers(0, 10**6),
)
def test_rules_on_budgets_around_a_ladder(world, total, every, submitter, step, seed):
    parts = [("cap", {"total": total}), ("ladder", {"step": step}), ("refresh", {"every": every})]
    agree(world, parts, submitter=submitter, split_seed_base=seed)
