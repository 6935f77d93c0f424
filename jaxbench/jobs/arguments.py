"""Command lines: what Hydra would refuse less clearly, or read as something else."""

import re
import shlex
from collections.abc import Sequence

from jaxbench.errors import BadRequest
from jaxbench.jobs.catalogue import Job
from jaxbench.options.parse import no_address

# What Hydra understands; jaxbench has no flags of its own.
WITH_VALUE = frozenset(
    ("--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn",
     "--config-dir", "-cd")
)  # fmt: skip
MODES = frozenset(("--run", "-r", "--multirun", "-m", "--cfg", "-c", "--info", "-i",
                   "--shell-completion", "-sc"))  # fmt: skip
FLAGS = WITH_VALUE | MODES | {"--hydra-help", "--resolve"}
CFG_VALUES = ("job", "hydra", "all")
# Path values that Hydra's grammar takes as they are.
PLAIN = re.compile(r"[A-Za-z0-9_./\-+%*@?|]*")


def check_arguments(job: Job, arguments: Sequence[str]) -> None:
    """Refuse a command line before Hydra is loaded.

    **Errors:** `BadRequest` for a flag that is not Hydra's, modes that exclude each other, a word
    that is no `key=value`, an option that does not exist, and a path that has to be quoted.
    """
    _check_modes(arguments)
    multirun = is_multirun(arguments)
    waiting = False
    for word in arguments:
        if waiting:
            waiting = False
            continue
        flag = word.split("=")[0]
        if word.startswith("-"):
            if flag not in FLAGS:
                hint = flag.lstrip("-").replace("-", "_")
                raise BadRequest(f"unknown flag {flag}; options are given as {hint}=VALUE")
            waiting = word in WITH_VALUE
            continue
        if "=" not in word and not word.startswith("~"):
            raise BadRequest(f"{word!r} is not an option; options are given as key=value")
        key, _, value = word.partition("=")
        key = key.lstrip("+~")
        if key.startswith(("hydra.", "hydra/")):
            continue
        job.check_option(key)
        if key in job.path_options or key == "benchmark":
            no_address(key, value)
        listed = key in job.list_options and value.startswith("[")
        if key in job.path_options and not listed:
            _check_path(job, key, value, multirun)
        if key == "out" and multirun and "," not in value and "${" not in value:
            raise BadRequest(
                f"out={value} is one folder and -m makes several runs; leave it out, or write it "
                "as 'out=FOLDER/${hydra:job.num}'"
            )


def is_multirun(arguments: Sequence[str]) -> bool:
    """Whether several jobs are asked for."""
    return bool({"--multirun", "-m"} & set(arguments))


def for_hydra(job: Job, arguments: Sequence[str]) -> list[str]:
    """The arguments with text as text: `out=1e3` is a name, and `tie_seed=1.50` keeps its zero."""
    multirun = is_multirun(arguments)
    return [_as_text(job, word, multirun) for word in arguments]


def _as_text(job: Job, word: str, multirun: bool) -> str:
    key, _, value = word.partition("=")
    if key.lstrip("+") not in job.path_options | job.text_options or value in ("", "null"):
        return word
    if value[:1] in ("'", '"') or "${" in value or (multirun and "," in value):
        return word
    # A list of scores is a list; `metric,filter` without brackets is one score.
    if key.lstrip("+") in job.list_options and value.startswith("[") and value.endswith("]"):
        return word
    return f"{key}={quoted(value)}"


def quoted(value: str) -> str:
    """Text in quotes as Hydra reads them: a backslash escapes only before a quote or the end."""
    return '"' + re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + m[2].replace('"', r"\""), value) + '"'


def _check_modes(arguments: Sequence[str]) -> None:
    modes = [word.split("=")[0] for word in arguments if word.split("=")[0] in MODES]
    if len(modes) > 1:
        raise BadRequest(f"only one of {' and '.join(modes)} can be given")
    words = [*arguments, ""]
    for index, word in enumerate(arguments):
        if word in ("--cfg", "-c") and words[index + 1] not in CFG_VALUES:
            raise BadRequest(f"{word} {words[index + 1]}: expected one of {', '.join(CFG_VALUES)}")
        if word in ("--shell-completion", "-sc") and not re.fullmatch(
            r"(install|uninstall|query)=\w+", words[index + 1]
        ):
            raise BadRequest(f"{word}: expected install=SHELL, uninstall=SHELL or query=SHELL")


def _check_path(job: Job, key: str, value: str, multirun: bool) -> None:
    if value[:1] in ("'", '"') or "${" in value:
        return
    if not PLAIN.fullmatch(value.replace(",", "") if multirun else value):
        word = shlex.quote(f"{key}={quoted(value)}")
        raise BadRequest(
            f"{key}={value} holds characters that must be quoted; write it as\n"
            f"  jaxbench {job.name} {word}"
        )
