"""An option of a job, and its tables for `--help` and the README."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from jaxbench.errors import BadRequest, nearest


@dataclass(frozen=True)
class Option:
    """One option: its default under each preset, what it takes, what it means.

    A job without presets gives `published` only. `built` is False for an option that has its name
    already but is not built yet; it is refused.
    """

    name: str
    published: str
    simulation: str
    values: str
    meaning: str
    built: bool = True


def built(options: Sequence[Option]) -> tuple[Option, ...]:
    """The options that this version has."""
    return tuple(option for option in options if option.built)


def check_name(name: str, options: Sequence[Option]) -> None:
    """Refuse an option that does not exist, or is not built yet.

    **Errors:** `BadRequest` with the nearest option that is.
    """
    for option in options:
        if option.name == name:
            if option.built:
                return
            raise BadRequest(f"option {name} is not built yet")
    known = [option.name for option in built(options)]
    if not known:
        raise BadRequest(f"unknown option {name!r}; this job takes none")
    raise BadRequest(f"unknown option {name!r}; {nearest(name, known)}")


def markdown_table(options: Sequence[Option], presets: bool = True) -> str:
    """The option table of the README."""
    heads = ["`preset=published`", "`preset=simulation`"] if presets else ["default"]
    rows = [["option", *heads, "values", "meaning"], ["---"] * (3 + len(heads))]
    for o in built(options):
        defaults = [o.published, o.simulation] if presets else [o.published]
        rows.append([f"`{o.name}`", *defaults, o.values, o.meaning])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def help_table(options: Sequence[Option], width: int = 100) -> str:
    """The option table of `--help`, plain text."""
    lines = []
    indent = " " * 20
    for option in built(options):
        entry = f"{option.meaning}. Values: {option.values}."
        if option.name == "preset":
            entry += " Default: published, and simulation with path."
        elif option.published and option.simulation in ("", option.published, "the same"):
            entry += f" Default: {option.published}."
        elif option.published:
            entry += f" Default: {option.published} (published); {option.simulation} (simulation)."
        filled = fill(
            entry.replace("`", ""), width, initial_indent=indent, subsequent_indent=indent
        )
        lines.append(f"  {option.name:<18}{filled.lstrip()}")
    return "\n".join(lines)
