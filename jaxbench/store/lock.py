"""One process at a time writes into a run directory.

The lock is the kernel's (`flock`), so that it ends with its process however that ends. A process
that is forked while it is held shares it. Where there is none (Windows, some network file
systems), nothing is locked.
"""

import contextlib
import errno
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from jaxbench.errors import BadRequest
from jaxbench.store.atomic import cannot_write
from jaxbench.store.shard import LOCK, SHARDS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# `is_locked` holds the lock for a moment, which must not turn away a sweep that starts just then.
TRIES, PAUSE = 5, 0.05
# What a file system without locks answers.
WITHOUT = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


def lock_file(folder: Path) -> Path:
    """Where the lock of a run directory lies; it stays there, unlocked."""
    return folder / SHARDS / LOCK


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[bool]:
    """Have a run directory to oneself; False where the system has no locks.

    **Errors:** `BadRequest` if another process has it, or if nothing can be written there.
    """
    try:
        lock_file(folder).parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock_file(folder), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        locked = _take(descriptor, folder)
        if locked:
            _sign(descriptor)
        yield locked
    finally:
        # Closing lets go of it.
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> bool:
    if fcntl is None:
        return False
    for attempt in range(TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if attempt + 1 < TRIES:
                time.sleep(PAUSE)
        except OSError as error:
            if error.errno in WITHOUT:
                return False
            raise cannot_write(folder, error) from None
    _refuse(descriptor, folder)


def _refuse(descriptor: int, folder: Path) -> NoReturn:
    who = "another process"
    with contextlib.suppress(
        OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError
    ):
        owner = json.loads(os.pread(descriptor, 1000, 0))
        who = f"process {int(owner['pid'])} on {ascii(owner['host'])[1:-1]}"
    raise BadRequest(
        f"out={folder}: {who} is writing there; wait for it, stop it, or name another folder"
    )


def _sign(descriptor: int) -> None:
    """Say who has it, for the message of whoever comes second."""
    owner = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode()
    # A full disk is no reason to refuse: the lock itself is held.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, owner, 0)


def is_locked(folder: Path) -> bool | None:
    """Whether a process is writing into a run directory; None where that cannot be told."""
    try:
        descriptor = os.open(lock_file(folder), os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        if fcntl is None:
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
