"""What a maintainer gains and loses by a policy: a line per way to release scores.

Policies differ in what is released: interface, mechanism, precision. Each is judged by what its
board is still good for and by what the worst of the attacks in the study does to it.

Source: spec of feedback (policies, mechanisms): harm and use side by side.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from jaxbench import stats
from jaxbench.options.figure import HARM, LESS_IS_BETTER, USE
from jaxbench.studies.groups import SEEDS, telling, with_worlds_together

# What a maintainer decides, and what an attacker does; of attacks the worst counts.
POLICY = ("interface", "mechanism", "precision", "state", "on", "clip", "extra_overall")
ATTACK = ("endpoints", "endpoint_view", "submitter", "decoder")
# Ordinary work, which attacks nobody.
HONEST = "development"
# A loss that a maintainer notices (pp).
TOLERANCE_PP = 1.0
SUBMISSIONS = "submissions_to_1pp"
AT_BUDGET = ("selection_loss_pp", "false_winner", "score_gap_pp", "release_rate", "board_error_pp")
# What compares scores (differences of shares are made of floats) is rounded to this.
DECIMALS = 10


class Policies(NamedTuple):
    """A line per policy, least harm first within each group.

    `groups`: columns that tell tables apart (the benchmark first); `names`: columns of what the
    policies differ in; `attacks`: columns that say which attack was the worst.
    """

    table: pd.DataFrame
    groups: list[str]
    names: list[str]
    attacks: list[str]


def policies_of(
    summary: pd.DataFrame,
    varied: Sequence[str],
    *,
    budget: int | None = None,
    harm: str = HARM,
    use: str = USE,
    least_first: bool = True,
) -> Policies:
    """Every policy of a sweep at one budget, the largest that all of them have if None.

    Numbers are means over trials with 95 % intervals (`_low`, `_high`); where seeds vary, means
    over seeds with Student's interval. `submissions_to_1pp` is where the mean selection loss is
    first 1 pp, linear in log2 of the submissions, inf where it never is; `undominated` tells the
    policies that no other one of their group beats in `harm` and `use` together.

    **Arguments:** `varied`: what the study varies; `harm`, `use`: columns of the summary;
    `least_first`: least harm first, else as the study has them.
    """
    table = attacks_only(with_worlds_together(summary))
    keys = telling(table, varied)
    differ = [k for k in keys if table[k].nunique(dropna=False) > 1]
    names = [k for k in POLICY if k in differ] or ["interface"]
    attacks = [k for k in ATTACK if k in differ]
    within = table.groupby("benchmark")
    groups = ["benchmark"] + [
        k
        for k in differ
        # What the benchmark decides needs no table of its own.
        if k not in ("benchmark", *names, *attacks, *SEEDS)
        and (within[k].nunique(dropna=False) > 1).any()
    ]
    parts = [
        _group(rows, dict(zip(groups, values, strict=True)), names, attacks, budget, harm, use)
        for values, rows in table.groupby(groups, sort=False, dropna=False)
    ]
    if least_first:
        parts = [part.sort_values(harm, kind="stable", na_position="last") for part in parts]
    return Policies(pd.concat(parts, ignore_index=True), groups, names, attacks)


def attacks_only(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of attacks, where there are any: honest work beside them is no worst case."""
    if "submitter" not in summary:
        return summary
    honest = summary["submitter"].map(is_honest)
    return summary if honest.all() else summary[~honest]


def is_honest(submitter: object) -> bool:
    """Whether a submitter, as columns show it, attacks nobody."""
    return HONEST in str(submitter)


def submissions_to(
    level: float, budgets: Float64[np.ndarray, " budgets"], values: Float64[np.ndarray, " budgets"]
) -> float:
    """Where a curve first is at its level, linear in log2 of the budget; inf where it never is.

    A curve that starts there is there at its first budget.
    """
    there = np.flatnonzero(values >= level)
    if not len(there):
        return np.inf
    last = there[0]
    if last == 0:
        return float(budgets[0])
    x, y = np.log2(budgets[last - 1 : last + 1]), values[last - 1 : last + 1]
    return float(2.0 ** (x[0] + (x[1] - x[0]) * (level - y[0]) / (y[1] - y[0])))


