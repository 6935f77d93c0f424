"""The command: a sweep's run directory, there from the start, and what it says at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import yaml

from jaxbench import report
from jaxbench.engine import Stopwatch
from jaxbench.errors import BadRequest, counted
from jaxbench.jobs.dry_run import dry_run
from jaxbench.jobs.opening import benchmark_record
from jaxbench.jobs.progress import progress
from jaxbench.jobs.record import check_device, machine_record
from jaxbench.jobs.run_record import DONE, read_record, state_of, write_record
from jaxbench.jobs.start import Start, wide_console
from jaxbench.jobs.sweep import TRIALS, SweepResult, SweepRun, memory_for, plan_sweep, trials_file
from jaxbench.jobs.sweep_directory import sweep_directory
from jaxbench.options.sweep import overrides, study_and_size
from jaxbench.store import Store, read_plan
from jaxbench.store.atomic import cannot_write
from jaxbench.studies import SweepPlan, summarise
from jaxbench.studies.code import code_digest


def run(options: Mapping[str, object], command: str, several: bool = False) -> None:
    """Run `jaxbench sweep` with these options.

    **Arguments:** `command`: the command line, for the record; `several`: this is one run of
    several, and says which.

    **Errors:** `BadRequest`; finished shards are kept.
    """
    study, size = study_and_size(options)
    start = Start.of("sweep", options)
    target = start.target
    if start.resume and options.get("out") is None:
        raise BadRequest("resume=true goes on in a folder: say which with out=FOLDER")
    plan = plan_sweep(study, size, options)
    console = wide_console()
    if start.resume and _is_done(target, plan):
        console.print("done already", markup=False, highlight=False)
        print(target)
        return
    if start.resume and not start.dry_run:
        _check_continues(target, plan)
    check_device()
    memory = memory_for(plan, options.get("memory"))
    if start.dry_run:
        programs, notes = dry_run(plan, memory)
        report.print_plan(console, programs, [*notes, *_skipped(plan), *plan.notes])
        return
    record = _record(plan, command, options)
    before = read_record(target) if start.resume and target.is_dir() else None
    with progress(start.log, console) as told:
        running = SweepRun(plan, memory, told)
        with sweep_directory(
            target, record, plan.shards, start.resume, start.overwrite, running.hear
        ) as shards:
            _remove_results(target, before)
            _write_config(target, plan, options)
            running.shards(shards)
            with Stopwatch() as watch:
                table = _write_results(target, plan, shards)
            seconds = {
                "compile": round(running.watch.compile, 3),
                "run": round(running.watch.run, 3),
                "summary": round(watch.total, 3),
                "total": start.seconds,
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
        *plan.notes,
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
    if read_plan(target) != plan.shards or record.get("results_sha256") != plan.key:
        return False
    return all((target / name).is_file() for name in _results(plan))


def _check_continues(target: Path, plan: SweepPlan) -> None:
    """Refuse to put other results in place of finished ones; a study may grow.

    **Errors:** `BadRequest` where `target` holds a finished sweep that has shards of other options.
    """
    record = read_record(target) if target.is_dir() else None
    if record is None or record["job"] != "sweep" or state_of(record) != DONE:
        return
    found = read_plan(target)
    if (
        found is not None
        and found.study == plan.shards.study
        and not set(found) <= set(plan.shards)
    ):
        raise BadRequest(
            f"out={target} holds the finished results of other options; name another folder, or "
            "replace them with overwrite=true"
        )


def _results(plan: SweepPlan) -> list[str]:
    """The files that a finished sweep has beside its records."""
    figures = [name + end for name in _figures(plan) for end in (".svg", ".png")]
    return ["config.yaml", "summary.csv", *([TRIALS] if _saves_trials(plan) else []), *figures]


def _figures(plan: SweepPlan) -> list[str]:
    return [figure.name for figure in plan.study.figures]


def _saves_trials(plan: SweepPlan) -> bool:
    return any(cell.request.save_trials for cell in plan.cells)


def _remove_results(target: Path, before: Mapping[str, object] | None) -> None:
    """Remove the results of the run that is taken up: they may be of other options."""
    figures = before.get("figures") if before else None
    names = [str(name) for name in figures] if isinstance(figures, list) else []
    for name in ("summary.csv", TRIALS, *(n + end for n in names for end in (".svg", ".png"))):
        try:
            (target / Path(name).name).unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(target, error) from None


def _write_results(target: Path, plan: SweepPlan, shards: Store) -> pd.DataFrame:
    """Write the summary, the trials and the figures; the summary.

    **Errors:** `BadRequest` if the system refuses.
    """
    try:
        with trials_file(target / TRIALS, plan) as write:
            table = summarise(plan, shards, write)
        table.to_csv(target / "summary.csv", index=False)
        result = SweepResult(plan.study, table)
        for name in _figures(plan):
            report.save_figure(result.plot(name), target / name)
    except OSError as error:
        raise cannot_write(target, error) from None
    return table


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
