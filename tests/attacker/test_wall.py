"""The attacker sees public numbers only: equal public numbers, equal routers."""

from dataclasses import dataclass

import numpy as np
import pytest

from jaxbench.attacker import Endpoints
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Evaluator
from jaxbench.options import Protocol, resolve
from routes import final_routes

MODELS = tuple("abcd")
ITEMS = 24


def world(rng: np.random.Generator) -> tuple[np.ndarray, tuple[str, ...]]:
    scores = rng.integers(0, 2, (len(MODELS), ITEMS)).astype(float)
    return scores, tuple(f"task {i % 3}" for i in range(ITEMS))


@dataclass
class Seen:
    """What a test of the wall looks at: public counts, splits, endpoints, and final routers."""

    public: np.ndarray
    reused: np.ndarray
    endpoints: Endpoints
    routes: dict[str, np.ndarray]


def study(scores: np.ndarray, tasks: tuple[str, ...], routers: str) -> Seen:
    """Attack one benchmark; routers are kept per item as `(budgets, trials)`."""
    benchmark = Benchmark.from_scores(
        scores, models=MODELS, items=[f"i{i:02d}" for i in range(ITEMS)], tasks=tasks
    )
    options = {"trials": 6, "budgets": [1, 2, 9, 33], "resamples": 2, "routers": routers}
    evaluator = Evaluator(benchmark, resolve(options, Protocol()))
    (outcome,), found, _ = final_routes(evaluator)
    routes = {(trial, benchmark.items[item]): route for (_, trial, item), route in found.items()}
    sides = evaluator.split(np.arange(6))
    public = evaluator.tally(sides).board.reused
    return Seen(public, sides.reused, outcome.endpoints, routes)


def same_routers(before: Seen, after: Seen, trial: int) -> int:
    """Compare the routers of a trial item by item; how many items could be compared."""
    assert np.array_equal(before.public[trial], after.public[trial])
    for side in ("a", "b", "eligible"):
        assert getattr(before.endpoints, side)[trial] == getattr(after.endpoints, side)[trial]
    # An item where the endpoints agree in every trial has no slot, and no sign to compare.
    both = [key for key in before.routes.keys() & after.routes.keys() if key[0] == trial]
    for key in both:
        assert np.array_equal(before.routes[key], after.routes[key])
    return len(both)


@pytest.mark.parametrize("routers", ["hash", "prng"])
@pytest.mark.parametrize("seed", range(5))
def test_held_out_scores_do_not_reach_the_router(seed, routers):
    """In every trial: change held-out scores only, and its routers stay."""
    rng = np.random.default_rng(seed)
    scores, tasks = world(rng)
    before = study(scores, tasks, routers)
    order = np.argsort([f"{t}{i:02d}" for i, t in enumerate(tasks)])
    compared = 0
    for trial in np.flatnonzero(before.endpoints.eligible)[:3]:
        heldout = np.zeros(ITEMS, dtype=bool)
        heldout[order] = ~before.reused[trial]
        changed = scores.copy()
        changed[:, heldout] = rng.integers(0, 2, (len(MODELS), heldout.sum()))
        compared += same_routers(before, study(changed, tasks, routers), trial)
    assert compared >= 5


@pytest.mark.parametrize("routers", ["hash", "prng"])
@pytest.mark.parametrize("seed", range(5))
def test_equal_public_numbers_equal_routers(seed, routers):
    """Other item scores behind the same profiles and the same feedback: the same routers.

    On reused items where both endpoints fail and items where both succeed, the two are swapped,
    and the other models' scores are shuffled within a task: every released number stays.
    """
    rng = np.random.default_rng(100 + seed)
    scores, tasks = world(rng)
    before = study(scores, tasks, routers)
    order = np.argsort([f"{t}{i:02d}" for i, t in enumerate(tasks)])
    pairs = before.endpoints
    compared = 0
    for trial in np.flatnonzero(pairs.eligible)[:2]:
        reused = np.zeros(ITEMS, dtype=bool)
        reused[order] = before.reused[trial]
        a, b = pairs.a[trial], pairs.b[trial]
        changed = scores.copy()
        for task in set(tasks):
            members = np.flatnonzero(reused & (np.array(tasks) == task))
            solved = [i for i in members if scores[a, i] == 1 and scores[b, i] == 1]
            failed = [i for i in members if scores[a, i] == 0 and scores[b, i] == 0]
            for i, j in zip(solved, failed, strict=False):
                changed[[a, b], i], changed[[a, b], j] = 0, 1
            for model in range(len(MODELS)):
                if model not in (a, b):
                    changed[model, members] = rng.permutation(changed[model, members])
        changed[:, ~reused] = rng.integers(0, 2, (len(MODELS), (~reused).sum()))
        assert not np.array_equal(changed, scores)
        compared += same_routers(before, study(changed, tasks, routers), trial)
    assert compared >= 5
