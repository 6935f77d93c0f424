"""Cells of several benchmarks in one runner: each gets what it gets alone, bit for bit."""

from collections.abc import Sequence

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, ChunkOutcome, Runner, Work, chunked, kernel
from jaxbench.engine import run as engine_run
from outcomes import cell, cut, request, run, same, whole

BUDGETS = [1, 2, 9]


def world(seed: int, *, size: int = 14, models: int = 5, prompts: bool = True) -> Benchmark:
    """Four tasks of `size` items; every model leads on one, so that endpoints change.

    Two subtasks and two categories to a task (a category has items of all tasks), and some prompts
    on two items of a task.
    """
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(4), size)
    leads = np.arange(models)[:, None] % 4 == names[None, :]
    scores = rng.random((models, 4 * size)) < np.where(leads, 0.8, 0.4)
    asked = np.arange(4 * size)
    if prompts:
        asked[1::size] = asked[0::size]
    return Benchmark.from_scores(
        scores.astype(float),
        models=[f"model {m} of {seed}" for m in range(models)],
        items=[f"{seed} {i:03d}" for i in range(4 * size)],
        tasks=[f"t{t}" for t in names],
        prompt_hashes=[f"prompt {p:03d} of {seed}" for p in asked],
        subtasks=[f"s{i % 2}" for i in range(4 * size)],
        chances=["1/4" if i % 2 else "0" for i in range(4 * size)],
        categories=[f"c{i // 2 % 2}" for i in range(4 * size)],
        name=f"world {seed}",
    )


# One structure, and nothing else in common: sizes, models, prompts, names.
WORLDS = (world(0), world(1, size=16, models=7), world(2, size=12, prompts=False))
PAIR = (WORLDS[0], WORLDS[2])
FORMS = {
    "counts": {},
    "ticks of fewer items": {
        "precision": 2, "interface": ["task", "aggregate"], "scoring": "equal_task",
        "reused_items": 9,
    },
    # What categories and subtasks are counted out of varies between trials.
    "item categories": {"interface": "category", "precision": 2, "holdout_fraction": "1/2"},
    "subtasks": {"scoring": "chance_normalised", "holdout_fraction": "1/2"},
}  # fmt: skip


@pytest.fixture
def calls(monkeypatch):
    """Rows of every piece of every call of the kernel."""
    made: list[list[int]] = []
    real = engine_run._call

    def counting(pieces, *args):
        made.append([len(here) for _, _, here in pieces])
        return real(pieces, *args)

    monkeypatch.setattr(engine_run, "_call", counting)
    return made


def cells(worlds: Sequence[Benchmark] = PAIR, **options) -> list[Cell]:
    """A cell per benchmark, each with a seed of its own: of two, four trials fill a call of 8."""
    options = {"budgets": BUDGETS, "trials": 4} | options
    return [cell(w, request(seed=seed, **options)) for seed, w in enumerate(worlds)]


def everything(cells: Sequence[Cell]) -> list[Work]:
    return [Work(c, np.arange(c.evaluator.request.trials)) for c in cells]


def as_alone(outcomes: list[ChunkOutcome], cells: Sequence[Cell]) -> None:
    """Every cell's outcomes are those of a run of its own."""
    assert {id(outcome.cell) for outcome in outcomes} == {id(c) for c in cells}
    # One runner, so that what runs alone shares its programs; only neighbours share calls.
    alone = Runner()
    for c in cells:
        mine = [outcome for outcome in outcomes if outcome.cell is c]
        assert any(outcome.endpoints.eligible.any() for outcome in mine)
        same(whole(mine), whole(alone.run(everything([Cell(c.evaluator)]))))


@pytest.mark.parametrize("form", FORMS)
def test_cells_of_one_structure_share_a_call_and_nothing_else(calls, form):
    some = cells(**FORMS[form])
    outcomes = list(Runner().run(everything(some)))
    assert calls == [[4, 4]]
    as_alone(outcomes, some)


def test_whole_chunks_share_calls(calls):
    """A chunk of a bucket of trials leaves no filler in a call, and still has room beside it."""
    some = cells(WORLDS, trials=8)
    work = [w for c in some for w in chunked(c, 0, 8)]
    outcomes = list(Runner().run(work))
    assert calls == [[8, 8, 8]]
    as_alone(outcomes, some)


def test_weights_groups_and_seeds_are_data(calls):
    """Cells that differ in what has no rows of its own until it differs."""
    some = [
        *cells(WORLDS[:1], scoring="equal_task", interface="groups:2"),
        *cells(WORLDS[2:], scoring="mean_win_rate", interface="groups:2:2", group_seed="another"),
    ]
    outcomes = list(Runner().run(everything(some)))
    assert calls == [[4, 4]]
    as_alone(outcomes, some)


@pytest.mark.parametrize("form", ["item categories", "subtasks"])
def test_equal_splits_stay_rows_of_their_own(calls, form):
    """What varies by trial may be the same in two cells: here they differ in endpoints only."""
    some = [
        cell(WORLDS[0], request(budgets=BUDGETS, trials=4, endpoints=rule, **FORMS[form]))
        for rule in ("public_top5", "non_leading")
    ]
    outcomes = list(Runner().run(everything(some)))
    assert calls == [[4, 4]]
    as_alone(outcomes, some)


def test_other_budgets_and_other_ticks_are_other_calls(calls):
    """Budgets and ticks have no rows: the first cell's would be everyone's."""
    some = [
        *cells(WORLDS[:1], budgets=[1, 2, 9]),
        *cells(WORLDS[:1], budgets=[1, 5, 9]),
        *cells(WORLDS[:1], precision=1),
        *cells(WORLDS[:1], precision=3),
    ]
    outcomes = list(Runner().run(everything(some)))
    assert calls == [[8]] * 4  # filled up
    as_alone(outcomes, some)
    budgets = [o.counts_reused for o in outcomes[:2]]
    assert not np.array_equal(*budgets)


