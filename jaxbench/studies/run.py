"""Run the shards of a sweep that are missing, several cells in one stream."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pandas as pd
import pyarrow as pa

from jaxbench.engine import Cell, ChunkOutcome, Runner, Work, chunked
from jaxbench.engine.tables import trial_table
from jaxbench.store import Shard, Store
from jaxbench.studies.cells import CellPlan, SweepPlan
from jaxbench.studies.shards import sum_shard, trial_shard
from jaxbench.studies.truth import add_truth
from jaxbench.synthetic import World

# Called with a shard that was written, its cell, and the trials in it (times conditions).
Told = Callable[[Shard, CellPlan, int], None]


@dataclass
class _Open:
    """A cell that is running: its shards that are wanted, and what has come of the first."""

    plan: CellPlan
    cell: Cell
    world: World | None
    shards: list[Shard]
    tables: list[tuple[int, int, pd.DataFrame]] = field(default_factory=list)
    outcomes: int = 0


def run_cells(
    plan: SweepPlan,
    shards: Store,
    *,
    runner: Runner | None = None,
    host_bytes: int | None = None,
    told: Told | None = None,
) -> None:
    """Compute every shard that is missing and write it; what is there is left alone.

    **Arguments:** `shards`: the store, held exclusively; `runner`, `host_bytes`: how memory is
    used (no outcome depends on it); `told`: hears of every shard that was written.
    """
    missing = set(shards.missing(list(plan.shards)))
    wanted = {cell.key: [s for s in cell.group(1).shards() if s in missing] for cell in plan.cells}
    queue: list[_Open] = []

    def work() -> Iterator[Work]:
        for cell_plan, cell, world in plan.open([c for c in plan.cells if wanted[c.key]]):
            opened = _Open(cell_plan, cell, world, wanted[cell_plan.key])
            queue.append(opened)
            for shard in list(opened.shards):
                yield from chunked(cell, shard.first, shard.last + 1, host_bytes)

    for outcome in (runner or Runner()).run(work()):
        opened = queue[0]
        assert outcome.cell is opened.cell
        shard = opened.shards[0]
        opened.tables.append(_table(opened, outcome))
        opened.outcomes += len(outcome.trials)
        request, conditions = opened.plan.request, len(opened.cell.evaluator.conditions)
        if opened.outcomes < shard.trials * conditions * request.banks:
            continue
        shards.write(shard, _shard(opened, shard))
        if told:
            told(shard, opened.plan, shard.trials * len(opened.plan.rows))
        opened.shards.pop(0)
        opened.tables, opened.outcomes = [], 0
        if not opened.shards:
            queue.pop(0)


def _table(opened: _Open, outcome: ChunkOutcome) -> tuple[int, int, pd.DataFrame]:
    frame = trial_table(outcome)
    if opened.world is not None:
        frame = add_truth(frame, outcome, opened.world)
    condition = opened.cell.evaluator.conditions.index(outcome.condition)
    return condition, outcome.bank, frame


def _shard(opened: _Open, shard: Shard) -> pa.Table:
    """The table of a shard; its trials are in order, whatever chunks they came in."""
    of: dict[tuple[int, int], list[pd.DataFrame]] = {}
    for condition, bank, frame in opened.tables:
        of.setdefault((condition, bank), []).append(frame)
    whole = [
        (condition, bank, parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True))
        for (condition, bank), parts in sorted(of.items(), key=lambda entry: entry[0])
    ]
    request = opened.plan.request
    if request.save_trials:
        return trial_shard(whole)
    return sum_shard(
        [
            (condition, bank, opened.plan.part(bank, frame, shard.first, shard.last))
            for condition, bank, frame in whole
        ]
    )
