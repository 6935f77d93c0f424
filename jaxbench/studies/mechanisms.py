"""What every mechanism costs and what it prevents, at a few budgets side by side.

Harm (selection loss, score gap) and use (pairs kept in order, error of the board, submissions that
are told something) of every mechanism and setting, and the submissions at which a loss is noticed.

Source: spec of feedback (mechanisms).
"""

from collections.abc import Sequence

import pandas as pd

from jaxbench.studies.policies import Policies, policies_of

# Budgets at which harm is told, where they are run; the largest one is always there.
TOLD_AT = (8, 128)


def mechanisms_of(summary: pd.DataFrame, varied: Sequence[str]) -> Policies:
    """Every mechanism of a sweep at a few budgets: the lines of `policies_of` at each of them.

    Mechanisms stand as the study has them, the budgets of each side by side. `largest_budget` is
    where the curves end: `submissions_to_1pp` is inf where the mean loss is below 1 pp till there.

    **Arguments:** `varied`: what the study varies.
    """
    last = policies_of(summary, varied, least_first=False)
    largest = last.table["budget"]
    budgets = [k for k in TOLD_AT if k < largest.min() and (summary["budget"] == k).any()]
    parts = [policies_of(summary, varied, budget=k, least_first=False).table for k in budgets]
    # All have the same lines in the same order.
    table = pd.concat([part.assign(largest_budget=largest) for part in (*parts, last.table)])
    return last._replace(table=table.sort_index(kind="stable").reset_index(drop=True))
