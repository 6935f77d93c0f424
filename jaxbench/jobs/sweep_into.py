"""A sweep into its run directory: from Python, and what the command shares with that."""

import contextlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from jaxbench import report
from jaxbench.engine import Stopwatch
from jaxbench.engine.memory import MemoryPlan
from jaxbench.jobs.opening import benchmark_record
from jaxbench.jobs.progress import Report, SilentReport
from jaxbench.jobs.record import machine_record
from jaxbench.jobs.run_record import DONE, read_record, state_of, write_record
from jaxbench.jobs.sweep import TRIALS, SweepResult, SweepRun, memory_for, plan_sweep, trials_file
from jaxbench.jobs.sweep_directory import sweep_directory
from jaxbench.options.study_tables import TABLE_FILES
from jaxbench.options.sweep import overrides
from jaxbench.store import Store, read_plan
from jaxbench.store.atomic import cannot_write
from jaxbench.studies import SweepPlan, summarise, table_names
from jaxbench.studies.code import code_digest


def sweep(
    study: str, *, size: str = "smoke", out: str | Path | None = None, resume: bool = False,
    overwrite: bool = False, memory: str | int | None = None, **options: object,
) -> SweepResult:  # fmt: skip
    """Run a named study: many conditions, in shards that survive whatever stops them.

    **Arguments:**

    - `study`: a name of `sweeps/`, or a YAML file of that form; `size`: `smoke` or `full`.
    - `out`: where shards are kept, so that `resume=True` goes on after an interruption (default:
      nowhere).
    - `memory`: what the process keeps to, such as `"2GB"`.
    - `options`: options of `jaxbench attack` in place of the study's.

    **Returns:** a `SweepResult` with `.summary()`, `.trials()` and `.plot()`.

    **Errors:** `BadRequest` for an unknown study or option, an empty grid, a condition that cannot
    be done, or too little memory; nothing is compiled then.
    """
    plan = plan_sweep(study, size, options)
    kept = memory_for(plan, memory)
    with contextlib.ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxbench-"))
        target = Path(out)
        if not (resume and is_done(target, plan)):
            finished = run_into(
                target, plan, kept, SilentReport(), "", options, resume=resume, overwrite=overwrite
            )
            table = finished.table
        else:
            table = pd.read_csv(target / "summary.csv")
        path = target / TRIALS
        trials = pd.read_parquet(path) if path.is_file() else None
    return SweepResult(plan.study, table, trials)


class Finished(NamedTuple):
    """A sweep that is written: its summary, what ran, and the seconds that it took."""

    table: pd.DataFrame
    run: SweepRun
    seconds: dict[str, float]


def run_into(
    target: Path,
    plan: SweepPlan,
    memory: MemoryPlan,
    told: Report,
    command: str,
    options: Mapping[str, object],
    *,
    resume: bool,
    overwrite: bool,
) -> Finished:
    """Run a sweep into its directory: what is missing, then all results.

    **Errors:** `BadRequest`; finished shards are kept.
    """
    started = time.perf_counter()
    record = _record(plan, command, options)
    before = read_record(target) if resume and target.is_dir() else None
    running = SweepRun(plan, memory, told)
    with sweep_directory(target, record, plan.shards, resume, overwrite, running.hear) as shards:
        _remove_results(target, before)
        _write_config(target, plan, options)
        running.shards(shards)
        with Stopwatch() as watch:
            table = _write_results(target, plan, shards)
        seconds = {
            "compile": round(running.watch.compile, 3),
            "run": round(running.watch.run, 3),
            "summary": round(watch.total, 3),
            "total": round(time.perf_counter() - started, 3),
        }
        ran = {
            "programs": [asdict(program) for program in running.programs],
            "damaged_shards": [f"{d.path.name}: {d.why}" for d in running.damaged],
            "seconds": seconds,
        }
        write_record(target, record | ran, DONE)
    return Finished(table, running, seconds)


