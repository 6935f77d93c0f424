"""The command line, run inside this process: a tenth of a second where a process takes two."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jaxbench.cli import main

# A run that is over in a moment.
QUICK = ("trials=4", "budgets=[1,2,4]", "resamples=20")


@dataclass(frozen=True)
class Answer:
    """What a command line gave back."""

    status: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]


def everything_below(folder: Path) -> set[str]:
    """Every file and folder below `folder`, hidden ones too."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@contextlib.contextmanager
def elsewhere(home: Path) -> Iterator[Path]:
    """A new folder below `home` as current folder; checks that temporary files are removed."""
    here, scratch = home / "here", home / "scratch"
    here.mkdir()
    scratch.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setattr(tempfile, "tempdir", str(scratch))
        # cli.py sets these two for Hydra: with their old values put back, no test sees another.
        for name in ("HYDRA_FULL_ERROR", "JAXBENCH_HYDRA_SCRATCH"):
            patch.setenv(name, os.environ.get(name, ""))
        yield here
        assert everything_below(scratch) == set()


def answer(capsys: pytest.CaptureFixture[str], *arguments: object) -> Answer:
    """Run `jaxbench ARGUMENTS` in this process."""
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    return Answer(status, *capsys.readouterr())


def refused(
    capsys: pytest.CaptureFixture[str],
    here: Path,
    arguments: tuple[object, ...],
    *words: str,
    lines: int = 1,
) -> str:
    """Run a bad request and check how it is refused; the text on standard error.

    Exit status 2, one line that starts with the command and holds every one of `words`, nothing
    on standard output, and the current folder as it was.
    """
    before = everything_below(here)
    found = answer(capsys, *arguments)
    assert found.status == 2, found
    assert found.out == ""
    assert len(found.err.splitlines()) == lines, found.err
    assert found.err.startswith("jaxbench"), found.err
    assert "Traceback" not in found.err
    for word in words:
        assert word in found.err, (word, found.err)
    assert everything_below(here) == before
    return found.err
