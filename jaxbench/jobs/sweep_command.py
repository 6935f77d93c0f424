"""The command: a sweep's run directory, there from the start, and what it says at the end."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import yaml
from rich.console import Console

from jaxbench import report
from jaxbench.engine import Stopwatch
from jaxbench.errors import BadRequest, counted
from jaxbench.jobs.dry_run import dry_run
from jaxbench.jobs.opening import benchmark_record
from jaxbench.jobs.progress import log_option, progress
from jaxbench.jobs.record import check_device, machine_record
from jaxbench.jobs.run_directory import check_directory, default_directory
from jaxbench.jobs.run_record import DONE, read_record, state_of, write_record
from jaxbench.jobs.sweep import TRIALS, SweepResult, SweepRun, memory_for, plan_sweep, trials_file
from jaxbench.jobs.sweep_directory import sweep_directory
from jaxbench.options import parse
from jaxbench.options.sweep import overrides, study_and_size
from jaxbench.store import read_plan
from jaxbench.sweep import SweepPlan, summarise
from jaxbench.sweep.code import code_digest


def run(options: Mapping[str, object], command: str, several: bool = False) -> None:
    """Run `jaxbench sweep` with these options.

    **Arguments:** `command`: the command line, for the record; `several`: this is one run of
    several, and says which.

    **Errors:** `BadRequest`; finished shards are kept.
    """
    started = time.perf_counter()
    study, size = study_and_size(options)
    out = options.get("out")
    target = default_directory("sweep") if out is None else Path(parse.text("out", out))
    resume, overwrite, dry = (
        parse.boolean(name, options.get(name) or False)
        for name in ("resume", "overwrite", "dry_run")
    )
    log = log_option(options.get("log"))
    if resume and out is None:
        raise BadRequest("resume=true goes on in a folder: say which with out=FOLDER")
    if not (resume or dry):
        check_directory(target, overwrite)
    plan = plan_sweep(study, size, options)
    console = Console()
    console.width = max(console.width, 80)
    if resume and _is_done(target, plan):
        console.print("done already", markup=False, highlight=False)
        print(target)
        return
    check_device()
    memory = memory_for(plan, options.get("memory"))
    if dry:
        programs, notes = dry_run(plan, memory)
        report.print_plan(console, programs, [*notes, *_skipped(plan)])
        return
    record = _record(plan, command, options)
    with progress(log, console) as told:
        running = SweepRun(plan, memory, told)
        with sweep_directory(
            target, record, plan.shards, resume, overwrite, running.hear
        ) as shards:
            _write_config(target, plan, options)
            running.shards(shards)
            keep = plan.cells[0].request.save_trials
            with Stopwatch() as watch, trials_file(target / TRIALS) as write:
                table = summarise(plan, shards, write if keep else None)
            result = SweepResult(plan.study, table)
            table.to_csv(target / "summary.csv", index=False)
            for figure in plan.study.figures:
                report.save_figure(result.plot(figure.name), target / figure.name)
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
    if several:
        print(command)
    notes = [
        *(f"recomputed a damaged shard: {d.path.name}: {d.why}" for d in running.damaged),
        *_skipped(plan),
        f"{counted(int(table['budget'].eq(0).sum()), 'condition')}, "
        f"{plan.shards.trials:,} trials in {counted(len(list(plan.shards)), 'shard')}; "
        f"compile {seconds['compile']:.1f} s, run {seconds['run']:.1f} s, "
        f"summary {seconds['summary']:.1f} s",
    ]
    report.print_sweep(console, table, plan.study.varied, notes)
    print(target)


def _is_done(target: Path, plan: SweepPlan) -> bool:
    """Whether this very sweep is finished in `target`."""
    record = read_record(target) if target.is_dir() else None
    if record is None or record["job"] != "sweep" or state_of(record) != DONE:
        return False
    return read_plan(target) == plan.shards and (target / "summary.csv").exists()


def _skipped(plan: SweepPlan) -> list[str]:
    if not plan.skipped:
        return []
    first = f"{counted(len(plan.skipped), 'condition')} left out that cannot be done, such as"
    return [f"note: {first}: {plan.skipped[0]}"]


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
        raise BadRequest(f"out={target}: {(error.strerror or str(error)).lower()}") from None


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
        **machine_record(),
    }


def _seeds(plan: SweepPlan) -> dict[str, Sequence[object]]:
    """The seeds that the cells drew from, each once."""
    names = ("seed", "split_seed_base", "routing_seed", "tie_seed", "bootstrap_seed")
    requests = [request for cell in plan.cells for request in cell.requests]
    return {
        name: list(dict.fromkeys(getattr(request, name) for request in requests))[:100]
        for name in names
    }