def is_done(target: Path, plan: SweepPlan) -> bool:
    """Whether this very sweep is finished in `target`."""
    record = read_record(target) if target.is_dir() else None
    if record is None or record["job"] != "sweep" or state_of(record) != DONE:
        return False
    if read_plan(target) != plan.shards or record.get("results_sha256") != plan.key:
        return False
    return all((target / name).is_file() for name in _results(plan))


def _results(plan: SweepPlan) -> list[str]:
    """The files that a finished sweep has beside its records."""
    figures = [name + end for name in _figures(plan) for end in (".svg", ".png")]
    tables = [f"{name}.csv" for name in table_names(plan.study)]
    trials = [TRIALS] if _saves_trials(plan) else []
    return ["config.yaml", "summary.csv", *tables, *trials, *figures]


def _figures(plan: SweepPlan) -> list[str]:
    return [figure.name for figure in plan.study.figures]


def _saves_trials(plan: SweepPlan) -> bool:
    return any(cell.request.save_trials for cell in plan.cells)


def _remove_results(target: Path, before: Mapping[str, object] | None) -> None:
    """Remove the results of the run that is taken up: they may be of other options."""
    drawn = before.get("figures") if before else None
    names = [str(name) for name in drawn] if isinstance(drawn, list) else []
    tables = [f"{name}.csv" for name in TABLE_FILES]
    figures = [name + end for name in names for end in (".svg", ".png")]
    for name in ("summary.csv", TRIALS, *tables, *figures):
        try:
            (target / Path(name).name).unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(target, error) from None


def _write_results(target: Path, plan: SweepPlan, shards: Store) -> pd.DataFrame:
    """Write the summary, the trials, the study's own tables and the figures; the summary.

    **Errors:** `BadRequest` if the system refuses.
    """
    try:
        with trials_file(target / TRIALS, plan) as write:
            table = summarise(plan, shards, write)
        table.to_csv(target / "summary.csv", index=False)
        result = SweepResult(plan.study, table)
        for name, extra in result.tables().items():
            extra.to_csv(target / f"{name}.csv", index=False)
        for name in _figures(plan):
            report.save_figure(result.plot(name), target / name)
    except OSError as error:
        raise cannot_write(target, error) from None
    return table


def _write_config(target: Path, plan: SweepPlan, options: Mapping[str, object]) -> None:
    """`config.yaml`: the study as it was read, and what was given in place of its own."""
    config = {
        "study": plan.study.name,
        "size": plan.study.size,
        "overrides": overrides(options),
        "conditions": len(plan.study.conditions),
        "varied": list(plan.study.varied),
        "file": plan.study.source,
    }
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    try:
        (target / "config.yaml").write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write(target, error) from None


def _record(plan: SweepPlan, command: str, options: Mapping[str, object]) -> dict[str, object]:
    """`run.json`: what is needed to repeat the sweep."""
    benchmarks = {id(c.benchmark): c.benchmark for c in plan.cells if c.benchmark is not None}
    return {
        "job": "sweep",
        "command": command,
        "study": plan.study.name,
        "size": plan.study.size,
        "conditions": len(plan.study.conditions),
        "cells": len(plan.cells),
        "trials": plan.shards.trials,
        "worlds": sum(c.world is not None for c in plan.cells),
        "benchmarks": [benchmark_record(b) for b in benchmarks.values()],
        "seeds": _seeds(plan),
        "skipped": list(plan.skipped),
        "code_sha256": code_digest(),
        "results_sha256": plan.key,
        "figures": _figures(plan),
        **machine_record(),
    }


def _seeds(plan: SweepPlan) -> dict[str, Sequence[object]]:
    """The seeds that the cells drew from, each once."""
    names = ("seed", "split_seed_base", "routing_seed", "tie_seed")
    requests = [request for cell in plan.cells for request in cell.requests]
    rows = [row for cell in plan.cells for row in cell.rows]
    found = {name: [getattr(request, name) for request in requests] for name in names}
    found["bootstrap_seed"] = [row.bootstrap_seed for row in rows]
    return {name: list(dict.fromkeys(seeds))[:100] for name, seeds in found.items()}
