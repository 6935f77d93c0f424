"""Conditions that run together are what each is alone, bit for bit, and what the oracle says."""

from itertools import pairwise

import numpy as np
import pytest

import fresh
from comparing import compare
from jaxbench import metrics
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, ChunkOutcome, Evaluator, Runner, chunked, kernel
from jaxbench.options import AttackRequest
from oracle.attack import run_trial
from outcomes import cell, cut, request, run, same, whole
from worlds import World

# Around the ends of a block of fresh candidates (64) and of shared ones (128, after one blank).
EDGES = [1, 2, 63, 64, 65, 66, 127, 128, 129]
RULES = ["top5", "non_leading", "public_top5"]


def world(seed: int = 0, *, models: int = 8) -> World:
    """Three tasks of 9 to 15 items, categories across them, prompts on two or three items."""
    rng = np.random.default_rng(seed)
    task = np.repeat([0, 1, 2], [9, 12, 15])
    leads = np.arange(models)[:, None] % 3 == task[None, :]
    rows = rng.binomial(2, np.where(leads, 0.75, 0.45))
    prompts = [f"p{p:02d}" for p in rng.permutation(36)]
    for first, others in ((0, [1]), (9, [11, 13]), (21, [30])):
        for other in others:
            prompts[other] = prompts[first]
    return World(
        tuple(map(tuple, rows.tolist())), 2, tuple(f"task {t}" for t in task), tuple(prompts),
        tuple(f"category {i % 2}" for i in range(36)),
    )  # fmt: skip


BENCHMARK = world().benchmark()


def several(**shared) -> list[AttackRequest]:
    """Requests that differ in what one evaluator serves together: interfaces, rules, ticks, items.

    Of three forms, so that each alone is one of three programs.
    """
    shared = {"budgets": EDGES, "holdout_fraction": "1/2"} | shared
    return [
        request(interface="task", endpoints=RULES, **shared),
        request(interface="task", endpoints=RULES[:1], reused_items=9, **shared),
        request(interface="category", precision=2, endpoints=RULES[:2], **shared),
        request(interface="aggregate", precision=2, endpoints=RULES[::2], **shared),
        request(interface="category", precision=1, endpoints=RULES[1], reused_items=13, **shared),
        request(interface="aggregate", precision=2, endpoints=RULES[2], reused_items=9, **shared),
    ]


def few(**shared) -> list[AttackRequest]:
    """As many as it takes for views to be shared, and to part."""
    shared = {"budgets": [1, 2, 66], "holdout_fraction": "1/2"} | shared
    return [
        request(interface="task", endpoints=RULES, **shared),
        request(interface="aggregate", precision=2, endpoints=RULES[1:], reused_items=9, **shared),
    ]


def alone(benchmark: Benchmark, requests: list[AttackRequest]) -> dict:
    """Every condition in an evaluator of its own; programs are shared where they are alike."""
    found, runner = {}, Runner()
    for together in requests:
        for interface in together.interface:
            for rule in together.endpoints:
                size = together.reused_items
                mine = request(
                    interface=interface, endpoints=rule, budgets=list(together.budgets),
                    precision="exact" if together.precision is None else together.precision,
                    reused_items="all" if size is None else size, seed=together.seed,
                    routers=together.routers, split=together.split, scoring=together.scoring,
                    holdout_fraction=str(together.holdout_fraction), trials=together.trials,
                    endpoint_view=together.endpoint_view,
                )  # fmt: skip
                found |= whole(run(cell(benchmark, mine), runner))
    return found


def pairs(found: dict) -> set[bytes]:
    """The endpoints of all trials, per condition, as many as there are."""
    return {fields["endpoints.a"].tobytes() + fields["endpoints.b"].tobytes()
            for fields in found.values()}  # fmt: skip


CASES = {
    "fresh, frozen endpoints": {"endpoint_view": "tasks"},
}
MORE = {
    "hashed": {"routers": "hash", "split": "hash"},
    "fresh": {"scoring": "equal_task"},
    "hashed, fresh splits, frozen endpoints": {
        "routers": "hash", "split": "prng", "endpoint_view": "tasks", "seed": 2**40,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "case", [*CASES, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)]
)
def test_together_is_alone(case):
    requests = several(**(CASES | MORE)[case])
    one = cell(BENCHMARK, *requests)
    before = kernel.attack_rows._cache_size()
    found = whole(run(one))
    assert kernel.attack_rows._cache_size() == before + 1
    same(found, alone(BENCHMARK, requests))
    # It is no accident: conditions differ in endpoints, items and outcomes, and share views.
    assert len(found) == 10
    assert all(fields["endpoints.eligible"].any() for fields in found.values())
    assert len(pairs(found)) > 1
    assert len({fields["counts_reused"].tobytes() for fields in found.values()}) > 5
    if "frozen" in case:
        assert len(one.chunk(np.arange(8)).views) < 10


@pytest.fixture(scope="module")
def together() -> tuple[list[AttackRequest], dict]:
    """Requests and what one call on one chunk finds."""
    requests = few()
    return requests, whole(run(cell(BENCHMARK, *requests)))


