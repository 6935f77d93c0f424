"""Which mechanisms go by a name: built-in ones, and those of installed packages."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from jaxbench.errors import BadRequest, unknown
from jaxbench.options.mechanism import BY_NAME, MechanismSpec

# The word for no mechanism at all.
NO_MECHANISM = "none"
# An entry point gives an object with `spec` and `build(values, ticks, on)`.
GROUP = "jaxbench.mechanisms"


def names() -> tuple[str, ...]:
    """The names of all mechanisms: those of the option table in its order, then packages' own.

    Names are read from what packages declare, so that no package is loaded.
    """
    return (*BY_NAME, *sorted(_declared().keys() - BY_NAME.keys()))


def spec_of(name: str) -> MechanismSpec:
    """The mechanism of that name; a built-in one wins over a package's.

    **Errors:** `BadRequest` with the nearest name, or naming a package that does not load.
    """
    if name in BY_NAME:
        return BY_NAME[name]
    return plugin_of(name).spec


def plugin_of(name: str) -> Any:
    """What a package declares under that name: an object with `spec` and `build`.

    **Errors:** `BadRequest` for an unknown name, for one that two packages declare, and naming a
    package that does not load or does not give such an object.
    """
    points = _declared().get(name, [])
    if not points:
        raise unknown("mechanism", name, (NO_MECHANISM, *names()))
    if len({point.value for point in points}) > 1:
        packages = " and ".join(sorted({_package(point) for point in points}))
        raise BadRequest(f"mechanism={name}: packages {packages} both declare it; remove one")
    point = points[0]
    try:
        plugin = point.load()
    except Exception as error:
        raise BadRequest(
            f"mechanism={name}: package {_package(point)} does not load {point.value!r} "
            f"({type(error).__name__}: {error}); mend or remove it"
        ) from error
    spec = getattr(plugin, "spec", None)
    if not (
        isinstance(spec, MechanismSpec)
        and spec.name == name
        and callable(getattr(plugin, "build", None))
    ):
        raise BadRequest(
            f"mechanism={name}: package {_package(point)} gives {point.value!r}, which has no "
            f"`spec` of that name or no `build`; expected a MechanismSpec and "
            "build(values, ticks, on)"
        )
    return plugin


def _declared() -> dict[str, list[EntryPoint]]:
    declared: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        declared.setdefault(point.name, []).append(point)
    return declared


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module
