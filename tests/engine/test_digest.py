"""The events of a small fixed sweep as one number, the same on every device."""

from dataclasses import replace

import numpy as np
import pytest

import jaxbench
from jaxbench.engine import Cell, ChunkOutcome, Evaluator, Runner, Work, chunked, events_digest
from outcomes import cell, cut, request

BUDGETS = [1, 2, 3, 8, 64, 65, 200]
TRIALS = 40
EXPECTED = "573e2375fee9d781141732669330696bd19dfc00efbd84036d4c0d25b443461a"


def sweep() -> list[Cell]:
    """Published and fresh routers: three interfaces, two endpoint rules, two precisions, and fewer
    reused items."""
    benchmark = jaxbench.load("terminal_science")
    cells = []
    for routers in ("hash", "prng"):
        shared = {"routers": routers, "split": routers, "trials": TRIALS, "budgets": BUDGETS}
        interfaces = ["task", "groups:2", "aggregate"]
        rules = {"endpoints": ["top5", "public_top5"], "endpoint_view": "tasks"}
        cells.append(
            cell(
                benchmark,
                request(interface=interfaces, **rules, **shared),
                request(interface=interfaces[:2], precision=2, reused_items=12, **rules, **shared),
            )
        )
    return cells


@pytest.fixture(scope="module")
def outcomes() -> list[ChunkOutcome]:
    cells = sweep()
    return list(Runner().run(work for c in cells for work in chunked(c, 0, TRIALS)))


def test_the_events_are_what_they_were(outcomes):
    assert any(outcome.endpoints.eligible.any() for outcome in outcomes)
    assert events_digest(outcomes) == EXPECTED


def test_order_means_nothing(outcomes):
    assert events_digest(reversed(outcomes)) == EXPECTED


def test_chunks_and_calls_mean_nothing(monkeypatch):
    """Other pieces, in other calls, in another order, of cells made anew."""
    cells = [Cell(Evaluator(c.evaluator.benchmark, *requests_of(c))) for c in sweep()]
    cut(monkeypatch, call=40)
    pieces = [Work(c, np.arange(first, first + 20)) for first in (20, 0) for c in cells]
    assert events_digest(Runner().run(pieces)) == EXPECTED


def requests_of(one: Cell):
    """The same conditions, one request each, last first."""
    base = one.evaluator.request
    return [
        replace(
            base, interface=(c.interface,), endpoints=(c.rule,), precision=c.precision,
            reused_items=c.reused_items,
        )
        for c in reversed(one.evaluator.conditions)
    ]  # fmt: skip


def changed(outcome: ChunkOutcome, part: str, name: str) -> ChunkOutcome:
    """One event of one trial made another."""
    fields = vars(getattr(outcome, part)).copy() if part else vars(outcome).copy()
    values = fields[name].copy()
    values.flat[-1] = ~values.flat[-1] if values.dtype == bool else values.flat[-1] + 1
    fields[name] = values
    if not part:
        return replace(outcome, **{name: values})
    made = type(getattr(outcome, part))(**fields)
    return replace(outcome, **{part: made})


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("", "trials"), ("", "counts_reused"), ("", "counts_heldout"), ("endpoints", "a"),
        ("endpoints", "b"), ("endpoints", "eligible"), ("measured", "winner"),
        ("measured", "selected"), ("measured", "false_winner"), ("measured", "rank_reused"),
        ("measured", "rank_heldout"),
    ],
)  # fmt: skip
def test_every_event_counts(outcomes, part, name):
    other = [*outcomes[:-1], changed(outcomes[-1], part, name)]
    assert events_digest(other) != EXPECTED


def test_a_trial_that_is_missing_or_doubled_shows(outcomes):
    assert events_digest(outcomes[1:]) != EXPECTED
    assert events_digest([*outcomes, outcomes[0]]) != EXPECTED


def test_names_of_conditions_and_banks_count(outcomes):
    last = outcomes[-1]
    for other in (
        replace(last, bank=1),
        replace(last, condition=replace(last.condition, precision=3)),
        replace(last, condition=replace(last.condition, reused_items=13)),
    ):
        assert events_digest([*outcomes[:-1], other]) != EXPECTED


def test_scores_do_not_count(outcomes):
    """Floating-point numbers may differ by device in their last bit."""
    other = [*outcomes[:-1], changed(outcomes[-1], "measured", "score_gap")]
    assert events_digest(other) == EXPECTED