def test_views_that_part_between_chunks(monkeypatch):
    """Endpoints that were equal so far differ in a later chunk: the partition gets finer."""
    benchmark, requests = world(2, models=4).benchmark(), few(endpoint_view="tasks")
    expected = whole(run(cell(benchmark, *requests)))
    one, seen, chunks = cell(benchmark, *requests), [], []
    real = one.chunk

    def watched(trials, conditions=None):
        chunks.append(real(trials, conditions))
        seen.append(chunks[-1].view_of)
        return chunks[-1]

    monkeypatch.setattr(one, "chunk", watched)
    cut(monkeypatch, chunk=1, call=8)
    same(whole(run(one)), expected)
    assert seen[0] == (0, 1, 0, 2, 3)
    assert seen[-1] == (0, 1, 2, 3, 4)
    for before, after in pairwise(seen):
        # What was told apart stays apart.
        assert all(before[i] == before[j] for i in range(5) for j in range(i)
                   if after[i] == after[j])  # fmt: skip
    # Within a view all conditions have one pair in every trial.
    for chunk in chunks:
        for c, view in enumerate(chunk.view_of):
            pair = chunk.endpoints[c]
            assert np.array_equal(chunk.pairs[:, view, 0], pair.a)
            assert np.array_equal(chunk.pairs[:, view, 1], pair.b)


@pytest.mark.parametrize(
    ("chunk", "call"), [(3, 8), (8, 3), pytest.param(5, 2, marks=pytest.mark.slow)]
)
def test_chunks_and_calls_of_any_size(monkeypatch, together, chunk, call):
    requests, expected = together
    # Both ends are filled up: chunks of 3, 3 and 2, calls of 3, 3 and 2.
    cut(monkeypatch, chunk=chunk, call=call)
    same(whole(run(cell(BENCHMARK, *requests))), expected)


def test_the_order_of_requests_means_nothing(together):
    requests, expected = together
    same(whole(run(cell(BENCHMARK, *reversed(requests)))), expected)


def test_a_condition_asked_for_twice_is_one(together):
    requests, expected = together
    one = Evaluator(BENCHMARK, *requests, *requests[::-1])
    assert one.conditions == Evaluator(BENCHMARK, *requests).conditions
    assert len(one.conditions) == len(expected)


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"budgets": [1, 3]}, {"endpoint_view": "tasks"}, {"trials": 9},
              {"scoring": "equal_task"}, {"holdout_fraction": "1/3"}, {"group_seed": "x"}],
)  # fmt: skip
def test_requests_that_share_no_trials_are_refused(other):
    """They would all get the first one's."""
    shared = {"budgets": [1, 2], "interface": "groups:2"}
    with pytest.raises(ValueError, match=next(iter(other))):
        Evaluator(BENCHMARK, request(**shared), request(**shared | other))


def table(outcome: ChunkOutcome):
    evaluator, pair = outcome.cell.evaluator, outcome.endpoints
    return metrics.trial_table(
        outcome.measured, outcome.router, models=evaluator.benchmark.models,
        budgets=evaluator.budgets, keep=evaluator.request.budgets, endpoints=(pair.a, pair.b),
        eligible=pair.eligible, trial=outcome.trials,
    )  # fmt: skip


@pytest.mark.parametrize("view", ["tasks", pytest.param("released", marks=pytest.mark.slow)])
def test_conditions_are_the_oracles(view):
    """All of them from one pass, against a trial at a time."""
    one_world, budgets = world(1), [1, 2, 66]
    requests = several(budgets=budgets, endpoint_view=view, trials=3, seed=7)
    bench = one_world.oracle()
    drawn = []
    for trial in range(3):
        reused = fresh.split(bench, 7, trial, requests[0].holdout_fraction)
        drawn.append((reused, fresh.signs(bench, 7, trial, 65), fresh.ties(bench, 7, trial)))
    eligible = 0
    for outcome in run(Cell(Evaluator(one_world.benchmark(), *requests))):
        condition, rows = outcome.condition, []
        for trial, (reused, signs, ties) in enumerate(drawn):
            kept = None
            if condition.reused_items is not None:
                kept = fresh.kept(bench, reused, 7, trial, condition.reused_items)
            rows += run_trial(
                bench, trial=trial, budgets=budgets, rule=condition.rule, reused=reused,
                signs=signs, ties=ties, precision=condition.precision,
                interface=condition.interface, endpoint_view=view, kept=kept,
            )  # fmt: skip
        compare(table(outcome), rows)
        eligible += int(outcome.endpoints.eligible.sum())
    assert eligible > 15


def test_work_is_cut_for_all_conditions():
    """A chunk has every condition's outcomes, in the order of the conditions."""
    one = cell(BENCHMARK, *few(trials=11))
    outcomes = list(Runner().run(chunked(one, 3, 11)))
    assert [o.condition for o in outcomes] == list(one.evaluator.conditions)
    assert all(o.trials.tolist() == list(range(3, 11)) for o in outcomes)
