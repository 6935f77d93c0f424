"""Worlds and chains for the block kernel with mechanisms, and its tables against the oracle's."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

import jaxbench
from comparing import compare, note
from oracle.attack import OracleRefusal
from oracle.released import run_released
from worlds import World

TRIALS = 3
BUDGETS = [1, 2, 5, 24]
STEPS = [Fraction(1, 10), Fraction(0), Fraction(1, 7), Fraction(1, 3), Fraction(1, 50)]
TASKS = ("task 0",) * 8 + ("task 1",) * 6
Parts = list[tuple[str, dict]]


@st.composite
def worlds(
    draw,
    repeats: tuple[int, ...] = (1, 2, 3),
    models: tuple[int, ...] = (6, 3),
    across: bool | None = None,
) -> World:
    """Worlds of one shape: two tasks; two categories, of tasks or across them."""
    each, count = draw(st.sampled_from(repeats)), draw(st.sampled_from(models))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    if draw(st.booleans()):
        scores = rng.integers(0, each + 1, (count, len(TASKS)))
    else:
        # Close together, and every model ahead somewhere: wide frontiers, many ties.
        leads = np.arange(count)[:, None] % 2 == (np.array(TASKS) == "task 1")
        scores = rng.binomial(each, np.where(leads, 0.7, 0.4))
    across = draw(st.booleans()) if across is None else across
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
    asked = {"endpoints": "top5"} | options | {"holdout_fraction": str(options["holdout_fraction"])}
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
