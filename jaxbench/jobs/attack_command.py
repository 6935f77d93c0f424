"""The command: one run directory per attack, a table and figures for people."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from jaxbench import report
from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.provenance import SHOWN
from jaxbench.engine import Runner
from jaxbench.engine.programs import Program, Programs
from jaxbench.engine.requests import request_for
from jaxbench.jobs.attack import (
    AttackResult,
    AttackRun,
    ConditionResult,
    condition_name,
)
from jaxbench.jobs.dry_run import dry_run
from jaxbench.jobs.opening import benchmark_record, check_apart, open_benchmark, source_config
from jaxbench.jobs.progress import Report, progress
from jaxbench.jobs.record import check_device, machine_record
from jaxbench.jobs.run_directory import run_directory
from jaxbench.jobs.start import Start, wide_console
from jaxbench.jobs.sweep import memory_for
from jaxbench.options import AttackRequest
from jaxbench.options.attack import JOB_OPTIONS, as_options
from jaxbench.options.study import Study
from jaxbench.studies import CellPlan, SweepPlan
from jaxbench.studies.cells import Row

FIGURES = {"selection_loss": "selection_loss_pp", "score_gap": "score_gap_pp"}
# Columns of trials.parquet that are not float64 (a chunk of empty ones must not change the type).
COLUMN_TYPES = {
    **dict.fromkeys(
        ("benchmark", "endpoints", "interface", "mechanism", "endpoint_a", "endpoint_b",
         "no_attack_model", "selected_model"), pa.string(),
    ),
    **dict.fromkeys(("coordinates", "trial", "budget"), pa.int64()),
    "eligible": pa.bool_(),
}  # fmt: skip


def run(options: Mapping[str, object], command: str, several: bool = False) -> None:
    """Run `jaxbench attack` with these options.

    **Arguments:** `command`: the command line, for the record; `several`: this is one run of
    several, and says which.

    **Errors:** `BadRequest`; nothing is written then.
    """
    start = Start.of("attack", options)
    check_device()
    benchmark = open_benchmark(options)
    check_apart(start.target, options)
    asked = {name: value for name, value in options.items() if name not in JOB_OPTIONS}
    request = request_for(benchmark, asked)
    plan = one_cell(benchmark, request)
    memory = memory_for(plan, options.get("memory"))
    console = wide_console()
    if start.dry_run:
        report.print_plan(console, *dry_run(plan, memory))
        return
    with progress(start.log, console) as told:

        def compiled(program: Program) -> None:
            told.event("compile", **vars(program))

        runner = Runner(memory.call_bytes, memory.host_bytes, Programs(compiled))
        attack = AttackRun(benchmark, request, runner=runner, host_bytes=memory.host_bytes)
        with run_directory(start.target, start.overwrite) as folder:
            _run(attack, folder, told)
            result = attack.result()
            _write(folder, result, options, command, start)
    if several:
        print(command)
    report.print_attack(console, result.summary(), _notes(result))
    # Plain: rich would turn a name like :smile: into a picture.
    print(start.target)


def one_cell(benchmark: Benchmark, request: AttackRequest) -> SweepPlan:
    """An attack as a plan of one cell, for what a plan says about memory and time."""
    study = Study("attack", "", "", ({},), (), (), False, {})
    row = Row(0, {}, request.resamples, request.bootstrap_seed)
    cell = CellPlan(benchmark.name, (request,), (row,), benchmark, None)
    return SweepPlan(study, (cell,), ())


def _run(attack: AttackRun, folder: Path, told: Report) -> None:
    """Run and tell how far it is; trials go to disk as they come."""
    request, before = attack.request, 0

    def advance(done: int, total: int) -> None:
        nonlocal before
        told.advance(done - before, name="attack")
        before = done

    conditions = len(attack.conditions)
    told.start(conditions, request.trials * conditions * request.banks)
    attack.progress = advance
    writer = None
    try:
        result = attack.result()
        for condition, table in attack:
            if not request.save_trials:
                continue
            named = result.named(condition, table)
            schema = pa.schema(
                [(str(c), COLUMN_TYPES.get(str(c), pa.float64())) for c in named.columns]
            )
            writer = writer or pq.ParquetWriter(folder / "trials.parquet", schema)
            writer.write_table(pa.Table.from_pandas(named, schema, preserve_index=False))
    finally:
        if writer:
            writer.close()


def _write(
    folder: Path,
    result: AttackResult,
    options: Mapping[str, object],
    command: str,
    start: Start,
) -> None:
    summary = result.summary()
    summary.to_csv(folder / "summary.csv", index=False)
    for name, metric in FIGURES.items():
        report.save_figure(result.plot(metric), folder / name)
    config = source_config(options, result.benchmark) | as_options(result.request)
    if any(c.condition.rule not in result.request.endpoints for c in result.conditions):
        # The interface chose the rule, and would not if the option were given.
        del config["endpoints"]
    (folder / "config.yaml").write_text(
        yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    record = json.dumps(_record(result, command, start), indent=2, ensure_ascii=False)
    (folder / "run.json").write_text(record + "\n", encoding="utf-8")


def _record(result: AttackResult, command: str, start: Start) -> dict:
    """`run.json`: what is needed to repeat the run, and what it took."""
    benchmark, watch = result.benchmark, result.watch
    significant = result.first_significant_budget()
    return {
        "job": "attack",
        "command": command,
        "benchmark": benchmark_record(benchmark),
        "seeds": _seeds(result.request),
        "conditions": {
            condition_name(c.condition): {
                "coordinates": c.coordinates,
                "eligible_trials": c.summary.eligible,
                "attempted_trials": result.request.trials,
                "arithmetic": c.arithmetic,
                "endpoints_decided_in_fractions": c.redone,
                "first_significant_budget": significant[condition_name(c.condition)],
                **_variance(c),
            }
            for c in result.conditions
        },
        "theory": result.theory,
        **machine_record(),
        "seconds": {"compile": round(watch.compile, 3), "run": round(watch.run, 3),
                    "total": start.seconds},
    }  # fmt: skip


def _variance(condition: ConditionResult) -> dict[str, object]:
    """Where the variance of the selection loss comes from, as standard deviations in pp."""
    if len(condition.banks) == 1:
        return {}
    table = condition.variance.components()
    parts = {
        name: np.sqrt(table[name].clip(lower=0.0)).round(6) for name in ("splits", "banks", "rest")
    }
    rows = {
        str(budget): {name: None if np.isnan(part[i]) else part[i] for name, part in parts.items()}
        for i, budget in enumerate(table["budget"])
    }
    return {"selection_loss_sd_pp": rows}


def _seeds(request: AttackRequest) -> dict[str, object]:
    """The seeds that this run drew from."""
    seeds: dict[str, object] = {"bootstrap_seed": request.bootstrap_seed}
    if "prng" in (request.routers, request.split):
        seeds["seed"] = request.seed
    if request.split == "hash":
        seeds["split_seed_base"] = request.split_seed_base
    if request.routers == "hash":
        seeds["routing_seeds"] = [request.bank_seed(b) for b in range(request.banks)]
        seeds["tie_seed"] = request.tie_seed
    return seeds


def _told(result: AttackResult) -> list[str]:
    """How much a mechanism told its submitters, and how far the board is from the truth."""
    request = result.request
    if not request.mechanism:
        return []
    summary, notes = result.summary(), []
    for c in result.conditions:
        rows = summary[
            (summary["endpoints"] == c.condition.rule)
            & (summary["interface"] == c.condition.interface)
        ]
        last = rows.iloc[-1]
        if np.isnan(last["release_rate"]):
            continue
        error = last["board_error_pp"]
        off = "" if np.isnan(error) else f"; its best score was up to {error:.2f} pp off"
        notes.append(
            f"{condition_name(c.condition)}: of {int(last['budget']):,} submissions "
            f"{100.0 * last['release_rate']:.1f} % were told a number of their own{off} (means)"
        )
    return notes


def _notes(result: AttackResult) -> list[str]:
    """Sentences under the table."""
    watch, request = result.watch, result.request
    notes = [
        f"{condition_name(c.condition)}: no trial was eligible (the endpoint rule never found two "
        "models), so there is nothing to attack"
        for c in result.conditions
        if not c.summary.eligible
    ]
    for c in result.conditions:
        if 0 < c.summary.eligible < request.trials / 2:
            notes.append(
                f"note: {condition_name(c.condition)}: only {c.summary.eligible:,} of "
                f"{request.trials:,} trials can be attacked (the rule finds two models); rows from "
                "budget 1 on are of these, a choice of splits"
            )
    notes += _told(result)
    notes += result.theory
    notes += [note for note in result.benchmark.provenance if note.startswith(SHOWN)]
    if request.routers == "hash" and request.banks == 1:
        notes.append(
            "Intervals are over trials, given one router bank; other banks can differ by more "
            "(banks=64 shows by how much)."
        )
    for c in result.conditions:
        if len(c.banks) > 1 and c.summary.eligible > 1:
            last = np.sqrt(c.variance.components().iloc[-1].clip(lower=0.0))
            notes.append(
                f"{condition_name(c.condition)}: at {int(request.budgets[-1]):,} submissions the "
                f"loss varies by {last['splits']:.2f} pp (sd) with the split, "
                f"{last['banks']:.2f} with the bank, {last['rest']:.2f} with both together"
            )
    notes.append(f"compile {watch.compile:.1f} s, run {watch.run:.1f} s")
    return notes
