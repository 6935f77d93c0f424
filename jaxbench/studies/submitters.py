"""Every submitter against every mechanism, and honest work beside the attacks.

A mechanism is as safe as its worst submitter makes it: random routers flatter those that repeat
their best number, which adaptive flips climb. Beside them stands how far released scores mislead
ordinary development.

Source: spec of the mechanisms (random routers flatter the repeat mechanisms), spec of feedback.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from jaxbench.options.figure import HARM
from jaxbench.studies.groups import SEEDS, with_worlds_together
from jaxbench.studies.policies import Policies, attacked, is_honest, over_draws, policies_of

SUBMITTER, WORST, OVERSTATED = "submitter", "worst", "overstated_pp"
# How the final submission of a budget scores on both sides of the split.
REUSED, HELDOUT = "router_reused_pp", "router_heldout_pp"
# A study that does not vary them has one.
DEFAULT = "linear"


def submitters_of(summary: pd.DataFrame, varied: Sequence[str]) -> Policies:
    """A line per mechanism and submitter, at the largest budget that all of them have.

    Numbers are those of `policies_of`. `worst` marks the attack with the largest mean selection
    loss of its mechanism; ordinary development is no attack. `overstated_pp` is how far the reused
    score of the final submission is above its held-out one. Its interval is over draws where seeds
    vary; within one draw it is as wide as those of the two scores together, whatever their
    correlation, and so no narrower than 95 %.

    **Arguments:** `varied`: what the study varies.
    """
    found = policies_of(summary, varied, least_first=False)
    table = with_worlds_together(summary)
    if SUBMITTER not in table:
        table = table.assign(**{SUBMITTER: DEFAULT})
    others = [column for column in found.attacks if column != SUBMITTER]
    by = [column for column in (*found.names, *others, SUBMITTER) if column in table]
    rows = []
    for group, of_group in table.groupby(found.groups, sort=False, dropna=False):
        budget = int(of_group.groupby(by, dropna=False)["budget"].max().min())
        for values, part in of_group.groupby(by, sort=False, dropna=False):
            front = dict(zip((*found.groups, *by), (*group, *values), strict=True))
            rows.append(front | attacked(part, budget) | _overstated(part, budget))
    lines = pd.DataFrame(rows)
    policy = lines.groupby([*found.groups, *found.names], sort=False, dropna=False)
    lines = lines.assign(_policy=policy.ngroup())
    harm = lines[HARM].where(~lines[SUBMITTER].map(is_honest))
    worst = harm.groupby(lines["_policy"]).transform("max")
    lines[WORST] = harm == worst
    lines = lines.sort_values("_policy", kind="stable").drop(columns="_policy")
    return found._replace(table=lines.reset_index(drop=True), attacks=[*others, SUBMITTER])


def _overstated(rows: pd.DataFrame, budget: int) -> dict[str, float]:
    """How far the final submission's reused score is above its held-out one, with an interval."""
    at = rows[rows["budget"] == budget]
    apart = (at[REUSED] - at[HELDOUT]).dropna().to_numpy(dtype=np.float64)
    ends = ("", "_low", "_high")
    if not len(apart):
        return {OVERSTATED + end: np.nan for end in ends}
    if any(seed in rows and rows[seed].nunique(dropna=False) > 1 for seed in SEEDS):
        found = over_draws(apart)
    else:
        first = at.iloc[0]
        low = float(first[f"{REUSED}_low"] - first[f"{HELDOUT}_high"])
        high = float(first[f"{REUSED}_high"] - first[f"{HELDOUT}_low"])
        found = float(apart.mean()), low, high
    return dict(zip((OVERSTATED + end for end in ends), found, strict=True))
