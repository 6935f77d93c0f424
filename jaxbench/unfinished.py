"""Folders that must not outlive an interrupted process.

Python drops a KeyboardInterrupt that lands in a callback of C code (jax has some), and libraries
turn one that lands in an import into an ImportError. So Ctrl-C, SIGTERM and SIGUSR1 (the warning
that Slurm gives before it ends a job) do not unwind the stack: the handler removes what is
registered here and ends the process.
"""

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

# Innermost last. What a handler of signals sees has to be global to the process.
_folders: list[Path] = []
_last_acts: list[Callable[[], object]] = []
_advice: list[str] = []
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
def advising(sentence: str) -> Iterator[None]:
    """What else to say if the process is told to stop in this block: what is kept, how to go on."""
    _advice.append(sentence)
    try:
        yield
    finally:
        _advice.remove(sentence)


@contextlib.contextmanager
def at_the_end(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` if the process is told to stop in this block (show the cursor again)."""
    _last_acts.append(act)
    try:
        yield
    finally:
        _last_acts.remove(act)


def message() -> str:
    """What an interrupted process says."""
    return "; ".join(["jaxbench: interrupted", *_advice[-1:]])


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
    """End on Ctrl-C with status 130 (128 + n for signal n) and leave nothing half-written.

    The others are SIGTERM (143), SIGHUP (129) and SIGUSR1 (138). Python runs a handler between two
    steps of its own, so a compiled program runs to its end first.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"):
        # Windows has neither SIGHUP nor SIGUSR1.
        number = getattr(signal, name, None)
        # Under `nohup` a hang-up is ignored, and stays so.
        passed_over = name in ("SIGHUP", "SIGUSR1")
        if number and not (passed_over and signal.getsignal(number) == signal.SIG_IGN):
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> None:
    if _holding:
        _deferred.append(number)
        return
    try:
        for act in reversed(_last_acts):
            with contextlib.suppress(Exception):
                act()
        for folder in reversed(_folders):
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    folder.unlink()
        _say(sys.stdout, "")
        _say(sys.stderr, f"{message()}\n")
    finally:
        os._exit(128 + number)


def _say(stream: TextIO | None, text: str) -> None:
    """Write out what waits in a stream, and a last text."""
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except RuntimeError:
        # The signal came while this very stream was being written to: no buffer, then.
        with contextlib.suppress(OSError, ValueError):
            os.write(stream.fileno(), text.encode())
    except (OSError, ValueError):
        pass
