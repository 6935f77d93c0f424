"""How every command with a run directory begins: where it writes, and how it goes."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from jaxbench.jobs.progress import log_option
from jaxbench.jobs.run_directory import check_directory, default_directory
from jaxbench.jobs.sweep_directory import check_one
from jaxbench.options.parse import boolean, text

# Narrower tables would lose their numbers.
NARROWEST = 80


@dataclass(frozen=True)
class Start:
    """The options around a job, checked; `target` is free to be written."""

    target: Path
    overwrite: bool
    resume: bool
    dry_run: bool
    log: str | None
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, job: str, options: Mapping[str, object]) -> "Start":
        """Check the options that say where and how a job runs.

        **Errors:** `BadRequest`, also where the target holds something that may not be replaced.
        """
        out = options.get("out")
        target = default_directory(job) if out is None else Path(text("out", out))
        overwrite, resume, dry_run = (
            boolean(name, options.get(name) or False) for name in ("overwrite", "resume", "dry_run")
        )
        check_one(resume, overwrite)
        if not (resume or dry_run):
            check_directory(target, overwrite)
        return cls(target, overwrite, resume, dry_run, log_option(options.get("log")))

    @property
    def seconds(self) -> float:
        """Wall seconds since the start."""
        return round(time.perf_counter() - self.started, 3)


def wide_console() -> Console:
    """Standard output, at least as wide as a table of numbers needs."""
    console = Console()
    console.width = max(console.width, NARROWEST)
    return console
