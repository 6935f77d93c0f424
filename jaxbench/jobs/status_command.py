"""`jaxbench status RUN [RUN ...]`: a line on each run, at once, without jax and without Parquet."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jaxbench import store
from jaxbench.errors import BadRequest, counted, visible
from jaxbench.jobs.run_directory import RECORD
from jaxbench.jobs.run_record import (
    DONE,
    UNFINISHED,
    read_record,
    resume_command,
    state_of,
)
from jaxbench.store.plan import NAME as PLAN
from jaxbench.store.shard import LOCK, SHARDS

DAMAGED = "damaged"
# What every finished run holds beside its record.
RESULTS = ("config.yaml", "summary.csv")


class Status(NamedTuple):
    """How far a run is.

    **Arguments:** `subject`: study or benchmark; `state`: `done`, `unfinished` or `damaged`;
    `running`: a process writes there (None: cannot be told); `shards`, `trials`: done and all, of
    a sweep; `broken`: shards that are there and not whole; `why`: what is damaged; `written`: when
    a file of it last changed (seconds since 1970); `onward`: the command by which it goes on.
    """

    job: str
    subject: str
    state: str
    running: bool | None
    shards: tuple[int, int] | None
    trials: tuple[int, int] | None
    broken: int
    why: str
    written: float
    onward: str | None


def run(options: Mapping[str, object], command: str, several: bool = False) -> None:
    """Print a line on every run directory among the words.

    **Errors:** `BadRequest` for folders that are no run, after the lines on the others.
    """
    words = options["words"]
    assert isinstance(words, list)
    refusals = []
    for word in words:
        try:
            print(line(Path(word), status(Path(word))))
        except BadRequest as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise BadRequest("; ".join(refusals))


def status(folder: Path) -> Status:
    """How far the run in a folder is.

    **Errors:** `BadRequest` for a folder that is no run directory.
    """
    _check(folder)
    written = _last_written(folder)
    running = store.is_locked(folder)
    try:
        record = read_record(folder)
        if record is None:
            raise BadRequest(f"{RECORD} is missing")
        plan = store.read_plan(folder)
    except BadRequest as damage:
        return Status(
            "unknown job", "", DAMAGED, running, None, None, 0, str(damage), written, None
        )
    state, why = state_of(record), ""
    if state == DONE:
        gone = [name for name in RESULTS if not (folder / name).is_file()]
        if gone:
            state, why = DAMAGED, f"{' and '.join(gone)} missing"
    shards, trials, broken = _counts(folder, plan, state_of(record)) if plan else (None, None, 0)
    onward = None
    if state == UNFINISHED and not running:
        onward = resume_command(record.get("command"), folder)
    return Status(
        str(record["job"]), _subject(record, plan), state, running, shards, trials, broken, why,
        written, onward,
    )  # fmt: skip


def line(folder: Path, status: Status) -> str:
    """One line for people, with what steers a terminal made visible."""
    state = status.state
    if state == UNFINISHED and status.running is not None:
        state += ", running" if status.running else ", stopped"
    if status.why:
        state += f" ({status.why})"
    parts = [f"{folder}: {' '.join(filter(None, (status.job, status.subject)))}, {state}"]
    if status.shards and status.trials:
        (done, shards), (computed, trials) = status.shards, status.trials
        share = computed / trials if trials else 1.0
        parts.append(f"{done:,} of {counted(shards, 'shard')}")
        # Rounded down: 100.0 % is all.
        percent = int(1000 * share) / 10
        parts.append(f"{computed:,} of {counted(trials, 'trial')} ({percent:.1f} %)")
    if status.broken:
        parts.append(f"{counted(status.broken, 'shard')} damaged, to be computed again")
    parts.append(f"last written {datetime.fromtimestamp(status.written):%Y-%m-%d %H:%M:%S}")
    if status.onward:
        parts.append(f"go on: {status.onward}")
    return visible("; ".join(parts))


def _check(folder: Path) -> None:
    if not folder.is_dir():
        hint = ""
        if not os.path.lexists(folder) and "=" in str(folder):
            hint = " (status takes run directories, no options)"
        reason = "is not a folder" if os.path.lexists(folder) else "no such folder"
        raise BadRequest(f"{folder}: {reason}{hint}")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BadRequest(f"{folder}: no permission to read it")
    if not any(os.path.lexists(folder / name) for name in (RECORD, PLAN, SHARDS)):
        raise BadRequest(f"{folder} is no run directory: it holds no {RECORD}")


def _counts(
    folder: Path, plan: store.Plan, state: str
) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Shards and trials, done and all, and how many shards are there and not whole."""
    all_shards = len(list(plan))
    if state == DONE:
        return (all_shards, all_shards), (plan.trials, plan.trials), 0
    done = trials = broken = 0
    for group in plan.groups:
        for shard in group.shards():
            path = shard.path(folder)
            if store.looks_whole(path):
                done += 1
                trials += shard.trials * group.conditions
            elif os.path.lexists(path):
                broken += 1
    return (done, all_shards), (trials, plan.trials), broken


def _subject(record: Mapping[str, object], plan: store.Plan | None) -> str:
    if plan is not None:
        return f"{plan.study} ({plan.size})"
    benchmark = record.get("benchmark")
    if isinstance(benchmark, dict) and isinstance(benchmark.get("name"), str):
        return benchmark["name"]
    return ""


def _last_written(folder: Path) -> float:
    """When a file of the run last changed."""
    times = [folder.stat().st_mtime]
    for place in (folder, folder / SHARDS):
        try:
            with os.scandir(place) as entries:
                # Whoever takes the lock signs it, and has written nothing yet.
                times += [e.stat().st_mtime for e in entries if e.name != LOCK and e.is_file()]
        except OSError:
            continue
    return max(times)
