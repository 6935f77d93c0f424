"""A sweep from Python: what `jaxbench.sweep` runs and returns."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from jaxbench import report
from jaxbench.engine import Runner, Stopwatch
from jaxbench.engine.memory import MemoryPlan, plan_memory
from jaxbench.engine.plan import workers
from jaxbench.engine.programs import Program, Programs
from jaxbench.errors import unknown
from jaxbench.jobs.opening import open_benchmark
from jaxbench.jobs.progress import Report
from jaxbench.machine import process_limit
from jaxbench.named.catalogue import catalogue
from jaxbench.named.places import BUNDLED, CACHED, OFFLINE, state
from jaxbench.options import parse
from jaxbench.options.figure import FigureSpec
from jaxbench.options.study import Study, read_study
from jaxbench.options.sweep import overrides
from jaxbench.store import Damaged, Shard, Store
from jaxbench.studies import (
    CellPlan,
    Policies,
    SweepPlan,
    plan_cells,
    policies_of,
    run_cells,
    tables,
    with_released,
)
from jaxbench.studies.cells import worlds_held
from jaxbench.studies.trials import trial_types, typed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without a limit by the user, this share of the machine's is kept to.
SHARE = 0.8
TRIALS = "trials.parquet"


@dataclass
class SweepRun:
    """A sweep under way: its plan, how its memory is used, and what it took."""

    plan: SweepPlan
    memory: MemoryPlan
    report: Report
    watch: Stopwatch = field(default_factory=Stopwatch)
    programs: list[Program] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)

    def shards(self, shards: Store) -> None:
        """Compute what is missing."""
        whole = self.plan.shards
        missing = set(shards.missing(list(whole)))
        conditions = {cell.key: len(cell.rows) for cell in self.plan.cells}
        done = [shard for shard in whole if shard not in missing]
        ended = {cell.key for cell in self.plan.cells} - {shard.key for shard in missing}
        self.report.start(
            sum(conditions.values()),
            whole.trials,
            conditions_done=sum(conditions[key] for key in ended),
            trials_done=sum(shard.trials * conditions[shard.key] for shard in done),
        )
        left = {key: sum(s.key == key for s in missing) for key in conditions}
        before = time.perf_counter()

        def told(shard: Shard, cell: CellPlan, trials: int) -> None:
            nonlocal before
            left[shard.key] -= 1
            ends = conditions[shard.key] if not left[shard.key] else 0
            self.report.advance(trials, conditions=ends, name=cell.name)
            now = time.perf_counter()
            self.report.event(
                "shard", file=shard.name, cell=cell.name, trials=shard.trials,
                seconds=round(now - before, 3),
            )  # fmt: skip
            before = now

        runner = Runner(self.memory.call_bytes, self.memory.host_bytes, Programs(self._compiled))
        with self.watch:
            run_cells(
                self.plan, shards, runner=runner, host_bytes=self.memory.host_bytes, told=told
            )

    def hear(self, damaged: Damaged) -> None:
        """Note a shard that has to be computed again."""
        self.damaged.append(damaged)
        self.report.event("damaged", file=str(damaged.path), why=damaged.why)

    def _compiled(self, program: Program) -> None:
        self.programs.append(program)
        self.report.event("compile", **{**vars(program), "seconds": round(program.seconds, 3)})


class SweepResult:
    """What a sweep measured: a table with a row per condition and budget, and its figures."""

    def __init__(self, study: Study, table: pd.DataFrame, trials: pd.DataFrame | None = None):
        self.study = study
        self._table, self._trials = table, trials

    def __repr__(self) -> str:
        conditions = len(self.study.conditions)
        return f"SweepResult({self.study.name!r}, {self.study.size!r}: {conditions} conditions)"

    def summary(self) -> pd.DataFrame:
        """One row per condition and budget: means over trials with 95 % bootstrap intervals."""
        return self._table.copy()

    def trials(self) -> pd.DataFrame:
        """One row per condition, trial and budget; empty with `save_trials=False`."""
        return pd.DataFrame() if self._trials is None else self._trials.copy()

    def plot(self, name: str | None = None) -> "Figure":
        """A figure of the study, the first one where none is named.

        **Errors:** `BadRequest` for a name that the study does not have.
        """
        named = {figure.name: figure for figure in self.study.figures}
        if name is not None and name not in named:
            raise unknown(f"figure of study {self.study.name}", name, named)
        spec = named[name] if name else next(iter(named.values()), None)
        if spec is None:
            raise unknown(f"figure of study {self.study.name}", name, named)
        if spec.kind == "pareto":
            found = self.policies(spec)
            return report.pareto_figure(
                found.table, found.groups, found.names, harm=spec.metric, use=spec.x
            )
        return report.study_figure(with_released(self._table), spec)

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that the study asks for beside its summary, by name."""
        return tables(self.study, self._table)

    def policies(self, spec: FigureSpec | None = None) -> Policies:
        """Every policy of the study, least harm first; as a Pareto figure shows them, if given."""
        if spec is None:
            return policies_of(self._table, self.study.varied)
        budget = spec.budgets[0] if spec.budgets else None
        return policies_of(
            self._table, self.study.varied, budget=budget, harm=spec.metric, use=spec.x
        )


def plan_sweep(study: str, size: str, options: Mapping[str, object]) -> SweepPlan:
    """Every condition of a study, checked; nothing is compiled.

    **Errors:** `BadRequest`.
    """
    return plan_cells(read_study(study, size, overrides(options), at_hand), open_benchmark)


def memory_for(plan: SweepPlan, memory: object) -> MemoryPlan:
    """How a sweep keeps to a limit: the one that is given, else that of this process.

    **Errors:** `BadRequest` where not even a few trials fit.
    """
    if memory is None:
        found = process_limit()
        limit = int(SHARE * found.bytes) if found else 2**62
    else:
        limit = parse.memory("memory", memory)
    cells = plan.cells
    benchmarks = {id(c.benchmark): c.benchmark.counts.nbytes for c in cells if c.benchmark}
    return plan_memory(
        limit,
        {cell.shape() for cell in cells},
        held=sum(benchmarks.values()) + worlds_held(cells),
        rows=max(cell.table_rows() for cell in cells),
        after=max(cell.summary_bytes() for cell in cells),
        workers=workers(jax.default_backend()),
    )


def at_hand() -> list[str]:
    """Named benchmarks whose files are on this machine."""
    here = (BUNDLED, CACHED, OFFLINE)
    return [name for name, entry in catalogue().items() if state(entry) in here]


@contextlib.contextmanager
def trials_file(path: Path, plan: SweepPlan) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Writes tables of trials into one Parquet file as they come.

    The types of its columns are those of the whole study, whichever condition comes first.
    """
    types = trial_types(plan)
    writer: pq.ParquetWriter | None = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        if writer is None:
            names = dict.fromkeys([*map(str, frame.columns), *types])
            known = [(name, types.get(name, pa.float64())) for name in names]
            writer = pq.ParquetWriter(path, pa.schema(known))
        writer.write_table(typed(frame, writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
