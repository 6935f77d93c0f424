"""Trials as the evaluator holds them: the sides of their splits, and what is counted there."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from jaxbench import leaderboard, metrics
from jaxbench.benchmark import scoring


class Split(NamedTuple):
    """The two sides of some splits. With `reused_items`, some items stand on neither."""

    reused: Bool[np.ndarray, "trials items"]
    heldout: Bool[np.ndarray, "trials items"]


@dataclass(frozen=True)
class Tally:
    """Some trials counted: what every unit is counted out of, scoring rules, genuine scores."""

    split: Split
    counted: Int[np.ndarray, "#trials units"]
    board: leaderboard.Board
    reused: scoring.Overall
    heldout: scoring.Overall
    genuine: metrics.GenuineScores
