"""`jaxbench JOB [key=value ...]`: one Hydra application per job, and answers that need no jax."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jaxbench.errors import BadRequest, unknown
from jaxbench.jobs.catalogue import JOBS, Job

# What Hydra understands; jaxbench has no flags of its own.
HYDRA_FLAGS = frozenset(
    (
        "--hydra-help", "--cfg", "-c", "--resolve", "--package", "-p", "--run", "-r",
        "--multirun", "-m", "--shell-completion", "-sc", "--config-path", "-cp",
        "--config-name", "-cn", "--config-dir", "-cd", "--experimental-rerun", "--info", "-i",
    )
)  # fmt: skip
# Characters that Hydra's grammar reads as more than text.
NEEDS_QUOTES = re.compile(r"[=,()\[\]{}:\s'\"\\$#]")
REFUSED, INTERRUPTED, TERMINATED = 2, 130, 143


def entry() -> None:
    """The console script."""
    # A batch system's SIGTERM unwinds like Ctrl-C, so that nothing half-written stays.
    signal.signal(signal.SIGTERM, _terminate)
    status = main(sys.argv[1:])
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.exit(status)


class _Terminated(KeyboardInterrupt):
    """SIGTERM."""


def _terminate(*_: object) -> None:
    raise _Terminated


def main(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status: 0 done, 2 a bad request, 130 Ctrl-C, 143 SIGTERM."""
    try:
        return _main(list(arguments))
    except BadRequest as refusal:
        return _refuse("jaxbench", refusal)
    except KeyboardInterrupt as stop:
        print("jaxbench: interrupted", file=sys.stderr)
        return TERMINATED if isinstance(stop, _Terminated) else INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`); what was asked for is written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


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
    try:
        multirun = bool({"--multirun", "-m"} & set(rest))
        check_arguments(job, rest, multirun)
        return _run_hydra(job, rest)
    except BadRequest as refusal:
        return _refuse(f"jaxbench {job.name}", refusal)


def check_arguments(job: Job, arguments: Sequence[str], multirun: bool = False) -> None:
    """Refuse what Hydra would refuse less clearly, before Hydra is loaded.

    **Errors:** `BadRequest` for a flag that is not Hydra's, a word that is no `key=value`, an
    option that does not exist, and a path that has to be quoted.
    """
    takes_value = {"--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name",
                   "-cn", "--config-dir", "-cd", "--info", "-i"}  # fmt: skip
    after = ""
    for word in arguments:
        before, after = after, word
        if before in takes_value:
            after = ""
            continue
        flag = word.split("=")[0]
        if word.startswith("-"):
            if flag in HYDRA_FLAGS:
                continue
            hint = flag.lstrip("-").replace("-", "_")
            raise BadRequest(f"unknown flag {flag}; options are given as {hint}=VALUE")
        if "=" not in word and not word.startswith("~"):
            raise BadRequest(f"{word!r} is not an option; options are given as key=value")
        key, _, value = word.partition("=")
        key = key.lstrip("+~")
        if key.startswith(("hydra.", "hydra/")):
            continue
        job.check_option(key)
        if key in job.path_options:
            _check_path(job, key, value, multirun)


def _check_path(job: Job, key: str, value: str, multirun: bool) -> None:
    if value[:1] in ("'", '"') or "${" in value:
        return
    special = value.replace(",", "") if multirun else value
    if NEEDS_QUOTES.search(special):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        raise BadRequest(
            f"{key}={value} holds characters that must be quoted; write it as\n"
            f"""  jaxbench {job.name} '{key}="{escaped}"'"""
        )


def config_directory() -> Path:
    """`conf/`: inside the installed package, or beside it in a checkout."""
    inside = Path(__file__).resolve().parent / "conf"
    return inside if inside.is_dir() else inside.parent.parent / "conf"


def _run_hydra(job: Job, arguments: list[str]) -> int:
    # Hydra would print its own error text and exit 1; with this its exceptions reach us.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    scratch = tempfile.mkdtemp(prefix="jaxbench-")
    os.environ["JAXBENCH_HYDRA_SCRATCH"] = scratch
    outcomes: list[int] = []

    def task(config) -> None:
        outcomes.append(_run_job(job, config, shlex.join(["jaxbench", job.name, *arguments])))

    before = sys.argv
    sys.argv = ["jaxbench", *arguments]
    try:
        hydra.main(str(config_directory()), job.name, version_base="1.3")(task)()
    except (HydraException, OmegaConfBaseException) as error:
        raise BadRequest(_first_line(error)) from None
    finally:
        sys.argv = before
        shutil.rmtree(scratch, ignore_errors=True)
    return max(outcomes, default=0)


def _run_job(job: Job, config, command: str) -> int:
    """One job of a run or multirun: a refusal is reported here and the other jobs go on."""
    from omegaconf import OmegaConf

    options = OmegaConf.to_container(config, resolve=True)
    assert isinstance(options, dict)
    try:
        job.run({str(key): value for key, value in options.items()}, command)
    except BadRequest as refusal:
        return _refuse(f"jaxbench {job.name}", refusal)
    return 0


def _refuse(who: str, refusal: BadRequest) -> int:
    with contextlib.suppress(BrokenPipeError):
        print(f"{who}: {refusal}", file=sys.stderr)
    return REFUSED


def _first_line(error: Exception) -> str:
    """What went wrong, without Hydra's hints on its own flags."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _overview() -> str:
    lines = ["jaxbench JOB [key=value ...]: how far can a benchmark number be trusted?", ""]
    lines += [f"  {job.name:<10} {job.summary}" for job in JOBS.values()]
    lines += ["", "jaxbench JOB --help lists the options of a job; jaxbench --version."]
    return "\n".join(lines)


def _job_help(job: Job) -> str:
    return "\n".join(
        [
            f"jaxbench {job.name} [key=value ...]: {job.summary}",
            "",
            job.options_help(),
            "",
            "A Hydra application: `--cfg job` shows the configuration, `-m` with",
            "comma-separated values runs every combination, `--hydra-help` says more.",
        ]
    )
