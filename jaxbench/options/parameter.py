"""The value of one parameter of a mechanism or a submitter: read, checked, described."""

import contextlib
import re
from collections.abc import Mapping
from fractions import Fraction

from jaxbench.errors import BadRequest
from jaxbench.options.mechanism import PLACES, Parameter, spell
from jaxbench.options.parse import show

NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,2})?|[0-9]+/[0-9]+", re.IGNORECASE)
PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?) ?(%|pp)")
# Digits of a numerator and a denominator, and what stands between them.
LONGEST = 2 * PLACES + 10
# Counters have 32 bits.
LARGEST_WHOLE = 10**9
UNIT = {"size": " (a fraction of the score: 0.01 is 1 pp)", "share": " (a fraction: 0.05 is 5 %)"}


def read_value(where: str, parameter: Parameter, value: object) -> object:
    """A value as users write it, checked: a `Fraction`, a whole number, a word or a truth value.

    A float is the decimal that it prints as.

    **Arguments:** `where`: what stands in front of the message, such as `mechanism=ladder`.

    **Errors:** `BadRequest` with the parameter, the value and what was expected.
    """
    found = _READ[parameter.kind](parameter, value)
    if found is not None and _within(parameter, found):
        return found
    raise BadRequest(
        f"{where}: {parameter.name}={show(value)}: expected {expected(parameter)}"
        f"{_hint(parameter, value, found)}"
    )


def exact(value: object) -> Fraction | None:
    """A number >= 0 as it is written ("1/30", "0.05", 1e-3), or None for anything else."""
    spelled = str(value).strip()
    if isinstance(value, bool) or len(spelled) > LONGEST or not NUMBER.fullmatch(spelled):
        return None
    with contextlib.suppress(ValueError, ZeroDivisionError):
        number = Fraction(spelled)
        if number.denominator <= 10**PLACES:
            return number
    return None


def expected(parameter: Parameter) -> str:
    """What a parameter takes, for messages."""
    if parameter.kind in UNIT:
        return f"a number {_range(parameter)}{UNIT[parameter.kind]}"
    if parameter.kind == "whole":
        return f"a whole number {_range(parameter)}"
    return " or ".join(_words(parameter))


def values_text(parameter: Parameter) -> str:
    """What a parameter takes, for tables."""
    if parameter.kind in UNIT:
        return f"{parameter.kind} {_range(parameter)}"
    if parameter.kind == "whole":
        return f"integer {_range(parameter)}"
    return ", ".join(f"`{word}`" for word in _words(parameter))


def default_text(parameter: Parameter) -> str:
    """The default of a parameter, for tables; `needed` where a value has to be given."""
    if parameter.default is None:
        return "" if parameter.optional else "needed"
    return f"`{spell(parameter.default)}`"


def _words(parameter: Parameter) -> tuple[str, ...]:
    return ("true", "false") if parameter.kind == "flag" else parameter.words


def _range(parameter: Parameter) -> str:
    least, most = parameter.least, parameter.most
    low, high = spell(least), spell(most)
    if least is None:
        return "" if most is None else f"<= {high}"
    if most is None:
        return f"> {low}" if parameter.open_least else f">= {low}"
    if not parameter.open_least and not parameter.open_most:
        return f"from {low} to {high}"
    return (
        f"{'above' if parameter.open_least else 'at least'} {low}, "
        f"{'below' if parameter.open_most else 'at most'} {high}"
    )


def _within(parameter: Parameter, value: object) -> bool:
    if not isinstance(value, Fraction | int) or isinstance(value, bool):
        return True
    least, most = parameter.least, parameter.most
    if least is not None and (value < least or (parameter.open_least and value == least)):
        return False
    return most is None or value < most or (value == most and not parameter.open_most)


def _hint(parameter: Parameter, value: object, found: object) -> str:
    """What was probably meant where somebody wrote percent."""
    percent = PERCENT.fullmatch(str(value).strip())
    if parameter.kind not in UNIT or not (percent or isinstance(found, Fraction)):
        return ""
    number = Fraction(percent[1]) if percent else found
    assert isinstance(number, Fraction)
    meant = number / 100
    if not (percent or 1 < number <= 100) or not _within(parameter, meant):
        return ""
    unit = "pp" if parameter.kind == "size" else "%"
    return f"; {spell(number)} {unit} is {spell(meant)}"


def _number(parameter: Parameter, value: object) -> Fraction | None:
    return exact(value)


def _whole(parameter: Parameter, value: object) -> int | None:
    spelled = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,10}", spelled):
        return None
    number = int(spelled)
    return number if number <= LARGEST_WHOLE else None


def _word(parameter: Parameter, value: object) -> str | None:
    # YAML and Python have truth values where the command line has words.
    spelled = show(value)
    return spelled if spelled in parameter.words else None


def _flag(parameter: Parameter, value: object) -> bool | None:
    return {"true": True, "false": False}.get(show(value))


_READ: Mapping = {
    "size": _number, "share": _number, "whole": _whole, "word": _word, "flag": _flag,
}  # fmt: skip
