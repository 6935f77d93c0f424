"""What a long job tells while it runs: bars on a terminal, JSON lines, or nothing.

    with progress(log, console) as report:
        report.start(conditions=64, trials=64_000, conditions_done=8, trials_done=8_000)
        report.advance(250)
        report.event("shard", file="...", seconds=1.2)

With `log=json`, one object a line goes to standard error: `time` (ISO, UTC), `event`, and what the
event holds. Events: `start`, `progress` (at most one in some seconds), one of `done`, `failed` and
`interrupted`, and those of the job: `compile`, `shard`, `damaged`. Neither the environment nor the
command line is told, only what the job hands over. What every command says of a refusal or an
interruption is still a plain line.
"""

import contextlib
import io
import json
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from jaxbench import unfinished
from jaxbench.errors import visible
from jaxbench.options import parse

# Seconds between two `progress` events.
INTERVAL = 5.0
# Clears the line and shows the cursor, which a bar hides.
RESTORE = b"\r\x1b[K\x1b[?25h"


@runtime_checkable
class Stream(Protocol):
    """Where lines go."""

    def write(self, text: str, /) -> object:
        """Take a text."""
        ...

    def flush(self) -> object:
        """Let go of what was taken."""
        ...


@runtime_checkable
class Report(Protocol):
    """What a job tells of its progress."""

    def start(
        self, conditions: int, trials: int, conditions_done: int = 0, trials_done: int = 0
    ) -> None:
        """All there is to do, and what an earlier run did of it; trials count per condition."""
        ...

    def advance(self, trials: int, conditions: int = 0, name: str = "") -> None:
        """So many more are done; `name`: what is being worked on."""
        ...

    def event(self, kind: str, **facts: object) -> None:
        """Something happened."""
        ...


def log_option(value: object) -> str | None:
    """The option `log`.

    **Errors:** `BadRequest` for anything but `json`.
    """
    return None if value is None else parse.choice("log", value, ("json",), ("json",))


@contextlib.contextmanager
def progress(
    log: str | None = None, console: Console | None = None, interval: float = INTERVAL
) -> Iterator[Report]:
    """JSON lines if `log` is `json`, bars if `console` (standard output) is a terminal, or nothing.

    **Arguments:** `interval`: seconds between two `progress` events of `log=json`.
    """
    console = console or Console()
    if log == "json":
        lines = JsonReport(sys.stderr, interval)
        try:
            with unfinished.at_the_end(lambda: lines.end("interrupted")):
                yield lines
        except BaseException as error:
            lines.end("failed", error=type(error).__name__)
            raise
        lines.end("done")
    elif console.is_terminal:
        bars = BarReport(console)
        with unfinished.at_the_end(lambda: _restore(console)), bars.bars:
            yield bars
    else:
        yield SilentReport()


class SilentReport:
    """Says nothing."""

    def start(
        self, conditions: int, trials: int, conditions_done: int = 0, trials_done: int = 0
    ) -> None:
        """Nothing."""

    def advance(self, trials: int, conditions: int = 0, name: str = "") -> None:
        """Nothing."""

    def event(self, kind: str, **facts: object) -> None:
        """Nothing."""


class JsonReport:
    """One JSON object a line."""

    def __init__(self, stream: Stream | None, interval: float = INTERVAL) -> None:
        self._stream = stream
        self._interval = interval
        # Devices may report from threads of their own.
        self._lock = threading.RLock()
        self._total = self._done = self._before = (0, 0)
        self._started = self._told = time.monotonic()

    def start(
        self, conditions: int, trials: int, conditions_done: int = 0, trials_done: int = 0
    ) -> None:
        """See `Report`."""
        self._total = (conditions, trials)
        self._done = self._before = (conditions_done, trials_done)
        self._started = self._told = time.monotonic()
        self.event("start", **self._counts())

    def advance(self, trials: int, conditions: int = 0, name: str = "") -> None:
        """See `Report`."""
        with self._lock:
            self._done = (self._done[0] + conditions, self._done[1] + trials)
            now = time.monotonic()
            if now - self._told < self._interval:
                return
            self._told = now
        self.event("progress", **self._counts(), **self._speed(), name=name or None)

    def event(self, kind: str, **facts: object) -> None:
        """See `Report`."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        told = {name: _plain(fact) for name, fact in facts.items()}
        line = json.dumps({"time": now, "event": kind} | told)
        with self._lock:
            if self._stream is None:
                return
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except RuntimeError:
                # A signal came in the middle of a line, and this is what it wants to say.
                return
            except (OSError, ValueError):
                # Who read it has gone; the job goes on.
                self._stream = None

    def end(self, kind: str, **facts: object) -> None:
        """The last event, with all counts."""
        self.event(kind, **self._counts(), **self._speed(), **facts)

    def _counts(self) -> dict[str, object]:
        return {
            "conditions_done": self._done[0], "conditions": self._total[0],
            "trials_done": self._done[1], "trials": self._total[1],
        }  # fmt: skip

    def _speed(self) -> dict[str, object]:
        """Of what this process did, not of what it found done."""
        seconds = time.monotonic() - self._started
        made = self._done[1] - self._before[1]
        rate = made / seconds if seconds > 0 else 0.0
        left = (self._total[1] - self._done[1]) / rate if rate else None
        return {
            "seconds": round(seconds, 3),
            "trials_per_second": round(rate, 3),
            "seconds_left": None if left is None else round(left, 1),
        }


class BarReport:
    """A bar of conditions and one of trials, with their rate and the time left."""

    def __init__(self, console: Console) -> None:
        self.bars = Progress(
            # Names from data hold brackets, which are no markup.
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
            _Rate(), TimeRemainingColumn(), console=console, transient=True,
        )  # fmt: skip
        self._conditions = self._trials = None

    def start(
        self, conditions: int, trials: int, conditions_done: int = 0, trials_done: int = 0
    ) -> None:
        """See `Report`."""
        self._conditions = self.bars.add_task(
            "conditions", total=conditions, completed=conditions_done
        )
        self._trials = self.bars.add_task("trials", total=trials, completed=trials_done)

    def advance(self, trials: int, conditions: int = 0, name: str = "") -> None:
        """See `Report`."""
        if self._conditions is None or self._trials is None:
            return
        if conditions:
            self.bars.advance(self._conditions, conditions)
        self.bars.update(
            self._trials, advance=trials, description=f"trials {visible(name)}".strip()
        )

    def event(self, kind: str, **facts: object) -> None:
        """Only damage is worth a line of its own above the bars."""
        if kind == "damaged":
            words = " ".join(visible(str(value)) for value in facts.values())
            self.bars.console.print(Text(f"damaged: {words}"), soft_wrap=True)


class _Rate(ProgressColumn):
    """How many are done in a second."""

    def render(self, task: Task) -> Text:
        """The rate, or a dash before there is one."""
        speed = task.finished_speed or task.speed
        if speed is None:
            return Text("-/s")
        return Text(f"{speed:,.0f}/s" if speed >= 100 else f"{speed:.2g}/s")


def _restore(console: Console) -> None:
    """Leave the terminal to whoever speaks last: no bar, and the cursor."""
    descriptor = console.file.fileno()
    # rich draws from a thread of its own, and catches what is printed to draw it above the bars.
    console.file = io.StringIO()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        setattr(sys, name, getattr(stream, "rich_proxied_file", stream))
    os.write(descriptor, RESTORE)


def _plain(value: object) -> object:
    """What JSON can hold; numbers of numpy are numbers, and what is not finite is null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item") and not isinstance(value, str):
        with contextlib.suppress(ValueError, TypeError):
            value = value.item()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
