"""How a run stays within a limit on memory: what is left for calls and chunks, or what is missing.

A process holds libraries and compiled programs whatever it runs, so a limit is for the whole
process, as a cluster counts it. What is left is shared between the arrays of a kernel call and the
host's chunk of trials; both are cut until they fit, and no outcome changes.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from jaxbench.engine.plan import Shape
from jaxbench.errors import BadRequest
from jaxbench.shapes import bucket

MB = 10**6
# Compiling, the programs themselves, and the bootstrap of a summary (measured: 225 MB for the
# first program, 60 MB for resampling).
RESERVE = 420 * MB
# Where the system does not say how much this process holds: jax, pandas and matplotlib loaded.
USUALLY_RESIDENT = 320 * MB
# Trials of the smallest call and chunk.
LEAST = bucket(1)
# The host holds copies while tables are made and written.
COPIES = 4


@dataclass(frozen=True)
class MemoryPlan:
    """A limit, what the process holds before it runs, and what calls and chunks may take."""

    limit: int
    resident: int
    call_bytes: int
    host_bytes: int


def resident() -> int:
    """Bytes of memory that this process holds."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return USUALLY_RESIDENT if sys.platform != "linux" else 0


def plan_memory(
    limit: int,
    shapes: Iterable[Shape],
    held: int,
    rows: int,
    *,
    after: int = 0,
    workers: int = 1,
) -> MemoryPlan:
    """What calls and chunks may take under a limit.

    **Arguments:** `shapes`: of every kind of call; `held`: bytes of banks and benchmarks that are
    held all along; `rows`: of the largest table that is written at once; `after`: bytes of the
    summaries that are made when all trials are done; `workers`: calls that run at a time.

    **Errors:** `BadRequest` where not even the smallest call fits, with the limit that would do.
    """
    least_call = max((LEAST * shape.row_bytes for shape in shapes), default=0)
    least_host = max((LEAST * shape.trial_bytes for shape in shapes), default=0)
    base = resident()
    # 25 columns of a table, in pandas and as it is written.
    tables = COPIES * 25 * 8 * rows
    fixed = base + RESERVE + held + tables
    left = limit - fixed
    # While the outcomes of one chunk are written the calls of the next run.
    least = workers * least_call + 2 * COPIES * least_host
    needed = max(least, after)
    if left < needed:
        # Said so that it is accepted when it is asked for.
        enough = -(-(fixed + needed + 20 * MB) // (10 * MB)) * 10
        own = fixed - base - RESERVE + needed
        raise BadRequest(
            f"memory={_spelled(limit)} is too little for {LEAST} trials at a time: jax and its "
            f"programs take about {_spelled(base + RESERVE)}, this run {_spelled(own)} more; say "
            f"memory={enough}MB, or use fewer budgets, conditions, items or models"
        )
    spare = left - least
    return MemoryPlan(
        limit=limit,
        resident=base,
        call_bytes=least_call + spare // (2 * workers),
        host_bytes=least_host + spare // (4 * COPIES),
    )


def _spelled(number: int) -> str:
    """A number of bytes as the option takes it."""
    return f"{number / 10**9:.2g}GB" if number >= 10**9 else f"{round(number / MB)}MB"
