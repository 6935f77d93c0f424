"""From what a study fixes and varies to its conditions: overrides, axes, and their product."""

import itertools
from collections.abc import Callable, Mapping, Sequence

from jaxbench.errors import BadRequest
from jaxbench.options import parse
from jaxbench.options.reading import SOURCE_NAMES

AT_HAND = "at_hand"
WORLD = "world"
INSIDE = f"{WORLD}."
# Options whose value is a list in one condition; in a grid they are given as lists of lists.
LISTED = frozenset({"budgets", "mechanism"})
# More would not be a study that anybody can look at.
MOST_CONDITIONS = 10**6

Options = dict[str, object]


def mapping(place: str, key: str, value: object) -> Options:
    """A mapping with keys of text; nothing is an empty one.

    **Errors:** `BadRequest` naming the file and the key.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadRequest(f"{place}: {key} is {parse.show(value)}; expected a mapping")
    return {str(name): entry for name, entry in value.items()}


def override(
    options: Options, vary: Options, listed: Sequence[Options], overrides: Mapping[str, object]
) -> list[str]:
    """Put options that are given beside a study in the place of its own (None: not given).

    **Returns:** what of the study has gone without a value in its place, since outcomes come from
    elsewhere; an option that was the same in every condition is not named.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    gone: dict[str, None] = {}
    if given.keys() & {"benchmark", "path", WORLD}:
        # Outcomes come from one place: the one that was given.
        for part in (options, vary, *listed):
            for key in list(part):
                if key in SOURCE_NAMES or _is_idle(key, given):
                    del part[key]
                    if part is not options and key not in given:
                        gone[key] = None
    for key, value in given.items():
        for entry in listed:
            entry.pop(key, None)
        values = _values(key, value, key in vary)
        if values is None:
            options[key] = value
        else:
            vary[key] = values
            options.pop(key, None)
    return list(gone)


def _is_idle(key: str, given: Mapping[str, object]) -> bool:
    """Whether a key is a world of the study, or a parameter of one, that gives way."""
    world, (head, dot, parameter) = given.get(WORLD), key.partition(".")
    return head == WORLD and (not dot or not isinstance(world, Mapping) or parameter in world)


def _values(key: str, value: object, varies: bool) -> list[object] | None:
    """The values that an override gives to an axis; None where it is one value and no axis."""
    nested = isinstance(value, list) and any(isinstance(entry, list) for entry in value)
    if isinstance(value, list) and key != "score" and (nested or key not in LISTED):
        return value
    return [value] if varies else None


def axis(place: str, key: str, value: object, at_hand: Callable[[], Sequence[str]]) -> list[object]:
    """The values of what varies.

    **Errors:** `BadRequest` for no list of at least one value, and for a value that is repeated.
    """
    if key == "benchmark" and value in (AT_HAND, [AT_HAND]):
        return list(at_hand())
    if isinstance(value, Mapping) and set(value) == {"count"}:
        # `seed: {count: 100}` stands for 0 to 99.
        name = f"{place}: vary.{key}.count"
        return list(range(int(parse.within(name, value["count"], 1, MOST_CONDITIONS))))
    if not isinstance(value, list) or not value:
        raise BadRequest(
            f"{place}: vary.{key} is {parse.show(value)}; expected a list of at least one value: "
            "without one there is no condition"
        )
    seen = set()
    for entry in value:
        if repr(entry) in seen:
            raise BadRequest(f"{place}: vary.{key} has {parse.show(entry)} twice")
        seen.add(repr(entry))
    return value


def grid(
    place: str, options: Options, axes: Mapping[str, list[object]], listed: Sequence[Options]
) -> list[Options]:
    """Every combination of the axes under every listed condition, each once.

    **Errors:** `BadRequest` for no combination, and for too many.
    """
    number = len(listed)
    for values in axes.values():
        number *= len(values)
    if number == 0:
        raise BadRequest(f"{place}: the grid is empty; there is no condition to run")
    if number > MOST_CONDITIONS:
        raise BadRequest(f"{place} has {number:,} conditions; expected at most {MOST_CONDITIONS:,}")
    found: dict[str, Options] = {}
    for chosen in itertools.product(*axes.values()):
        for entry in listed:
            condition = _merged(place, options, dict(zip(axes, chosen, strict=True)), entry)
            # Where overrides level what told two conditions apart, one is left.
            found.setdefault(repr(sorted(condition.items())), condition)
    return list(found.values())


def _merged(place: str, *parts: Mapping[str, object]) -> Options:
    """Options over options; parameters of a world over those of a whole world."""
    condition: Options = {}
    parameters: Options = {}
    for part in parts:
        for key, value in part.items():
            if key.startswith(INSIDE):
                parameters[key.removeprefix(INSIDE)] = value
            else:
                condition[key] = value
    if parameters:
        condition[WORLD] = mapping(place, WORLD, condition.get(WORLD)) | parameters
    return condition
