"""The block kernel with mechanisms against the exact oracle, and against itself cut otherwise."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbench
from engine.test_conditions import BENCHMARK
from engine.test_traces import WORLD, growth
from jaxbench.engine import feedback, plan
from jaxbench.engine.channel import Channel, Team
from jaxbench.engine.history import Board
from jaxbench.leaderboard.mechanisms.frontier_ladder import FrontierLadder
from outcomes import cell, cut, request, run, same, whole
from released_worlds import STEPS, agree, worlds

ladder, rounding, frontier = "ladder", "rounding", "frontier_ladder"
# Parts without their sizes, and what makes a program of its own beside them.
FORMS = {
    "rounding": ([(rounding, {})], {"scoring": "equal_task"}),
    "floor, one number": (
        [(rounding, {"mode": "floor"})],
        {"interface": "aggregate", "precision": 2, "submitter": "majority"},
    ),
    "categories across tasks": ([(rounding, {})], {"interface": "category", "submitter": "sign"}),
    "everyone sees the best": (
        [(rounding, {}), ("visibility", {"to": "everyone"})], {"submitter": "sign"},
    ),
    "submitters see their own": ([("visibility", {"to": "submitter"})], {}),
    "ladder": ([(ladder, {})], {}),
    "ladder, naive": ([(ladder, {"round": "false"})], {"decoder": "naive", "state": "global"}),
    "ladders": ([(ladder, {})], {"on": "coordinates", "decoder": "naive"}),
    "ladders on the board": (
        [(ladder, {"round": "julia"}), (rounding, {})], {"on": "coordinates", "state": "global"},
    ),
    "gate": ([(rounding, {}), (ladder, {})], {"on": "gate", "submitter": "majority"}),
    "gate on the board": (
        [(ladder, {})], {"on": "gate", "state": "global", "scoring": "equal_task"},
    ),
    "frontier": ([(frontier, {})], {"on": "coordinates"}),
    "frontier on the board": (
        [(frontier, {}), (rounding, {})],
        {"on": "coordinates", "state": "global", "budgets": [1, 2, 4]},
    ),
    "rank": ([], {"interface": "rank", "scoring": "chance_normalised"}),
    "rank behind a ladder": ([(ladder, {})], {"interface": "rank"}),
    "rank among all": ([(rounding, {})], {"interface": "rank:all"}),
    "top": ([], {"interface": "top:2"}),
    "top, rounded": ([(rounding, {})], {"interface": "top:4", "submitter": "majority"}),
    "bucket": ([], {"interface": "bucket:3", "submitter": "sign"}),
    "interval": ([], {"interface": "interval:0.05"}),
    "rank of intervals": ([], {"interface": "interval_rank"}),
    "cap and delay": (
        [("cap", {"total": 9}), ("delay", {"batch": 3})], {"scoring": "mean_win_rate"},
    ),
    "the last of a batch": ([("delay", {"batch": 3, "kind": "last"})], {"submitter": "majority"}),
    "a ladder within limits": (
        [("cap", {"total": 9}), (ladder, {}), ("refresh", {"every": 6})], {"submitter": "linear"},
    ),
    "static": ([(ladder, {})], {"submitter": "static"}),
}  # fmt: skip


# One of every kind; the others are wide.
SOON = (
    "categories across tasks", "ladder, naive", "gate on the board", "frontier on the board",
    "rank behind a ladder", "top, rounded", "rank of intervals", "cap and delay",
    "a ladder within limits", "static",
)  # fmt: skip


@pytest.mark.parametrize(
    "form",
    [f if f in SOON else pytest.param(f, marks=pytest.mark.wide) for f in FORMS],
)
@settings(max_examples=5)
@given(
    data=st.data(),
    step=st.sampled_from([s for s in STEPS if s]),
    rule=st.sampled_from(["top5", "public_top5", "non_leading", "full_frontier"]),
    view=st.sampled_from(["released", "tasks"]),
    seed=st.integers(0, 10**6),
)
def test_oracle(form, data, step, rule, view, seed):
    parts, options = FORMS[form]
    sized = [
        (name, ({"step": step} if name in (ladder, rounding, frontier) else {}) | values)
        for name, values in parts
    ]
    across = "category" in options.get("interface", "")
    repeats = (1,) if "interval" in options.get("interface", "") else (1, 2)
    world = data.draw(worlds(repeats=repeats, models=(6,), across=across))
    agree(
        world, sized, **{"interface": "task"} | options, endpoints=rule, endpoint_view=view,
        split_seed_base=seed,
    )  # fmt: skip


def several(**shared) -> list:
    """Requests that one evaluator serves: mechanisms and places, of every kind of memory."""
    shared = {"budgets": [1, 2, 66], "holdout_fraction": "1/2"} | shared
    return [
        request(interface=["task", "rank:all", "top:3"], **shared),
        request(mechanism="rounding:0.1", **shared),
        request(mechanism="ladder:0.05", decoder="naive", **shared),
        request(mechanism="frontier_ladder:0.1", state="global", **shared),
        request(mechanism=["cap:40", "delay:3"], **shared),
    ]


@pytest.fixture(scope="module")
def together() -> dict:
    """What one call on one chunk finds."""
    return whole(run(cell(BENCHMARK, *several())))


def test_together_is_alone(together):
    alone = {}
    for one in several():
        alone |= whole(run(cell(BENCHMARK, one)))
    assert len(alone) == 7
    same(together, alone)


@pytest.mark.parametrize(("chunk", "call"), [(3, 8), pytest.param(8, 3, marks=pytest.mark.wide)])
def test_chunks_and_calls_of_any_size(monkeypatch, together, chunk, call):
    cut(monkeypatch, chunk=chunk, call=call)
    same(whole(run(cell(BENCHMARK, *several()))), together)


def test_the_block_of_candidates_means_nothing(monkeypatch):
    requests = several(routers="hash", split="hash", budgets=[1, 5, 40, 129])[2:]
    expected = whole(run(cell(BENCHMARK, *requests)))
    monkeypatch.setitem(plan.SHARED_BLOCK, "cpu", 7)
    same(whole(run(cell(BENCHMARK, *requests))), expected)


def attack(**options) -> None:
    defaults = {"preset": "simulation", "trials": 13, "budgets": [1, 2, 5], "resamples": 2}
    jaxbench.attack(WORLD, **defaults | options)


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "ladder:0.05"},
        {"mechanism": "ladder:0.05", "on": "gate", "state": "global"},
        {"mechanism": "rounding:0.05", "interface": "rank"},
        {"mechanism": "frontier_ladder:0.05"},
    ],
)
def test_sizes_are_data(options):
    attack(**options)
    with growth() as added:
        for size in ("0.1", "0.02", "0.5"):
            attack(**options | {"mechanism": options["mechanism"].replace("0.05", size)}, seed=3)
    assert not added


def test_equal_overalls_are_equal_places():
    """The first of two profiles with one mean is the team's row, whatever their last bits are."""
    shares = np.full((1, 3), 1 / 3 / 10)
    profiles = [
        np.array([one, other], dtype=float)
        for one, other in product(product(range(11), repeat=3), repeat=2)
        if sum(one) == sum(other) and mean(other, shares[0]) < mean(one, shares[0])
    ]
    assert profiles
    with jax.enable_x64(True):
        nothing = jnp.full((1,), jnp.inf)
        zero = jnp.zeros((1,))
        channel = Channel(
            FrontierLadder(np.zeros((1, 3)), 4),
            jnp.zeros((1, 2), jnp.uint32),
            *[jnp.asarray(shares)] * 4,
        )
        losses = jnp.asarray(profiles[0].T)[None]
        seen = jnp.ones(losses.shape, dtype=bool)
        true = jnp.array([[0.1, 0.2]])
        team = Team(nothing, zero, zero, jnp.zeros((1,), jnp.int32), nothing, nothing, zero)
        block = feedback.Block(losses, true, true, None)
        told = feedback.Answer(losses, seen, seen, None)

        def show(team, *counted):
            board = Board(nothing, nothing, zero)
            return feedback.show(channel, team, block, told, jnp.array(counted), board)

        both, first = show(team, True, True), show(team, True, False)
        second = show(first, False, True)
        assert both.reused.tolist() == first.reused.tolist() == second.reused.tolist() == [0.1]


def mean(profile, shares) -> float:
    """As a channel adds up."""
    return profile[0] * shares[0] + profile[1] * shares[1] + profile[2] * shares[2]
