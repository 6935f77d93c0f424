"""The command: one run directory per attack, a table and figures for people."""

import json
import os
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import jax
import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from jaxbench import report
from jaxbench.jobs.attack import AttackResult, attack_options, open_benchmark
from jaxbench.jobs.attack import run as run_request
from jaxbench.jobs.run_directory import check_directory, default_directory, run_directory
from jaxbench.options import AttackRequest, resolve
from jaxbench.options.parse import boolean, text

PACKAGES = ("jaxbench", "jax", "jaxlib", "numpy", "pandas", "equinox", "hydra-core")
FIGURES = {"selection_loss": "selection_loss_pp", "score_gap": "score_gap_pp"}


def run(options: Mapping[str, object], command: str) -> None:
    """Run `jaxbench attack` with these options; `command` is the command line, for the record.

    **Errors:** `BadRequest`; nothing is written then.
    """
    started = time.perf_counter()
    out = options.get("out")
    target = default_directory("attack") if out is None else Path(text("out", out))
    overwrite = boolean("overwrite", options.get("overwrite") or False)
    check_directory(target, overwrite)
    benchmark = open_benchmark(options)
    request = resolve(attack_options(options), benchmark.protocol)
    console = Console()
    result = _run_with_bar(benchmark, request, console)
    with run_directory(target, overwrite) as folder:
        _write(folder, result, options, command, started)
    report.print_attack(console, result.summary(), _notes(result))
    console.print(str(target), soft_wrap=True, highlight=False, markup=False)


def _run_with_bar(benchmark, request: AttackRequest, console: Console) -> AttackResult:
    """Run with a bar on a terminal, quietly elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TextColumn("trials"), TimeRemainingColumn())  # fmt: skip
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("attack", total=None)
        return run_request(
            benchmark,
            request,
            lambda done, total: bar.update(task, completed=done, total=total),
        )


def _write(
    folder: Path,
    result: AttackResult,
    options: Mapping[str, object],
    command: str,
    started: float,
) -> None:
    summary = result.summary()
    summary.to_csv(folder / "summary.csv", index=False)
    if result.request.save_trials:
        result.trials().to_parquet(folder / "trials.parquet", index=False)
    for name, metric in FIGURES.items():
        report.save_figure(result.plot(metric), folder / name)
    config = {**_plain(result.request), "benchmark": result.benchmark.name}
    if options.get("path") is not None:
        config["path"] = str(options["path"])
    (folder / "config.yaml").write_text(
        yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    record = _record(result, command, started)
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    (folder / "run.json").write_text(text, encoding="utf-8")


def _record(result: AttackResult, command: str, started: float) -> dict:
    """`run.json`: what is needed to repeat the run, and what it took."""
    request, benchmark, watch = result.request, result.benchmark, result.watch
    device = jax.devices()[0]
    return {
        "job": "attack",
        "command": command,
        "benchmark": {
            "name": benchmark.name,
            "sha256": benchmark.digest(),
            "models": len(benchmark.models),
            "items": len(benchmark.items),
            "tasks": len(benchmark.tasks),
            "denominator": benchmark.denominator,
            "provenance": list(benchmark.provenance),
        },
        "seeds": {
            "split_seed_base": request.split_seed_base,
            "routing_seeds": [request.bank_seed(b) for b in range(request.banks)],
            "tie_seed": request.tie_seed,
            "bootstrap_seed": request.bootstrap_seed,
        },
        "conditions": {
            condition.rule: {
                "eligible_trials": int(condition.trials.query("budget == 0")["eligible"].sum()),
                "attempted_trials": request.trials,
                "arithmetic": condition.arithmetic,
                "endpoints_decided_in_fractions": condition.redone,
                "first_significant_budget": first,
            }
            for condition, first in zip(
                result.conditions, result.first_significant_budget().values(), strict=True
            )
        },
        "versions": {package: version(package) for package in PACKAGES},
        "python": sys.version.split()[0],
        "device": {"platform": device.platform, "kind": device.device_kind,
                   "count": jax.device_count(), "cpus": os.cpu_count()},
        "seconds": {"compile": round(watch.compile, 3), "run": round(watch.run, 3),
                    "total": round(time.perf_counter() - started, 3)},
    }  # fmt: skip


def _plain(request: AttackRequest) -> dict[str, object]:
    """A request as plain YAML values."""
    values: dict[str, object] = {}
    for name, value in vars(request).items():
        if isinstance(value, tuple):
            values[name] = list(value)
        elif isinstance(value, bool | int | str):
            values[name] = value
        else:
            values[name] = str(value)
    return values


def _notes(result: AttackResult) -> list[str]:
    """Sentences under the table."""
    watch, request = result.watch, result.request
    notes = []
    for condition in result.conditions:
        first = condition.trials[condition.trials["budget"] == 0]
        if not first["eligible"].any():
            notes.append(
                f"{condition.rule}: no trial was eligible (the public frontier never had two "
                "models), so there is nothing to attack"
            )
    if request.banks == 1:
        notes.append(
            "Intervals are over trials, given one router bank; other banks can differ by more "
            "(banks=64 shows by how much)."
        )
    notes.append(f"compile {watch.compile:.1f} s, run {watch.run:.1f} s")
    return notes
