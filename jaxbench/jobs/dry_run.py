"""What a run would do: its programs, chunks and bytes, and the time it would take."""

import time

from jaxbench.engine import Runner, Work
from jaxbench.engine.memory import MemoryPlan
from jaxbench.engine.plan import Shape
from jaxbench.engine.programs import Program, Programs
from jaxbench.engine.run import chunked
from jaxbench.errors import counted
from jaxbench.studies import CellPlan, SweepPlan

# Programs that are compiled and timed; the others are taken to be like the nearest of them.
MOST_TIMED = 4
# Trials of a calibration.
CALIBRATION = 256


def dry_run(plan: SweepPlan, memory: MemoryPlan) -> tuple[list[dict[str, object]], list[str]]:
    """One line per kind of cell, and what they add up to.

    The first few kinds are compiled and run for a moment, which gives their true memory and
    speed; cells of one kind have the same sizes at most.
    """
    kinds: dict[tuple[Shape, tuple[int, ...]], list[CellPlan]] = {}
    for cell in plan.cells:
        kinds.setdefault((cell.shape(), cell.request.budgets), []).append(cell)
    found, seconds, timed = [], 0.0, []
    for (shape, _), cells in kinds.items():
        trials = sum(cell.request.trials * cell.request.banks for cell in cells)
        if len(timed) < MOST_TIMED:
            per_trial, program, chunk = _calibrate(plan, cells[0], memory)
            timed.append((shape.row_bytes, per_trial, program, chunk))
            own = True
        else:
            own = False
        # What was not timed is taken to cost by the bytes of a row.
        bytes_, per_trial, program, chunk = timed[-1]
        if not own:
            per_trial *= shape.row_bytes / bytes_
        seconds += per_trial * trials + (program.seconds if own else timed[-1][2].seconds)
        found.append(
            {
                "cells": _named(cells),
                "cond.": shape.conditions,
                "trials": f"{cells[0].request.trials:,}",
                "slots": f"{program.slots}" if own else f"<={shape.slots}",
                "chunk": f"{chunk:,}",
                "rows": program.rows if own else "",
                "MB": round(program.bytes / 1e6, 1) if own else "",
                "s": f"{per_trial * trials:.1f}",
            }
        )
    shards = len(list(plan.shards))
    notes = [
        f"memory: limit {memory.limit / 1e9:.1f} GB; the process holds "
        f"{memory.resident / 1e9:.2f} GB, a call may take {memory.call_bytes / 1e9:.2f} GB",
        f"{counted(len(kinds), 'program')}, {counted(shards, 'shard')}, "
        f"{plan.shards.trials:,} trials (times conditions); about {_spelled(seconds)} on this "
        "machine",
    ]
    if any(cell.world for cell in plan.cells):
        notes.append("worlds are models x items x tasks")
    return found, notes


def _named(cells: list[CellPlan]) -> str:
    """What cells of one kind are, in a few words."""
    world = cells[0].world
    if world is None:
        name = cells[0].name
        return f"{len(cells)} x {name}"[:24] if len(cells) > 1 else name[:24]
    return f"{len(cells):,} x {world.models}x{world.items}x{world.tasks}"


def _calibrate(plan: SweepPlan, cell: CellPlan, memory: MemoryPlan) -> tuple[float, Program, int]:
    """Seconds per trial and bank of a cell, its program, and trials of a chunk."""
    programs: list[Program] = []
    runner = Runner(memory.call_bytes, memory.host_bytes, Programs(programs.append))
    trials = min(cell.request.trials, CALIBRATION)
    ((_, opened, _),) = plan.open([cell])
    whole = next(iter(chunked(opened, 0, cell.ranges[0][1] + 1, memory.host_bytes)))

    def once() -> float:
        start = time.perf_counter()
        pieces: list[Work] = list(chunked(opened, 0, trials, memory.host_bytes))
        for _ in runner.run(pieces):
            pass
        return time.perf_counter() - start

    once()
    return once() / (trials * cell.request.banks), programs[-1], len(whole.trials)


def _spelled(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
