"""From declared mechanisms and their values to one chain."""

from collections.abc import Sequence

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.chain import MechanismChain
from jaxbench.leaderboard.mechanisms.registry import Setting, builder_of
from jaxbench.leaderboard.mechanisms.ticks import Ticks as Ticks
from jaxbench.leaderboard.mechanisms.ticks import refined as refined
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import spec_of

# They look at single items, which only a true score has.
_FIRST = ("subsample", "bootstrap", "thresholdout", "parameter_free")


def build(
    chosen: Sequence[Chosen], ticks: Ticks, *, on: str, clip: bool, capacity: int
) -> MechanismChain:
    """The chain of some mechanisms, which ends on whole ticks.

    **Arguments:** `chosen`: left to right; `ticks`: of the numbers they act on, fine enough (see
    `refined`); `on`: `overall`, `coordinates` or `gate`; `clip`: whether noisy numbers are
    clipped to scores; `capacity`: submissions (and genuine rows) at most.

    **Returns:** the chain; without mechanisms it releases what is true. Rules about who submits
    when and who sees what are no steps and left out.

    **Errors:** `BadRequest` where a mechanism cannot act on these numbers, or not at its place.
    """
    parts, before = [], ""
    for one in chosen:
        builder = builder_of(one.name)
        if builder is None:
            continue
        if parts and one.name in _FIRST:
            raise BadRequest(
                f"mechanism={one.name}: it needs true scores of items; expected it first in the "
                f"chain, found it after {before}"
            )
        before = one.name
        places = spec_of(one.name).places
        if places and on not in places:
            raise BadRequest(f"mechanism={one.name}: on={on}; expected on={' or '.join(places)}")
        part = builder(one, Setting(ticks, on, clip, capacity, len(parts)))
        if parts and parts[0].compares_items and not part.stateless:
            # It compares with the submission that it accepted last itself.
            raise BadRequest(
                f"mechanism={one.name}: it remembers submissions, and so does the one before it, "
                "which compares items with its own last one; expected only rounding or noise "
                "behind that"
            )
        parts.append(part)
    return MechanismChain(tuple(parts))