def undominated(
    harm: Float64[np.ndarray, " policies"], use: Float64[np.ndarray, " policies"]
) -> Bool[np.ndarray, " policies"]:
    """Policies that no other one beats: less harm and no less use, or more use and no more harm."""
    harm, use = np.round(harm, DECIMALS), np.round(use, DECIMALS)
    no_worse = (harm[None, :] <= harm[:, None]) & (use[None, :] >= use[:, None])
    better = (harm[None, :] < harm[:, None]) | (use[None, :] > use[:, None])
    return ~(no_worse & better).any(axis=1) & ~np.isnan(harm) & ~np.isnan(use)


def _group(
    rows: pd.DataFrame,
    front: dict[str, object],
    names: list[str],
    attacks: list[str],
    budget: int | None,
    harm: str,
    use: str,
) -> pd.DataFrame:
    """The policies of one group."""
    by = [*names, *attacks]
    if budget is None:
        # The largest that every policy and attack has.
        budget = int(rows.groupby(by, dropna=False)["budget"].max().min())
    found = []
    for values, policy in rows.groupby(names, sort=False, dropna=False):
        parts = policy.groupby(attacks, sort=False, dropna=False) if attacks else [((), policy)]
        tried = [(attacked(part, budget), which) for which, part in parts]
        # An attack that never had two models to mix says nothing.
        worst, which = max(
            tried, key=lambda one: -np.inf if np.isnan(one[0][harm]) else one[0][harm]
        )
        worst[SUBMISSIONS] = min(attack[SUBMISSIONS] for attack, _ in tried)
        policy_is = dict(zip(names, values, strict=True))
        found.append(front | policy_is | worst | dict(zip(attacks, which, strict=True)))
    table = pd.DataFrame(found)
    sign = -1.0 if use in LESS_IS_BETTER else 1.0
    table["undominated"] = undominated(table[harm].to_numpy(), sign * table[use].to_numpy())
    return table


def attacked(rows: pd.DataFrame, budget: int) -> dict[str, float | int]:
    """A policy under one attack: what stands in a line of `policies_of`.

    **Arguments:** `rows`: those of the summary, of all budgets (and draws).
    """
    draws = any(s in rows and rows[s].nunique(dropna=False) > 1 for s in SEEDS)
    at = rows[rows["budget"] == budget]
    found: dict[str, float | int] = {
        "coordinates": int(at["coordinates"].iloc[0]),
        "budget": budget,
        "draws": len(at) if draws else 1,
        "eligible_trials": int(at["eligible_trials"].sum()),
    }
    # No attack changes it: every trial counts.
    found |= _mean(rows[rows["budget"] == 0], USE, draws)
    for metric in AT_BUDGET:
        found |= _mean(at, metric, draws)
    curve = rows[rows["budget"] > 0].groupby("budget")["selection_loss_pp"].mean().dropna()
    budgets = curve.index.to_numpy(dtype=np.float64)
    found[SUBMISSIONS] = submissions_to(TOLERANCE_PP, budgets, curve.to_numpy(dtype=np.float64))
    return found


def _mean(rows: pd.DataFrame, metric: str, draws: bool) -> dict[str, float]:
    """A metric with its interval: over trials, or over draws (seeds) where there are several."""
    values = rows[metric].dropna().to_numpy(dtype=np.float64)
    if not len(values):
        return {metric + end: np.nan for end in ("", "_low", "_high")}
    if not draws:
        low, high = (float(rows[metric + end].iloc[0]) for end in ("_low", "_high"))
        return {metric: float(values.mean()), f"{metric}_low": low, f"{metric}_high": high}
    mean, low, high = over_draws(values)
    return {metric: mean, f"{metric}_low": low, f"{metric}_high": high}


def over_draws(values: Float64[np.ndarray, " draws"]) -> tuple[float, float, float]:
    """The mean of draws with Student's 95 % interval; one draw has none."""
    mean, width = float(values.mean()), np.nan
    if len(values) > 1:
        t = stats.t_critical(0.95, np.array([len(values) - 1.0]))[0]
        width = float(t * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - width, mean + width
