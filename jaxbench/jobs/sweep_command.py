"""The command: a sweep's run directory, there from the start, and what it says at the end."""

from collections.abc import Mapping

import pandas as pd
from rich.console import Console

from jaxbench import report
from jaxbench.errors import BadRequest, counted
from jaxbench.jobs.dry_run import dry_run
from jaxbench.jobs.progress import progress
from jaxbench.jobs.record import check_device
from jaxbench.jobs.start import Start, wide_console
from jaxbench.jobs.sweep import memory_for, plan_sweep
from jaxbench.jobs.sweep_into import is_done, run_into
from jaxbench.options.study import Study
from jaxbench.options.sweep import study_and_size
from jaxbench.studies import SweepPlan, tables, told


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
    if start.resume and is_done(target, plan):
        console.print("done already", markup=False, highlight=False)
        print(target)
        return
    check_device()
    memory = memory_for(plan, options.get("memory"))
    if start.dry_run:
        programs, notes = dry_run(plan, memory)
        report.print_plan(console, programs, [*notes, *_skipped(plan), *plan.notes])
        return
    with progress(start.log, console) as told:
        table, running, seconds = run_into(
            target, plan, memory, told, command, options,
            resume=start.resume, overwrite=start.overwrite,
        )  # fmt: skip
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
    _print_tables(console, plan.study, table)
    print(target)


def _print_tables(console: Console, study: Study, summary: pd.DataFrame) -> None:
    """The tables that a study asks for."""
    found = tables(study, summary)
    if study.contraction:
        contraction, first = found["contraction"], found["false_winners"]
        report.print_contraction(console, contraction, first, study.contraction.over)
    if not study.table:
        return
    of = told(study, summary)
    if study.table == "mechanisms":
        report.print_mechanisms(console, of.table, of.groups, of.names)
    elif study.table == "submitters":
        report.print_submitters(console, of.table, of.groups, of.names)
    else:
        report.print_policies(console, of.table, of.groups, of.names, of.attacks)


def _skipped(plan: SweepPlan) -> list[str]:
    if not plan.skipped:
        return []
    first = f"{counted(len(plan.skipped), 'condition')} left out that cannot be done, such as"
    return [f"note: {first}: {plan.skipped[0]}"]
