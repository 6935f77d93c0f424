"""Cells of a sweep before they run: their content keys, shards and sizes, and how they open."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import pandas as pd

from jaxbench import metrics, store
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, Condition, Evaluator
from jaxbench.engine.plan import Shape, block
from jaxbench.options import AttackRequest, WorldSpec
from jaxbench.options.attack import as_options
from jaxbench.options.study import Study
from jaxbench.stats.bootstrap import block_edges
from jaxbench.studies.code import code_digest
from jaxbench.studies.truth import COLUMNS as TRUTH
from jaxbench.synthetic import World, draw_worlds
from jaxbench.synthetic.worlds import CALL_BYTES, PER_SCORE

# Rows of a shard's table, and trials at most: a shard is what a kill can lose.
SHARD_ROWS = 200_000
SHARD_TRIALS = 10_000
# Worlds that are drawn and held at a time, and bytes of their scores (one world may have more).
WORLDS_TOGETHER, WORLDS_BYTES = 64, 32 * 2**20
# What a summary depends on and a trial does not.
OF_SUMMARY = ("resamples", "bootstrap_seed")


class Row(NamedTuple):
    """A condition of the study: which request of its cell it is, and how it is summarised.

    `varied` holds the values of what the study varies.
    """

    request: int
    varied: dict[str, object]
    resamples: int
    bootstrap_seed: int


@dataclass(frozen=True, eq=False)
class CellPlan:
    """A cell before it runs.

    `requests` stand in an order of their own, whatever the order of the study. `benchmark` is None
    for a world, which is drawn when its turn comes.
    """

    name: str
    requests: tuple[AttackRequest, ...]
    rows: tuple[Row, ...]
    benchmark: Benchmark | None
    world: WorldSpec | None

    @property
    def request(self) -> AttackRequest:
        """What all requests of the cell share (all but `VARIED`)."""
        return self.requests[0]

    @cached_property
    def key(self) -> str:
        """The content key: options, data and code; what only the summary depends on is left out."""
        options = [key_options(request) for request in self.requests]
        if self.benchmark is None:
            data: object = self.world.as_options() if self.world else None
        else:
            data = [self.benchmark.name, self.benchmark.digest()]
        return store.content_key(options, data, code_digest())

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """First and last trial of every shard: they depend on the request, never on memory."""
        request = self.request
        rows = len(self.requests) * request.banks * (len(request.budgets) + 1)
        together = min(SHARD_TRIALS, max(1, SHARD_ROWS // rows))
        # Few trials make one shard each; many make shards of whole hundreds.
        if together > 100:
            together -= together % 100
        firsts = range(0, request.trials, together)
        return tuple((first, min(first + together, request.trials) - 1) for first in firsts)

    def shape(self) -> Shape:
        """The sizes that memory depends on, at most: all items differ, no conditions share a view.

        Not even the benchmark of a world is needed.
        """
        request = self.request
        by_task = request.endpoint_view == "tasks"
        conditions = {
            Condition.of(asked, rule, interface)
            for asked in self.requests
            for interface in asked.interface
            for rule in asked.endpoints
        }
        views = {
            (c.rule, None if by_task else (c.channel_key or c.interface), c.precision,
             c.reused_items, c.extra_overall)
            for c in conditions
        }  # fmt: skip
        if self.benchmark is not None:
            found = self.benchmark
            models, items = len(found.models), len(found.items)
            none = ("",) * items
            units = len(
                set(zip(found.task_index.tolist(), found.subtasks or none,
                        found.categories or none, strict=True))
            )  # fmt: skip
        else:
            assert self.world is not None
            models, items, units = self.world.models, self.world.items, self.world.tasks
        fresh = request.routers == "prng"
        return Shape(
            slots=items,
            units=units,
            budgets=len({1, *request.budgets}),
            conditions=len(conditions),
            views=len(views),
            items=items,
            models=models,
            block=block(jax.default_backend(), fresh=fresh),
            fresh=fresh,
            backend=jax.default_backend(),
            reduced=request.simulator == "reduced",
        )

    def empty_summary(self, bank: int) -> metrics.Summary:
        """A summary of one condition under a bank, with nothing in it; only bank 0 is resampled."""
        budgets = (0, *self.request.budgets)
        return metrics.Summary(
            self.request.trials, budgets, metrics=self.metrics, means_only=bank > 0
        )

    def part(self, bank: int, frame: pd.DataFrame, first: int, last: int) -> metrics.Part:
        """What the trials of one shard add to a summary.

        A summary is made of parts whether trials are saved or not, so that both give the same bits.
        """
        summary = self.empty_summary(bank)
        summary.add(frame)
        return summary.part(first, last)

    def table_rows(self) -> int:
        """Rows of the largest table of trials that is written at once."""
        request = self.request
        trials = max(last - first + 1 for first, last in self.ranges)
        return trials * len(self.requests) * request.banks * (len(request.budgets) + 1)

    def summary_bytes(self) -> int:
        """What its summaries hold: sums and counts per row that is resampled, and the resamples."""
        request = self.request
        rows = len(block_edges(request.trials))
        conditions = len(self.requests) * len(request.interface) * len(request.endpoints)
        columns = (len(request.budgets) + 1) * len(self.metrics)
        most = max(row.resamples for row in self.rows)
        return columns * (16 * conditions * (rows + request.banks) + 4 * 8 * most)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of its tables: those of an attack, and the truth that only a world has."""
        return metrics.METRICS if self.world is None else (*metrics.METRICS, *TRUTH)

    def group(self, conditions: int) -> store.Group:
        """The cell in the plan of its sweep."""
        return store.Group(self.key, self.name, conditions, self.ranges)


