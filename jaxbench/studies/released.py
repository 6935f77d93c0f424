"""How much a leaderboard has said: the numbers released before the final router is made.

Source: spec of feedback (granularity): d numbers about each of k - 1 candidates, I = d (k - 1).
"""

import pandas as pd

RELEASED = "released_scores"


def with_released(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary and the number of released scores in every row; 0 without an attack."""
    before = (summary["budget"] - 1).clip(lower=0)
    return summary.assign(**{RELEASED: summary["coordinates"] * before})
