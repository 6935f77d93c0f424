"""What tells the conditions of a study apart, and what is only another draw of the same."""

import re
from collections.abc import Sequence

import pandas as pd

from jaxbench.studies.figures import own_columns

# What worlds are called together: the name of one is made of digits.
WORLDS = "synthetic worlds"
WORLD_NAME = re.compile("world-[0-9a-f]{12}")
# Columns whose values are independent draws.
SEEDS = ("world.seed", "seed")


def with_worlds_together(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with one name for all worlds; what they are made from has its own columns."""
    names = [str(name) for name in summary["benchmark"]]
    together = [WORLDS if WORLD_NAME.fullmatch(name) else name for name in names]
    return summary.assign(benchmark=together)


def telling(summary: pd.DataFrame, varied: Sequence[str]) -> list[str]:
    """The columns that tell conditions apart, seeds among them.

    **Arguments:** `varied`: what the study varies.
    """
    columns = ("benchmark", "endpoints", "interface", "mechanism", *own_columns(varied))
    found = [column for column in columns if column in summary]
    # A column that says of one world that it is that world says nothing.
    return [c for c in found if c != "world" or summary[c].nunique() > 1]