@pytest.mark.parametrize("rows", [8, pytest.param(3, marks=pytest.mark.slow)])
def test_pieces_of_any_size_in_any_order(monkeypatch, calls, rows):
    """Interleaved, of one trial or of four, with filler, and cut anew by the calls."""
    some = cells([WORLDS[0], WORLDS[2], world(6)], trials=5)
    pieces = [
        Work(some[0], np.arange(4)),
        Work(some[1], np.arange(1)),
        Work(some[2], np.array([0, 1, 2, 2]), padding=1),
        Work(some[1], np.arange(1, 5)),
        Work(some[0], np.array([4])),
        Work(some[2], np.array([3, 4, 4, 4]), padding=2),
    ]
    expected = [(id(w.cell), w.trials[: len(w.trials) - w.padding].tolist()) for w in pieces]
    cut(monkeypatch, chunk=100, call=rows)
    outcomes = list(Runner().run(pieces))
    assert [(id(o.cell), o.trials.tolist()) for o in outcomes] == expected
    assert {sum(call) for call in calls} == {rows}
    # 4 and 1; 4 (one of them filler) and 4; 1 and 4.
    assert rows != 8 or calls == [[4, 4], [4, 4], [1, 7]]
    as_alone(outcomes, some)


def test_structures_and_banks_mixed_in_one_stream():
    """The order of outcomes is the order of work, conditions and banks of a piece together."""
    shared = {"routers": "hash", "trials": 4}
    some = [
        *cells(),
        cell(WORLDS[0], request(budgets=BUDGETS, **shared, banks=2)),
        *cells(WORLDS[:1], **FORMS["ticks of fewer items"]),
        cell(WORLDS[2], request(budgets=BUDGETS, **shared, routing_seed="r")),
        *cells(WORLDS[2:], **FORMS["ticks of fewer items"]),
        *cells(WORLDS[2:]),
    ]
    work = everything(some)
    outcomes = list(Runner().run(work))
    expected = [
        (id(w.cell), bank, condition)
        for w in work
        for bank in range(w.cell.evaluator.request.banks)
        for condition in w.cell.evaluator.conditions
    ]
    assert [(id(o.cell), o.bank, o.condition) for o in outcomes] == expected
    as_alone(outcomes, some)


def test_a_structure_is_one_program_per_frame():
    """Seeds, endpoints, benchmarks and budgets of one number and end are data."""
    runner, traced = Runner(), kernel.attack_rows._cache_size
    # A number of budgets that no other test takes.
    variants = [
        {"budgets": [1, 2, 3, 4, 9]},
        {"budgets": [1, 3, 4, 5, 9]},
        {"budgets": [1, 2, 3, 4, 9], "endpoints": "public_top5"},
        {"budgets": [1, 2, 3, 4, 9], "endpoint_view": "tasks"},
    ]
    before, frames = traced(), set()
    for worlds in (PAIR, PAIR[::-1]):
        for options in variants:
            list(runner.run(everything(cells(worlds, **options))))
            frames.add(tuple(*(frame.sizes for frame in runner._frames.values())))
    # Endpoints that differ on more items make it grow now and then, not every time.
    assert 1 <= len(frames) <= 3
    assert traced() == before + len(frames)


def test_a_frame_that_grows_midway_changes_nothing(monkeypatch):
    """Slots first for few items, then for more, and the first again."""
    narrow, wide = world(3, size=8), world(4, size=40)
    some = cells([narrow, wide, narrow], budgets=[1, 2, 4, 9])
    runner, traced = Runner(), kernel.attack_rows._cache_size
    with monkeypatch.context() as patch:
        cut(patch, call=8)
        before = traced()
        outcomes = list(runner.run(everything(some)))
        # One program per frame; the small world has room in the large one.
        assert traced() == before + 2
        as_alone(outcomes, some)
    # Grown while a smaller one waits for its call.
    as_alone(list(Runner().run(everything(some))), some)


@pytest.mark.slow
def test_wider_arithmetic_changes_nothing():
    """Votes of the second world need more than float32: whoever runs after it gets it too."""
    fine = world(5)
    rng = np.random.default_rng(0)
    fine = Benchmark.from_scores(
        rng.integers(0, 10**6, (5, 56)) / 10**6, models=fine.models, items=fine.items,
        tasks=fine.item_tasks, name="fine",
    )  # fmt: skip
    some = cells([world(0), fine, world(2)])
    outcomes = list(Runner().run(everything(some)))
    alone = [run(c)[0].arithmetic for c in some]
    assert alone[0] == alone[2] == "float32" != alone[1]
    assert {o.arithmetic for o in outcomes} == {alone[1]}
    as_alone(outcomes, some)


def test_what_waits_for_a_call_is_bounded(calls):
    some = cells(trials=8) + cells(WORLDS[:1], trials=8)
    runner = Runner()
    list(runner.run(everything(some)))
    (frame,) = runner._frames.values()
    shape = engine_run.shape_of(some[0], frame.slots, 1)
    for bound in ({"call_bytes": 23 * shape.row_bytes}, {"host_bytes": 17 * shape.trial_bytes}):
        calls.clear()
        bounded = Runner(**bound, _frames=runner._frames)
        list(bounded.run(everything(some)))
        # The last is filled up to the size of the first, rather than be a program of its own.
        assert calls == [[8, 8], [16]]
