"""Run directories: complete or not there at all."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from jaxbench.errors import BadRequest

# Every run directory holds this file; nothing else is ever replaced.
MARK = "run.json"


def default_directory(job: str) -> Path:
    """`runs/JOB-DATE-TIME`, to the microsecond: two jobs of one second stay apart."""
    return Path("runs") / f"{job}-{datetime.now():%Y%m%d-%H%M%S-%f}"


def check_directory(target: Path, overwrite: bool) -> None:
    """Refuse a target that could not be written in the end, before any work is done.

    **Errors:** `BadRequest` where `target` is a file, holds another run (and `overwrite` is
    False), or holds anything that is not a run.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BadRequest(f"out={target} is not a folder; name a new one")
    if target.is_dir() and any(target.iterdir()):
        if not (target / MARK).is_file():
            raise BadRequest(
                f"out={target} holds files that are not a jaxbench run; name a new folder"
            )
        if not overwrite:
            raise BadRequest(
                f"out={target} holds another run; name a new folder, or replace it with "
                "overwrite=true"
            )
    parent = _existing_parent(target)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise BadRequest(f"out={target}: no permission to write in {parent}")


@contextlib.contextmanager
def run_directory(target: Path, overwrite: bool) -> Iterator[Path]:
    """A temporary folder that becomes `target` when the block ends well, and vanishes if not."""
    check_directory(target, overwrite)
    made = _make_parents(target.parent)
    partial = Path(
        tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".partial", dir=target.parent)
    )
    # mkdtemp makes private folders; a run directory is as readable as any other.
    partial.chmod(0o777 & ~_umask())
    try:
        yield partial
        check_directory(target, overwrite)
        _take_place(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _take_place(partial: Path, target: Path) -> None:
    if not target.exists():
        partial.rename(target)
        return
    # The old run steps aside first, so that there is a whole run under the name or none.
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".old", dir=target.parent))
    target.rename(aside / target.name)
    partial.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def _make_parents(folder: Path) -> list[Path]:
    """Make `folder`; returns what was made, innermost first."""
    missing = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(f"cannot make {folder}: {error.strerror}") from None
    return missing


def _existing_parent(target: Path) -> Path:
    return next(p for p in target.absolute().parents if p.exists())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
