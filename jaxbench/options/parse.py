"""Values of options: checked one by one, refused in the user's words."""

import contextlib
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Real
from typing import SupportsIndex

from jaxbench.errors import BadRequest, unknown

# Units of memory, in lower case; a bare G or M could mean either kind.
UNITS = {"": 1, "b": 1}
UNITS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
UNITS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}

# Where one begins: at the start, or behind quotes, brackets and commas.
ADDRESS = re.compile(r"(?:^|[\[,\"'])\s*[A-Za-z][A-Za-z0-9+.\-]*://")


def integer(name: str, value: object, least: int | None = None) -> int:
    """A whole number, at least `least`."""
    expected = "a whole number" if least is None else f"a whole number >= {least}"
    # Whole numbers of numpy too, but no booleans and no floats.
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise BadRequest(f"{name}={show(value)}: expected {expected}")
    number = operator.index(value)
    if least is not None and number < least:
        raise BadRequest(f"{name}={number}: expected {expected}")
    return number


def boolean(name: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise BadRequest(f"{name}={show(value)}: expected true or false")
    return value


def text(name: str, value: object) -> str:
    """Text; a number is read as it is written."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise BadRequest(f"{name}={show(value)}: expected text")
    spelled = str(value)
    if not spelled.isprintable() and any("\ud800" <= c <= "\udfff" for c in spelled):
        raise BadRequest(f"{name}={spelled!r}: expected text that can be written as UTF-8")
    return spelled


def no_address(name: str, value: object) -> None:
    """Refuse an address of the network, also inside of a list or of what the command line spells.

    It is not repeated, since it may hold a token: whoever may repeat a value asks here first.
    """
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for entry in value:
            no_address(name, entry)
    elif ADDRESS.search(str(value)):
        raise BadRequest(
            f"{name} is an address of the network; download the file and give its name"
        )


def fraction(name: str, value: object) -> Fraction:
    """An exact fraction in (0, 1), from "2/3", "0.575" or the like.

    A float is read as the decimal that it prints as: 0.575 means 575/1000.
    """
    spelled = str(value).strip()
    parsed = Fraction(0)
    # A long exponent would be a number of a billion digits.
    if len(spelled) <= 40 and re.fullmatch(r"[0-9._]+(/[0-9_]+)?|[0-9.]+e-?[0-9]{1,2}", spelled):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            parsed = Fraction(spelled)
    if isinstance(value, bool) or not 0 < parsed < 1:
        raise BadRequest(
            f"{name}={show(value)}: expected an exact fraction between 0 and 1, such as 2/3 or "
            "0.575"
        )
    return parsed


def positive(name: str, value: object) -> Fraction:
    """A number above 0, exactly: a float is the decimal that it prints as."""
    spelled = str(value).strip()
    parsed = Fraction(0)
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12})?(/[0-9]{1,12})?", spelled):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            parsed = Fraction(spelled)
    if isinstance(value, bool) or parsed <= 0:
        raise BadRequest(f"{name}={show(value)}: expected a number > 0")
    return parsed


def memory(name: str, value: object) -> int:
    """Bytes: a whole number of them, or a number with a unit (2GB = 2 * 10^9, 2GiB = 2 * 2^30)."""
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]*)", str(value).strip())
    unit = UNITS.get(found[2].lower()) if found else None
    if isinstance(value, str | int) and not isinstance(value, bool) and found and unit:
        number = Fraction(found[1]) * unit
        # Half a byte is a slip of the pen, 1.5GB is not.
        if number >= 1 and (found[2] or number.denominator == 1):
            return int(number)
    raise BadRequest(
        f"{name}={show(value)}: expected an amount of memory such as 2GB (10^9 bytes each), 2GiB "
        "(2^30), 500MB, or a whole number of bytes"
    )


def within(name: str, value: object, least: int | float, most: int | float) -> int | float:
    """A number from `least` to `most`; a whole number where `least` is written as one."""
    whole = isinstance(least, int)
    number: int | float | None = None
    if isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real) and not whole:
        number = float(value)
    # A comparison with nan is false.
    if isinstance(value, bool) or number is None or not least <= number <= most:
        kind = "a whole number" if whole else "a number"
        raise BadRequest(
            f"{name}={show(value)}: expected {kind} from {plain(least)} to {plain(most)}"
        )
    # Adding 0 leaves no negative zero.
    return number if whole else float(number) + 0.0


def budgets(name: str, value: object) -> tuple[int, ...]:
    """Rising whole numbers >= 1."""
    values = several(value)
    if not values:
        raise BadRequest(f"{name}=[]: expected at least one budget, such as [1,8,128]")
    numbers = tuple(integer(name, v, least=1) for v in values)
    for before, after in pairwise(numbers):
        if after == before:
            raise BadRequest(f"{name}={show(value)}: budget {after} is repeated")
        if after < before:
            raise BadRequest(
                f"{name}={show(value)}: budgets must rise, but {after} follows {before}"
            )
    return numbers


def precision(name: str, value: object) -> int | None:
    """`exact` (None), or a number of decimals of the released fraction."""
    if value is None or value == "exact":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 9:
        raise BadRequest(
            f"{name}={show(value)}: expected exact, or decimals of the released fraction (0 to 9; "
            "3 is 0.1 pp)"
        )
    return value


def reused_items(name: str, value: object) -> int | None:
    """`all` (None), or a number of reused items."""
    if value is None or value == "all":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadRequest(f"{name}={show(value)}: expected all, or a number of items >= 1")
    return value


def choice(name: str, value: object, known: Sequence[str], built: Sequence[str]) -> str:
    """One of the known words that this version has."""
    word = show(value)
    kind, colon, _ = word.partition(":")
    # `groups:D` stands for every word of its kind.
    if word in built or (colon and any(b.startswith(kind + colon) for b in built)):
        return word
    if kind in {k.split(":")[0] for k in known} - {b.split(":")[0] for b in built}:
        raise BadRequest(f"{name}={word} is not built yet; built: {', '.join(built)}")
    raise unknown(f"value of {name}", word, known)


def choices(
    name: str, value: object, known: Sequence[str], built: Sequence[str]
) -> tuple[str, ...]:
    """One or several of the known words, each once."""
    values = several(value)
    if not values:
        raise BadRequest(f"{name}=[]: expected at least one of {', '.join(built)}")
    words = tuple(choice(name, v, known, built) for v in values)
    if len(set(words)) < len(words):
        raise BadRequest(f"{name}={show(value)}: a value is repeated")
    return words


def several(value: object) -> list[object]:
    """One value or any sequence of them: a list, a range, an array."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return list(value)
    return [value]


def show(value: object) -> str:
    """A value as the command line spells it."""
    if isinstance(value, list | tuple):
        return "[" + ",".join(show(v) for v in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{show(k)}:{show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(str(value).split())


def plain(number: int | float) -> str:
    """A number for people: 20,000, 0.5, 2^64 - 1."""
    if number == 2**64 - 1:
        return "2^64 - 1"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.15g}"
