"""Folders that must not outlive an interrupted process.

Python drops a KeyboardInterrupt that lands in a callback of C code (jax has some), and libraries
turn one that lands in an import into an ImportError. So Ctrl-C and SIGTERM do not unwind the
stack: the handler removes what is registered here and ends the process.
"""

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

# Innermost last. What a handler of signals sees has to be global to the process.
_folders: list[Path] = []
_deferred: list[int] = []
_holding = False


def add(folder: Path) -> None:
    """Remove a folder with what is in it, or a file, if the process is told to stop."""
    _folders.append(folder)


def done(folder: Path) -> None:
    """`folder` is finished, or already gone."""
    with contextlib.suppress(ValueError):
        _folders.remove(folder)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off signals for a moment: two renames that belong together."""
    global _holding
    _holding = True
    try:
        yield
    finally:
        _holding = False
        if _deferred:
            _stop(_deferred.pop(), None)


def handle_signals() -> None:
    """End on Ctrl-C with status 130 (SIGTERM: 143, SIGHUP: 129) and leave nothing half-written."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # Windows has no SIGHUP.
        number = getattr(signal, name, None)
        # Under `nohup` a hang-up is ignored, and stays so.
        if number and not (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> None:
    if _holding:
        _deferred.append(number)
        return
    for folder in reversed(_folders):
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                folder.unlink()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        print("jaxbench: interrupted", file=sys.stderr, flush=True)
    os._exit(128 + number)
