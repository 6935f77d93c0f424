"""`jaxbench JOB [key=value ...]`: one Hydra application per job, and answers that need no jax."""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Sequence

from jaxbench import unfinished
from jaxbench.errors import BadRequest, unknown
from jaxbench.jobs.arguments import check_arguments
from jaxbench.jobs.catalogue import JOBS, Job
from jaxbench.jobs.hydra_app import run_hydra

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
# Names from data can be long; a message of more characters loses its middle.
LONGEST = 1200


def entry() -> None:
    """The console script."""
    unfinished.handle_signals()
    # A process may be started without them (`>&-`).
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    # Figures need no display, whatever the user's matplotlib is set to.
    os.environ["MPLBACKEND"] = "agg"
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status: 0 done, 2 a bad request, 130 Ctrl-C."""
    try:
        status = _main(list(arguments))
        sys.stdout.flush()
        return status
    except BadRequest as refusal:
        return _refuse("jaxbench", refusal)
    except KeyboardInterrupt:
        print(unfinished.message(), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`); what was asked for is written.
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is not None:
            raise
        _drop_output()
        print(f"jaxbench: cannot write to standard output: {error.strerror}", file=sys.stderr)
        return FAILED


def _main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(_overview())
        return 0
    if arguments[0] in ("--version", "-V"):
        from importlib.metadata import version

        print(version("jaxbench"))
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in JOBS:
        if name.startswith("-") or "=" in name:
            raise BadRequest(f"the first word must be a job ({', '.join(JOBS)}), not {name!r}")
        raise unknown("job", name, JOBS)
    job = JOBS[name]
    if {"--help", "-h"} & set(rest):
        print(_job_help(job))
        return 0

    def refuse(refusal: BadRequest) -> int:
        return _refuse(f"jaxbench {job.name}", refusal)

    try:
        if job.words:
            # Names, not options: nothing to compose.
            job.run({"words": job.check_words(rest)}, shlex.join(["jaxbench", *arguments]), False)
            return 0
        if not rest and not job.options:
            # Nothing to compose: Hydra would cost more than the job.
            job.run({}, f"jaxbench {job.name}", False)
            return 0
        _check_folder()
        check_arguments(job, rest)
        return run_hydra(job, rest, refuse)
    except BadRequest as refusal:
        return refuse(refusal)


def _check_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        raise BadRequest("the current folder has been removed; change to another") from None


def _refuse(who: str, refusal: BadRequest) -> int:
    text = str(refusal)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    with contextlib.suppress(OSError):
        print(f"{who}: {text}", file=sys.stderr)
    return REFUSED


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _overview() -> str:
    lines = ["jaxbench JOB [key=value ...]: how far can a benchmark number be trusted?", ""]
    lines += [f"  {job.name:<10} {job.summary}" for job in JOBS.values()]
    lines += ["", "jaxbench JOB --help lists the options of a job; jaxbench --version."]
    return "\n".join(lines)


def _job_help(job: Job) -> str:
    if job.words:
        return f"jaxbench {job.name} {job.words}: {job.summary}\n\n{job.help_note.strip()}"
    if not job.options:
        return f"jaxbench {job.name}: {job.summary}\n\nThis job takes no options."
    return "\n".join(
        [
            f"jaxbench {job.name} [key=value ...]: {job.summary}",
            "",
            job.options_help(),
            job.help_note,
            "A Hydra application: `--cfg job` shows what was given (null: the preset's), `-m`",
            "with comma-separated values runs every combination, `--hydra-help` says more.",
        ]
    )
