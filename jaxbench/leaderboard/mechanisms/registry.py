"""Which class stands behind a mechanism's name.

Built-in ones are listed here, a builder each. Users' own come from installed packages: an entry
point of the group `jaxbench.mechanisms` gives an object with `spec` (a `MechanismSpec`) and
`build(values, ticks, on)`, which returns a `Mechanism`.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.base import Mechanism
from jaxbench.leaderboard.mechanisms.ladder import GateLadder, Ladder
from jaxbench.leaderboard.mechanisms.noise import Gaussian, Laplace
from jaxbench.leaderboard.mechanisms.rounding import Rounding
from jaxbench.leaderboard.mechanisms.ticks import Ticks, decimals
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import plugin_of, spec_of


class Setting(NamedTuple):
    """What a builder knows besides a mechanism's own values.

    - `place`: the number of the part in its chain.
    - `capacity`: how many submissions (and genuine rows) there are at most.
    """

    ticks: Ticks
    on: str
    clip: bool
    capacity: int
    place: int

    @property
    def most(self) -> np.ndarray | None:
        """The loss of a score of 0 where noisy numbers are clipped, else None."""
        return self.ticks.per_score.astype(np.float64) if self.clip else None


Builder = Callable[[Chosen, Setting], Mechanism]


def builder_of(name: str) -> Builder | None:
    """What makes the mechanism of that name from its values; None where it is no step.

    **Errors:** `BadRequest` for an unknown name and for a package that does not load.
    """
    spec = spec_of(name)
    if name in BUILDERS:
        return BUILDERS[name]
    if name in SCHEDULES:
        return None
    plugin = plugin_of(spec.name)

    def build(chosen: Chosen, setting: Setting) -> Mechanism:
        values: Mapping[str, object] = dict(chosen.values)
        made = plugin.build(values, setting.ticks, setting.on)
        if not isinstance(made, Mechanism):
            raise BadRequest(
                f"mechanism={name}: its package built a {type(made).__name__}; expected a "
                "jaxbench.leaderboard.mechanisms.Mechanism"
            )
        return made

    return build


def _size(chosen: Chosen, name: str) -> Fraction:
    value = chosen[name]
    assert isinstance(value, Fraction)
    return value


def _rounding(chosen: Chosen, setting: Setting) -> Mechanism:
    grid = setting.ticks.sized(_size(chosen, "step"))
    per_score = setting.ticks.per_score.astype(np.float64)
    return Rounding(grid, per_score, floor=chosen["mode"] == "floor")


def _gaussian(chosen: Chosen, setting: Setting) -> Mechanism:
    size = setting.ticks.sized(_size(chosen, "sd"))
    return Gaussian(size, setting.most, persistent=chosen["draw"] == "persistent")


def _laplace(chosen: Chosen, setting: Setting) -> Mechanism:
    size = setting.ticks.sized(_size(chosen, "scale"))
    return Laplace(size, setting.most, persistent=chosen["draw"] == "persistent")


def _ladder(chosen: Chosen, setting: Setting) -> Mechanism:
    step, ticks = _size(chosen, "step"), setting.ticks
    grid = ticks.sized(step)
    if chosen["round"] == "false":
        grid = np.zeros_like(grid)
    elif chosen["round"] == "julia":
        grid = ticks.per_score / 10.0 ** decimals(ticks.items)
    if setting.on == "gate":
        weights, least = ticks.overall(step)
        return GateLadder(weights, least, grid)
    return Ladder(ticks.sized(step), grid)


# Rules about who submits when and who sees what, which are no step along losses.
SCHEDULES = frozenset({"delay", "public_private", "cap", "visibility", "refresh"})
BUILDERS: dict[str, Builder] = {
    "rounding": _rounding,
    "gaussian": _gaussian,
    "laplace": _laplace,
    "ladder": _ladder,
}
