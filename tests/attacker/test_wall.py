"""The attacker sees public numbers only: equal public numbers, equal routers."""

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark
from jaxbench.engine import kernel, run
from jaxbench.options import Protocol, resolve

MODELS = tuple("abcd")
ITEMS = 24


def world(rng: np.random.Generator) -> tuple[np.ndarray, tuple[str, ...]]:
    scores = rng.integers(0, 2, (len(MODELS), ITEMS)).astype(float)
    return scores, tuple(f"task {i % 3}" for i in range(ITEMS))


def study(scores: np.ndarray, tasks: tuple[str, ...]) -> tuple[run.Study, dict]:
    """The study of one benchmark, and the final routers of its attack per trial, budget, item."""
    benchmark = Benchmark.from_scores(
        scores, models=MODELS, items=[f"i{i:02d}" for i in range(ITEMS)], tasks=tasks
    )
    request = resolve({"trials": 6, "budgets": [1, 2, 9, 33], "resamples": 2}, Protocol())
    made = run.Study(benchmark, request)
    kept = {}
    with pytest.MonkeyPatch.context() as patch:
        real = kernel.attack_rows

        def keeping(rows, *args, **static):
            outcomes = real(rows, *args, **static, keep_routes=True)
            kept["routes"] = np.asarray(outcomes.routes)
            return outcomes

        patch.setattr(kernel, "attack_rows", keeping)
        list(run.run_attack(benchmark, request))
    routes = {}
    for slot, item in enumerate(made.layout.items):
        if item >= 0:
            routes[benchmark.items[item]] = kept["routes"][:, :, slot]
    return made, routes


@pytest.mark.parametrize("seed", range(5))
def test_held_out_scores_do_not_reach_the_router(seed):
    """In every trial: change held-out scores only, and its routers stay."""
    rng = np.random.default_rng(seed)
    scores, tasks = world(rng)
    before, routes = study(scores, tasks)
    order = np.argsort([f"{t}{i:02d}" for i, t in enumerate(tasks)])
    for trial in range(6):
        if not before.endpoints["top5"].eligible[trial]:
            continue
        heldout = np.zeros(ITEMS, dtype=bool)
        heldout[order] = ~before.reused[trial]
        changed = scores.copy()
        changed[:, heldout] = rng.integers(0, 2, (len(MODELS), heldout.sum()))
        after, routes_after = study(changed, tasks)
        assert np.array_equal(before.board.reused[trial], after.board.reused[trial])
        assert after.endpoints["top5"].a[trial] == before.endpoints["top5"].a[trial]
        compared = 0
        # Items where the endpoints agree need no slot in one of the two: no sign to compare.
        for item in routes.keys() & routes_after.keys():
            assert np.array_equal(routes[item][:, trial], routes_after[item][:, trial])
            compared += 1
        assert compared >= 5


@pytest.mark.parametrize("seed", range(5))
def test_equal_public_numbers_equal_routers(seed):
    """Other item scores behind the same profiles and the same feedback: the same routers.

    On reused items where both endpoints fail and items where both succeed, the two are swapped,
    and the other models' scores are shuffled within a task: every released number stays.
    """
    rng = np.random.default_rng(100 + seed)
    scores, tasks = world(rng)
    before, routes = study(scores, tasks)
    order = np.argsort([f"{t}{i:02d}" for i, t in enumerate(tasks)])
    pairs = before.endpoints["top5"]
    swapped = 0
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
                swapped += 1
            for model in range(len(MODELS)):
                if model not in (a, b):
                    changed[model, members] = rng.permutation(changed[model, members])
        changed[:, ~reused] = rng.integers(0, 2, (len(MODELS), (~reused).sum()))
        assert not np.array_equal(changed, scores)
        after, routes_after = study(changed, tasks)
        assert np.array_equal(before.board.reused[trial], after.board.reused[trial])
        shared_items = routes.keys() & routes_after.keys()
        assert len(shared_items) >= 5
        for item in shared_items:
            assert np.array_equal(routes[item][:, trial], routes_after[item][:, trial])
    assert pairs.eligible.any()
