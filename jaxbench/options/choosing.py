"""How users name mechanisms and submitters, with their parameters.

none                          ladder:0.05 (its first parameter)
gaussian                      {name: gaussian, sd: 0.01, draw: persistent}
[gaussian:0.01, rounding:0.001]      (mechanisms only: a chain, left to right)
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil

from jaxbench.errors import BadRequest, unknown
from jaxbench.options.chain import check_chain
from jaxbench.options.mechanism import Chosen, MechanismSpec, Parameter
from jaxbench.options.mechanism_names import NO_MECHANISM, spec_of
from jaxbench.options.parameter import expected, read_value
from jaxbench.options.parse import several, show
from jaxbench.options.submitter import SubmitterSpec, submitter_of

Spec = MechanismSpec | SubmitterSpec
ONE = "NAME, NAME:X or {name: NAME, PARAM: V}"


def mechanism(value: object) -> tuple[Chosen, ...]:
    """The mechanisms that `mechanism=` names, in the order in which they act; () for none.

    **Errors:** `BadRequest` naming the mechanism, the parameter, what was found and what was
    expected, also for a chain that makes no sense.
    """
    if isinstance(value, str) and value == NO_MECHANISM:
        return ()
    entries = several(value)
    if not entries:
        raise BadRequest(f"mechanism=[]: expected {NO_MECHANISM}, {ONE}, or a list of these")
    for entry in entries:
        if isinstance(entry, str) and entry == NO_MECHANISM:
            raise BadRequest(
                f"mechanism={show(value)}: {NO_MECHANISM} is no part of a chain; a list is one "
                "chain, left to right (where a sweep varies it, write a list of lists)"
            )
    chain = tuple(_filled(_one("mechanism", entry, spec_of)) for entry in entries)
    check_chain(chain)
    return chain


def submitter(value: object) -> Chosen:
    """The submitter that `submitter=` names.

    **Errors:** `BadRequest` as `mechanism`.
    """
    return _one("submitter", value, submitter_of)


def as_option(chain: tuple[Chosen, ...]) -> object:
    """The value of `mechanism=` that gives a chain again."""
    if len(chain) < 2:
        return chain[0].as_option() if chain else NO_MECHANISM
    return [part.as_option() for part in chain]


def _one(option: str, value: object, find: Callable[[str], Spec]) -> Chosen:
    """A name with a value for every parameter, of which those that may be left out may be None."""
    if isinstance(value, Mapping):
        given = {str(key): entry for key, entry in value.items()}
        if not isinstance(given.get("name"), str):
            raise BadRequest(f"{option}={show(value)}: which one? expected {ONE}")
        spec = find(str(given.pop("name")))
    elif isinstance(value, str) and value:
        name, colon, first = value.partition(":")
        spec = find(name)
        given = _first(option, spec, value, first) if colon else {}
    else:
        raise BadRequest(f"{option}={show(value)}: expected {ONE}")
    where = f"{option}={spec.name}"
    names = [parameter.name for parameter in spec.parameters]
    for name in given:
        if not names:
            raise BadRequest(f"{where}: {name}={show(given[name])}: it has no parameters")
        if name not in names:
            raise unknown(f"parameter of {where}", name, names)
    return Chosen(
        spec.name, tuple((p.name, _value(where, p, given.get(p.name))) for p in spec.parameters)
    )


def _first(option: str, spec: Spec, value: str, first: str) -> dict[str, object]:
    if not spec.parameters:
        raise BadRequest(f"{option}={value}: {spec.name} has no parameters; write {spec.name}")
    if ":" in first:
        raise BadRequest(
            f"{option}={value}: NAME:X gives the first parameter only "
            f"({spec.parameters[0].name}); write {_pattern(spec.name, spec.parameters)}"
        )
    return {spec.parameters[0].name: first}


def _value(where: str, parameter: Parameter, value: object) -> object:
    if value is not None:
        return read_value(where, parameter, value)
    if parameter.default is None and not parameter.optional:
        raise BadRequest(
            f"{where} needs {parameter.name} ({parameter.meaning}): expected {expected(parameter)}"
        )
    return parameter.default


def _filled(chosen: Chosen) -> Chosen:
    """The same with defaults that depend on other parameters."""
    if chosen.name != "shaky_ladder" or chosen["cap"] is not None:
        return chosen
    step = chosen["step"]
    assert isinstance(step, Fraction)
    if step == 0:
        raise BadRequest(
            "mechanism=shaky_ladder: step=0 needs cap (releases at most), which is ceil(1/step) "
            "where it is not given"
        )
    values = tuple((n, ceil(1 / step) if n == "cap" else v) for n, v in chosen.values)
    return Chosen(chosen.name, values)


def _pattern(name: str, parameters: Iterable[Parameter]) -> str:
    inside = ", ".join(f"{parameter.name}: ..." for parameter in parameters)
    return f"{{name: {name}, {inside}}}"
