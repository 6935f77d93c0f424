"""Mechanisms and submitters with their parameters, for `--help` and the README."""

from collections.abc import Sequence
from textwrap import fill

from jaxbench.options.mechanism import MECHANISMS, MechanismSpec, Parameter
from jaxbench.options.parameter import default_text, values_text
from jaxbench.options.submitter import SUBMITTERS, SubmitterSpec


def markdown_parameters(head: str, specs: Sequence[MechanismSpec | SubmitterSpec]) -> str:
    """A table of the README: a row per mechanism or submitter, and one per parameter.

    **Arguments:** `head`: what the first column names.
    """
    rows = [[head, "parameter", "default", "values", "meaning"], ["---"] * 5]
    for spec in specs:
        rows.append([f"`{spec.name}`", "", "", "", _summary(spec)])
        for p in spec.parameters:
            rows.append(["", f"`{p.name}`", default_text(p), values_text(p), p.meaning])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def help_parameters(
    head: str, specs: Sequence[MechanismSpec | SubmitterSpec], width: int = 100
) -> str:
    """The same for `--help`, plain text."""
    lines = [head]
    for spec in specs:
        lines.append(_entry(f"  {spec.name:<18}", 20, _summary(spec), width))
        lines += [_entry(f"    {p.name:<16}", 22, _described(p), width) for p in spec.parameters]
    return "\n".join(lines)


def choices_help() -> str:
    """What `mechanism=` and `submitter=` take, for the end of `--help`."""
    return "\n\n".join(
        ["", help_parameters("mechanism=", MECHANISMS), help_parameters("submitter=", SUBMITTERS)]
    )


def _summary(spec: MechanismSpec | SubmitterSpec) -> str:
    if isinstance(spec, SubmitterSpec):
        return spec.summary + (" (`routers=prng`)" if spec.fresh else "")
    facts = []
    if spec.places:
        facts.append("`on`: " + ", ".join(f"`{place}`" for place in spec.places))
    if spec.state:
        facts.append("`state`: `team`" + (", `global`" if spec.global_state else ""))
    return spec.summary + (f" ({'; '.join(facts)})" if facts else "")


def _described(parameter: Parameter) -> str:
    """A parameter in a sentence or two."""
    default = default_text(parameter)
    if parameter.default is not None:
        default = f"default: {default}"
    return (
        f"{parameter.meaning}. Values: {values_text(parameter)}{'; ' if default else ''}{default}."
    )


def _entry(name: str, indent: int, text: str, width: int) -> str:
    space = " " * indent
    filled = fill(text.replace("`", ""), width, initial_indent=space, subsequent_indent=space)
    return f"{name}{' ' * max(1, indent - len(name))}{filled.lstrip()}"