@dataclass(frozen=True)
class SweepPlan:
    """All cells of a study, those of one shape side by side.

    `skipped` names conditions that are left out, `notes` figures.
    """

    study: Study
    cells: tuple[CellPlan, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """The content key of all results: shards, what each row is called, tables, figures."""
        rows = [[cell.key, [repr(row) for row in cell.rows]] for cell in self.cells]
        shown = [repr(figure) for figure in self.study.figures]
        tables = [repr(self.study.contraction), repr(self.study.table)]
        return store.content_key(rows, shown, tables)

    @cached_property
    def shards(self) -> store.Plan:
        """The shards of all cells."""
        groups = tuple(cell.group(len(cell.rows)) for cell in self.cells)
        return store.Plan(self.study.name, self.study.size, groups)

    def open(self, wanted: Sequence[CellPlan]) -> Iterator[tuple[CellPlan, Cell, World | None]]:
        """Cells that can run, in order; worlds are drawn some at a time."""
        held: list[CellPlan] = []
        for plan in wanted:
            if plan.world is not None:
                full = world_bytes([*held, plan]) > WORLDS_BYTES or len(held) == WORLDS_TOGETHER
                if not full:
                    held.append(plan)
                    continue
            yield from _drawn(held)
            held = [] if plan.world is None else [plan]
            if plan.benchmark is not None:
                yield plan, Cell(Evaluator(plan.benchmark, *plan.requests)), None
        yield from _drawn(held)


def conditions_of(plan: CellPlan, evaluator: Evaluator) -> list[tuple[Condition, Row]]:
    """The engine's conditions behind every row of a cell."""
    found = []
    for row in plan.rows:
        found += [(c, row) for c in evaluator.conditions_of(plan.requests[row.request])]
    return found


def key_options(request: AttackRequest) -> dict[str, object]:
    """Every option of a request that a trial depends on, as plain values."""
    options = {k: v for k, v in as_options(request).items() if k not in OF_SUMMARY}
    # Whether rules were asked for decides which they are where one number is seen.
    return options | {"endpoints_given": request.endpoints_given}


def worlds_held(cells: Sequence[CellPlan]) -> int:
    """Bytes of the worlds that are held at a time, and of drawing some of them."""
    worlds = [cell for cell in cells if cell.world is not None]
    whole, largest = world_bytes(worlds), max((world_bytes([w]) for w in worlds), default=0)
    drawn = PER_SCORE // 8
    return min(whole, max(WORLDS_BYTES, largest)) + min(
        drawn * whole, max(CALL_BYTES, drawn * largest)
    )


def world_bytes(cells: Sequence[CellPlan]) -> int:
    """Bytes of the scores of all worlds among some cells."""
    return sum(8 * c.world.models * c.world.items for c in cells if c.world is not None)


def _drawn(plans: list[CellPlan]) -> Iterator[tuple[CellPlan, Cell, World | None]]:
    specs = [plan.world for plan in plans if plan.world is not None]
    for plan, world in zip(plans, draw_worlds(specs), strict=True):
        yield plan, Cell(Evaluator(world.benchmark, *plan.requests)), world
