"""Which mechanisms go by a name."""

from jaxbench.errors import unknown
from jaxbench.options.mechanism import BY_NAME, MechanismSpec

# The word for no mechanism at all.
NO_MECHANISM = "none"


def names() -> tuple[str, ...]:
    """The names of all mechanisms, in the order of the option table."""
    return tuple(BY_NAME)


def spec_of(name: str) -> MechanismSpec:
    """The mechanism of that name.

    **Errors:** `BadRequest` with the nearest name.
    """
    if name not in BY_NAME:
        raise unknown("mechanism", name, (NO_MECHANISM, *names()))
    return BY_NAME[name]
