"""Which class stands behind a mechanism's name.

Built-in ones are listed here, a builder each. Users' own come from installed packages: an entry
point of the group `jaxbench.mechanisms` gives an object with `spec` (a `MechanismSpec`) and
`build(values, ticks, on)`, which returns a `Mechanism`.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.base import Mechanism
from jaxbench.leaderboard.mechanisms.frontier_ladder import FrontierLadder
from jaxbench.leaderboard.mechanisms.ladder import GateLadder, Ladder
from jaxbench.leaderboard.mechanisms.noise import Gaussian, Laplace
from jaxbench.leaderboard.mechanisms.parameter_free import ParameterFree
from jaxbench.leaderboard.mechanisms.resampling import Bootstrap, Subsample
from jaxbench.leaderboard.mechanisms.resampling_tables import counts_tables, weights_tables
from jaxbench.leaderboard.mechanisms.rounding import Rounding
from jaxbench.leaderboard.mechanisms.shaky_ladder import ShakyLadder
from jaxbench.leaderboard.mechanisms.thresholdout import Thresholdout
from jaxbench.leaderboard.mechanisms.ticks import Ticks, decimals
from jaxbench.leaderboard.mechanisms.visibility import Visibility
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


def _parameter_free(chosen: Chosen, setting: Setting) -> Mechanism:
    ticks, strata = setting.ticks, setting.ticks.strata
    if strata is None or ticks.per_score.shape[1] != 1:
        raise BadRequest(
            "mechanism=parameter_free: it needs an overall that is a weighted mean over items; "
            "expected on=overall and scoring=item_mean or a mean over tasks"
        )
    of_item = strata.items * strata.counts
    weights = np.array([float(w) for w in strata.weights])[None]
    plain = strata.mean and not (ticks.per_score % of_item).any()
    # The mean is rounded to 1/n; another overall stays as it is, on the tick.
    grid = ticks.per_score / strata.items if plain else np.zeros(ticks.per_score.shape)
    return ParameterFree(
        strata.items.astype(np.float64),
        weights * ticks.per_score / of_item,
        grid,
        strata.units,
        plain,
    )


def _shaky_ladder(chosen: Chosen, setting: Setting) -> Mechanism:
    step, cap = _size(chosen, "step"), chosen["cap"]
    if cap is None:
        cap = ceil(1 / step) if step else np.inf
    return ShakyLadder(
        setting.ticks.sized(step),
        setting.ticks.sized(_size(chosen, "scale")),
        np.full((1, 1), cap, dtype=np.float64),
        setting.most,
        monotone=chosen["monotone"] is True,
    )


def _frontier_ladder(chosen: Chosen, setting: Setting) -> Mechanism:
    return FrontierLadder(setting.ticks.sized(_size(chosen, "step")), setting.capacity)


def _thresholdout(chosen: Chosen, setting: Setting) -> Mechanism:
    answers = np.inf if chosen["answers"] is None else chosen["answers"]
    return Thresholdout(
        setting.ticks.sized(_size(chosen, "threshold")),
        setting.ticks.sized(_size(chosen, "scale")),
        np.full((1, 1), answers, dtype=np.float64),
        setting.most,
        rule=str(chosen["noise"]),
    )


def _subsample(chosen: Chosen, setting: Setting) -> Mechanism:
    ticks, asked = setting.ticks, chosen["items"]
    assert isinstance(asked, int)
    scored = ticks.scored(asked)
    per_item = _whole_items("subsample", ticks, ticks.items)
    per_scored = _whole_items("subsample", ticks, scored)
    items, scored = np.broadcast_arrays(ticks.items, scored)
    low, cdf, row = counts_tables(items, scored)
    return Subsample(
        per_item, items.astype(np.float64), row, per_scored, scored.astype(np.float64), low, cdf
    )


def _bootstrap(chosen: Chosen, setting: Setting) -> Mechanism:
    ticks = setting.ticks
    per_item = _whole_items("bootstrap", ticks, ticks.items)
    quantiles, row = weights_tables(ticks.items)
    per_score = ticks.per_score.astype(np.float64)
    return Bootstrap(per_item, ticks.items.astype(np.float64), row, per_score, quantiles)


def _visibility(chosen: Chosen, setting: Setting) -> Mechanism:
    return Visibility(submitter=chosen["to"] == "submitter")


def _whole_items(name: str, ticks: Ticks, items: np.ndarray) -> np.ndarray:
    """Ticks per item, where the numbers are plain means of items."""
    if not ticks.plain or (ticks.per_score % items).any():
        raise BadRequest(
            f"mechanism={name}: it needs numbers that are plain means of items scored 0 or 1; "
            "expected interface=task or another that averages items, and precision=exact"
        )
    return (ticks.per_score // items).astype(np.float64)


# Rules about who submits when and who sees what, which are no step along losses.
SCHEDULES = frozenset({"delay", "public_private", "cap", "refresh"})
BUILDERS: dict[str, Builder] = {
    "rounding": _rounding,
    "gaussian": _gaussian,
    "laplace": _laplace,
    "subsample": _subsample,
    "bootstrap": _bootstrap,
    "ladder": _ladder,
    "parameter_free": _parameter_free,
    "shaky_ladder": _shaky_ladder,
    "frontier_ladder": _frontier_ladder,
    "thresholdout": _thresholdout,
    "visibility": _visibility,
}
