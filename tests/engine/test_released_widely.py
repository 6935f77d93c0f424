"""The block kernel with mechanisms against the exact oracle, far and wide: every form compiles."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from released_worlds import BUDGETS, STEPS, agree, worlds
from worlds import World

pytestmark = pytest.mark.wide

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
