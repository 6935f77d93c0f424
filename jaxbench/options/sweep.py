"""The options of `jaxbench sweep`: those of a study, and any of an attack in place of its own."""

from collections.abc import Mapping
from dataclasses import replace

from jaxbench.errors import BadRequest
from jaxbench.options import parse
from jaxbench.options.grid import WORLD
from jaxbench.options.option import Option
from jaxbench.options.table import ATTACK, RUNNING
from jaxbench.options.world import PARAMETERS

OWN = (
    Option("study", "", "", "a name of `sweeps/`, or a YAML file of that form",
           "what is asked, and what is varied"),
    Option("size", "`smoke`", "", "`smoke`, `full`", "a look in seconds, or the whole study"),
    Option("resume", "false", "", "true, false",
           "go on with the sweep in `out`; starts one where nothing is"),
    Option("out", "`runs/sweep-DATE-TIME`", "", "a folder", "the run directory"),
    Option("overwrite", "false", "", "true, false",
           "replace the results of another run in `out`"),
    *(replace(option, simulation="") for option in RUNNING),
)  # fmt: skip
OWN_NAMES = tuple(option.name for option in OWN)
# Any of these in place of the study's own value; a list where the study varies it.
OVERRIDES = tuple(
    replace(option, published="the study's", simulation="")
    for option in ATTACK
    if option.name not in OWN_NAMES
)
IN_WORLD = Option(
    WORLD, "the study's", "", "`{PARAMETER:VALUE,...}`",
    "a synthetic world in place of a benchmark: " + ", ".join(f"`{p.name}`" for p in PARAMETERS),
)  # fmt: skip
SWEEP = (*OWN, *OVERRIDES, IN_WORLD)


def overrides(options: Mapping[str, object]) -> dict[str, object]:
    """The options that take the place of the study's.

    **Errors:** `BadRequest` for a world together with a benchmark.
    """
    given = {
        name: value
        for name, value in options.items()
        if name not in OWN_NAMES and value is not None
    }
    if WORLD in given and ("benchmark" in given or "path" in given):
        raise BadRequest("world together with benchmark or path: outcomes come from one of them")
    if "benchmark" in given and "path" in given:
        raise BadRequest("benchmark together with path: outcomes come from one of the two")
    return given


def study_and_size(options: Mapping[str, object]) -> tuple[str, str]:
    """The study that is asked for, and its size.

    **Errors:** `BadRequest` where none is named.
    """
    from jaxbench.options.study import study_names

    if options.get("study") is None:
        raise BadRequest(f"name a study: study={'|'.join(study_names())}, or a YAML file")
    size = options.get("size")
    return parse.text("study", options["study"]), "smoke" if size is None else str(size)
