"""Endpoint rules as data: what a rule looks at, not how.

Source: spec of the attack, section 3.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class EndpointRule:
    """How a rule picks its two models.

    - `frontier`: only models on the Pareto frontier of the profiles (else all).
    - `leaders`: the models with the best released overall may be picked (else they are left out
      first, and the frontier is that of the rest).
    - `cut`: how many are looked at, best released overall first (None: all).
    - `shares`: distances weigh a coordinate by its share in the released overall, and A is the
      endpoint with the smaller released overall, compared exactly. Otherwise distances are
      unweighted, and A has the larger loss of the unweighted mean, rounded to 10 decimals.
    """

    frontier: bool = True
    leaders: bool = True
    cut: int | None = None
    shares: bool = False


ENDPOINT_RULES = {
    "top5": EndpointRule(cut=5),
    "full_frontier": EndpointRule(),
    "public_top5": EndpointRule(frontier=False, cut=5, shares=True),
    "non_leading": EndpointRule(leaders=False),
}
