"""A job as a Hydra application whose errors are ours and which leaves nothing behind."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from jaxbench import unfinished
from jaxbench.errors import BadRequest
from jaxbench.jobs.arguments import for_hydra, is_multirun
from jaxbench.jobs.catalogue import Job


def config_directory() -> Path:
    """`conf/`: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def run_hydra(job: Job, arguments: Sequence[str], refuse: Callable[[BadRequest], int]) -> int:
    """Compose the configuration, run the job (or every job of a multirun); the exit status.

    **Arguments:** `refuse`: tells the user about a job that was refused and gives its status; the
    other jobs of a multirun go on.

    **Errors:** `BadRequest` for what Hydra cannot read or compose.
    """
    # Hydra would print its own error text and exit 1; with this its exceptions reach us.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    scratch = Path(tempfile.mkdtemp(prefix="jaxbench-"))
    unfinished.add(scratch)
    os.environ["JAXBENCH_HYDRA_SCRATCH"] = str(scratch)
    outcomes: list[int] = []

    def task(config) -> None:
        try:
            several = is_multirun(arguments)
            command = shlex.join(["jaxbench", job.name, *(_overrides() if several else arguments)])
            job.run(_plain(config), command, several)
            outcomes.append(0)
        except BadRequest as refusal:
            if is_multirun(arguments):
                refusal = BadRequest(f"{refusal} (job {' '.join(_overrides())})")
            outcomes.append(refuse(refusal))

    before = sys.argv
    sys.argv = ["jaxbench", *for_hydra(job, arguments)]
    try:
        hydra.main(str(config_directory()), job.name, version_base="1.3")(task)()
    except (HydraException, OmegaConfBaseException) as error:
        raise _unreadable(arguments, error) from None
    finally:
        sys.argv = before
        shutil.rmtree(scratch, ignore_errors=True)
        unfinished.done(scratch)
    return max(outcomes, default=0)


def _overrides() -> list[str]:
    """The options of this job of a multirun."""
    from hydra.core.hydra_config import HydraConfig

    return list(HydraConfig.get().overrides.task)


def _plain(config) -> dict[str, object]:
    """The options as plain values."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        options = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        raise BadRequest(f"{getattr(error, 'full_key', '')}: {_first_line(error)}") from None
    assert isinstance(options, dict)
    return {str(key): value for key, value in options.items()}


def _unreadable(arguments: Sequence[str], error: Exception) -> BadRequest:
    """What Hydra could not read, with the word it was in where that can be found."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    for word in arguments:
        if word.startswith("-"):
            continue
        try:
            OverridesParser.create().parse_override(word)
        except HydraException as unread:
            # Names of columns hold anything.
            quote = "; write such names in quotes, as in columns={score:'acc (%)'}"
            hint = quote if word.startswith(("columns=", "where=")) else ""
            return BadRequest(f"{word} cannot be read: {_first_line(unread)}{hint}")
    return BadRequest(_first_line(error))


def _first_line(error: Exception) -> str:
    """What went wrong, without Hydra's hints on its own flags."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
