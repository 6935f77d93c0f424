"""Run directories: complete or not there at all."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from jaxbench import unfinished
from jaxbench.errors import BadRequest
from jaxbench.options.study_tables import TABLE_FILES
from jaxbench.store import is_locked
from jaxbench.store.shard import PARTIAL, SHARDS, is_of_the_store

RECORD = "run.json"
# What a run is made of.
FILES = {
    RECORD,
    "config.yaml",
    "plan.json",
    "card.json",
    "card.txt",
    "summary.csv",
    "trials.parquet",
    "report.html",
    *(f"{name}.csv" for name in TABLE_FILES),
}
FIGURES = {".svg", ".png"}


def default_directory(job: str) -> Path:
    """`runs/JOB-DATE-TIME`, to the microsecond: two jobs of one second stay apart."""
    return Path("runs") / f"{job}-{datetime.now():%Y%m%d-%H%M%S-%f}"


def check_directory(target: Path, overwrite: bool) -> None:
    """Refuse a target that could not be written in the end, before any work is done.

    **Errors:** `BadRequest` where `target` is no folder, holds another run (and `overwrite` is
    False), holds anything that is not a run, or cannot be made.
    """
    try:
        _check(target, overwrite)
    except (OSError, RuntimeError) as error:
        # A loop of links is a RuntimeError before Python 3.13.
        reason = getattr(error, "strerror", None) or str(error)
        raise BadRequest(f"out={target}: {reason.lower()}") from None


def _check(target: Path, overwrite: bool) -> None:
    if Path.cwd().is_relative_to(target.resolve()):
        raise BadRequest(f"out={target} is the current folder or above it; name a new folder")
    if target.is_symlink():
        raise BadRequest(f"out={target} is a link; name the folder itself, or a new one")
    if _is_there(target) and not target.is_dir():
        raise BadRequest(f"out={target} is not a folder; name a new one")
    if target.is_dir() and any(target.iterdir()):
        if foreign := _foreign(target):
            raise BadRequest(
                f"out={target} holds what is not a jaxbench run ({foreign}); name a new folder"
            )
        if not overwrite:
            onward = ""
            if _is_unfinished(target):
                onward = " (unfinished: the same command goes on with it with resume=true)"
            raise BadRequest(
                f"out={target} holds another run{onward}; name a new folder, or replace it with "
                "overwrite=true"
            )
        if is_locked(target):
            raise BadRequest(
                f"out={target}: a process is writing there; wait for it, stop it, or name a new "
                "folder"
            )
    parent = next(p for p in target.absolute().parents if _is_there(p))
    if not parent.is_dir():
        raise BadRequest(f"out={target}: {parent} is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise BadRequest(f"out={target}: no permission to write in {parent}")


def _foreign(folder: Path) -> str | None:
    """What in a folder is not a run of ours, or None: nothing else is ever replaced."""
    for entry in sorted(folder.iterdir()):
        if entry.name == SHARDS and entry.is_dir() and not entry.is_symlink():
            strangers = [e.name for e in entry.iterdir() if e.is_dir() or not is_of_the_store(e)]
            if strangers:
                return f"{SHARDS}/{min(strangers)}"
            continue
        # A process that was killed can leave the half of a file of ours.
        name = entry.name[1:].removesuffix(PARTIAL) if _is_partial(entry) else entry.name
        if entry.is_dir() or not (name in FILES or entry.suffix in FIGURES):
            return entry.name
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return None if "jaxbench" in record["versions"] else RECORD
    except FileNotFoundError:
        return f"no {RECORD}"
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return RECORD


def _is_unfinished(folder: Path) -> bool:
    """Whether a run of ours was stopped before its end."""
    return json.loads((folder / RECORD).read_text(encoding="utf-8")).get("state") == "unfinished"


def _is_partial(entry: Path) -> bool:
    return entry.name.startswith(".") and entry.name.endswith(PARTIAL)


@contextlib.contextmanager
def run_directory(target: Path, overwrite: bool) -> Iterator[Path]:
    """A temporary folder that becomes `target` when the block ends well, and vanishes if not."""
    check_directory(target, overwrite)
    made = [p for p in (target.parent, *target.parent.parents) if not p.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".jaxbench-", suffix=".partial", dir=target.parent))
    except OSError as error:
        _remove_empty(made)
        raise BadRequest(
            f"out={target}: cannot write in {target.parent}: {error.strerror}"
        ) from None
    # What was made for this run goes if it is interrupted: the outermost folder holds the rest.
    outermost = made[-1] if made else partial
    unfinished.add(outermost)
    # mkdtemp makes private folders; a run directory is as readable as any other.
    partial.chmod(0o777 & ~_umask())
    try:
        try:
            yield partial
        except OSError as error:
            # A full disk, most likely; what was computed is lost, what was there stays.
            raise BadRequest(f"out={target}: {(error.strerror or str(error)).lower()}") from None
        check_directory(target, overwrite)
        with unfinished.uninterrupted():
            try:
                _take_place(partial, target)
            except OSError:
                raise BadRequest(
                    f"out={target}: another run is writing there; name another folder"
                ) from None
            unfinished.done(outermost)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        _remove_empty(made)
        raise
    finally:
        unfinished.done(outermost)


def _take_place(partial: Path, target: Path) -> None:
    if not target.exists():
        partial.rename(target)
        return
    # The old run steps aside first, so that there is a whole run under the name or none.
    aside = Path(tempfile.mkdtemp(prefix=".old-", suffix=".partial", dir=target.parent))
    target.rename(aside / "run")
    try:
        partial.rename(target)
    except BaseException:
        (aside / "run").rename(target)
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _is_there(path: Path) -> bool:
    """`Path.exists`, but a name too long or a folder that may not be read is an error."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
