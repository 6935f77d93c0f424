"""The run directory of a sweep: there from the start, and marked unfinished until it is done."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxbench import unfinished
from jaxbench.errors import BadRequest
from jaxbench.jobs.run_directory import run_directory
from jaxbench.jobs.run_record import (
    DONE,
    UNFINISHED,
    read_record,
    resume_command,
    state_of,
    write_record,
)
from jaxbench.store import Damaged, Plan, Store, read_plan, write_plan
from jaxbench.store.shard import SHARDS


@contextlib.contextmanager
def sweep_directory(
    target: Path,
    record: Mapping[str, object],
    plan: Plan,
    resume: bool = False,
    overwrite: bool = False,
    report: Callable[[Damaged], None] | None = None,
) -> Iterator[Store]:
    """The store of a sweep, which no other process writes into while the block lasts.

    A new directory appears whole, with `run.json` (unfinished) and `plan.json`. With `resume`, one
    that is there is taken up, and made where nothing is; shards of other options stay as orphans.
    `run.json` says `unfinished` until the caller writes the record with `write_record(..., DONE)`.
    Whoever interrupts the block is told how to go on.

    **Arguments:** `record`: what `run.json` holds from the start: `job`, `command`, `versions`;
    `report`: is told of damaged shards.

    **Errors:** `BadRequest` where `target` holds something else, another study, or a run and
    neither `resume` nor `overwrite` is given; where another process writes; where the disk is full.
    """
    check_one(resume, overwrite)
    if not (resume and _is_there(target, plan)):
        with run_directory(target, overwrite) as folder:
            (folder / SHARDS).mkdir()
            write_record(folder, record, UNFINISHED)
            write_plan(folder, plan)
    shards = Store(target, report)
    onward = resume_command(record.get("command"), target) or "resume=true"
    with (
        shards.exclusive(),
        unfinished.advising(f"finished shards are kept; go on with {onward}"),
    ):
        if resume:
            write_record(target, record, UNFINISHED)
            write_plan(target, plan)
        yield shards


def check_one(resume: bool, overwrite: bool) -> None:
    """Refuse to go on with a run and to replace it.

    **Errors:** `BadRequest`.
    """
    if resume and overwrite:
        raise BadRequest("resume=true goes on with a run and overwrite=true replaces it; give one")


def _is_there(target: Path, plan: Plan) -> bool:
    """Whether there is a sweep of this study to go on with.

    **Errors:** `BadRequest` for anything else than a sweep of this study or nothing.
    """
    if not target.is_dir() or not any(target.iterdir()):
        return False
    record = read_record(target)
    if record is None or record["job"] != "sweep":
        what = "no run" if record is None else f"a run of {record['job']}"
        raise BadRequest(f"out={target} holds {what}; resume=true goes on with a sweep only")
    found = read_plan(target)
    if found is not None and (found.study, found.size) != (plan.study, plan.size):
        raise BadRequest(
            f"out={target} holds study={found.study} size={found.size}, not study={plan.study} "
            f"size={plan.size}; name another folder"
        )
    if found is not None and state_of(record) == DONE and not set(found) <= set(plan):
        # A study may grow; what is finished is replaced by nothing else.
        raise BadRequest(
            f"out={target} holds the finished results of other options; name another folder, or "
            "replace them with overwrite=true"
        )
    return True
