"""Files that are whole or not there: written beside their place, then renamed into it."""

import contextlib
import errno
import os
from pathlib import Path

from jaxbench import unfinished
from jaxbench.errors import BadRequest
from jaxbench.store.shard import PARTIAL

FULL = (errno.ENOSPC, errno.EDQUOT)
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_atomically(path: Path, data: bytes, settle: bool = True) -> None:
    """Put `data` under the name `path`; whoever reads sees the old file or the new one.

    **Arguments:** `settle`: wait until the bytes are on the disk, so that a power cut leaves a
    whole file too.

    **Errors:** `OSError`; the old file stays then, and nothing new.
    """
    partial = path.with_name(f".{path.name}{PARTIAL}")
    unfinished.add(partial)
    try:
        with partial.open("wb") as file:
            file.write(data)
            if settle:
                file.flush()
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    finally:
        unfinished.done(partial)


def remove_partials(folder: Path, older: float | None = None) -> None:
    """Remove what killed processes left half-written; only for who has the folder to itself.

    **Arguments:** `older`: spare what was changed since that moment.
    """
    for partial in folder.glob(f".*{PARTIAL}"):
        with contextlib.suppress(OSError):
            if older is None or partial.stat().st_mtime < older:
                partial.unlink()


def cannot_write(folder: Path, error: OSError) -> BadRequest:
    """What the user is told when a sweep cannot write; what is finished stays in every case."""
    kept = "finished shards are kept"
    if error.errno in FULL:
        reason = "the disk is full" if error.errno == errno.ENOSPC else "the disk quota is used up"
        return BadRequest(
            f"out={folder}: {reason}; {kept}: make room, then go on with resume=true and the same "
            "options"
        )
    if error.errno in CLOSED:
        reason = (error.strerror or "no permission to write").lower()
        return BadRequest(
            f"out={folder}: cannot write there ({reason}); {kept}: make the folder writable, then "
            "go on with resume=true and the same options"
        )
    reason = (error.strerror or str(error)).lower()
    return BadRequest(
        f"out={folder}: {reason}; {kept}: go on with resume=true and the same options"
    )
