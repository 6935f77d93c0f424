"""What makes a chain of mechanisms: which may stand together, and in which order.

Source: spec of the mechanisms, common ground (order in a chain: cap, mechanisms on numbers, delay
and visibility).
"""

from collections.abc import Sequence
from itertools import pairwise

from jaxbench.errors import BadRequest
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import spec_of

# Who may submit; what a submission is scored on; what is released of the number; when and to whom.
BEFORE = ("cap",)
SCORING = ("subsample", "bootstrap")
BEHIND = ("delay", "public_private", "visibility", "refresh")
# They change no number that is released.
SCHEDULES = ("cap", "delay", "refresh")


def check_chain(chain: Sequence[Chosen]) -> None:
    """Refuse a chain that means nothing.

    **Errors:** `BadRequest` naming the two mechanisms at fault, or the parameters that are missing.
    """
    names = [part.name for part in chain]
    shown = f"mechanism=[{','.join(names)}]"
    for name in names:
        if names.count(name) > 1:
            raise BadRequest(f"{shown}: {name} stands in it twice; expected every one once")
    for before, after in pairwise(names):
        if _stage(after) < _stage(before):
            raise BadRequest(f"{shown}: {before} stands in front of {after}; {_order(after)}")
    first = [name for name in names if name in SCORING]
    if len(first) > 1:
        raise BadRequest(
            f"{shown}: {first[0]} and {first[1]} both say what a submission is scored on; expected "
            "one of them"
        )
    remembering = [name for name in names if spec_of(name).state]
    if len(remembering) > 1:
        raise BadRequest(
            f"{shown}: {remembering[0]} and {remembering[1]} both remember what was released; "
            "expected at most one such mechanism"
        )
    for part in chain:
        if part.name == "cap":
            _check_cap(part)


def _stage(name: str) -> int:
    for stage, names in ((0, BEFORE), (1, SCORING), (3, BEHIND)):
        if name in names:
            return stage
    return 2


def _order(name: str) -> str:
    """Where a mechanism stands that stands too late."""
    if name in BEFORE:
        return f"{name} comes first: a refused submission is not scored"
    if name in SCORING:
        return f"{name} comes before the others: it says what a submission is scored on"
    return f"expected {', '.join(BEHIND)} behind it: they act on what is released"


def _check_cap(cap: Chosen) -> None:
    if (cap["per_period"] is None) != (cap["periods"] is None):
        there, missing = "per_period", "periods"
        if cap[there] is None:
            there, missing = missing, there
        raise BadRequest(f"mechanism=cap: {there}={cap[there]} needs {missing} too")
    if cap["total"] is None and cap["per_period"] is None:
        raise BadRequest(
            "mechanism=cap: no limit; expected total (cap:100), or per_period with periods"
        )
