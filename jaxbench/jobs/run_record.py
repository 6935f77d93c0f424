"""The record of a run, `run.json`: whether the run is done, and how an unfinished one goes on."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

from jaxbench import store
from jaxbench.errors import BadRequest
from jaxbench.jobs.arguments import PLAIN, quoted
from jaxbench.jobs.run_directory import RECORD
from jaxbench.store.atomic import cannot_write

UNFINISHED, DONE = "unfinished", "done"


def write_record(folder: Path, record: Mapping[str, object], state: str) -> None:
    """Write `run.json` with a `state` (`unfinished`, `done`) in one stroke.

    **Errors:** `BadRequest` if the system refuses.
    """
    # First come the job and the state, whatever order the caller has.
    whole = {"job": record.get("job"), "state": None} | dict(record) | {"state": state}
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    try:
        store.write_atomically(folder / RECORD, (text + "\n").encode())
    except OSError as error:
        raise cannot_write(folder, error) from None


def read_record(folder: Path) -> dict[str, object] | None:
    """`run.json`, or None where there is none.

    **Errors:** `BadRequest` for a file that is no record of a run.
    """
    path = folder / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadRequest(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError):
        raise BadRequest(f"{path} is no JSON") from None
    if not isinstance(record, dict) or not isinstance(record.get("job"), str):
        raise BadRequest(f"{path} is no record of a run (it names no job)")
    return record


def state_of(record: Mapping[str, object]) -> str:
    """`unfinished` or `done`; the record of a job that writes everything at its end has neither."""
    return UNFINISHED if record.get("state") == UNFINISHED else DONE


def resume_command(command: object, folder: Path) -> str | None:
    """The command line by which a sweep goes on in `folder`; None if `command` is none."""
    try:
        words = shlex.split(str(command))
    except ValueError:
        return None
    if words[:1] != ["jaxbench"]:
        return None
    kept = [
        word
        for word in words
        if word.lstrip("+").partition("=")[0] not in ("out", "overwrite", "resume")
    ]
    name = str(folder)
    spelled = name if PLAIN.fullmatch(name) else quoted(name)
    return shlex.join([*kept, f"out={spelled}", "resume=true"])
