"""Scores as whole numbers over one denominator.

Everything that decides an attack (frontier, ties, votes) is compared on integers, so scores are
brought to integer counts once, when a benchmark is read, and nothing later depends on how a
device rounds.
"""

from fractions import Fraction
from math import lcm

import numpy as np
from jaxtyping import Int

LARGEST_DENOMINATOR = 10**6
TOLERANCE = 1e-6


def simplest_fraction(value: float, tolerance: float = TOLERANCE) -> Fraction:
    """The fraction with the smallest denominator within `tolerance` of `value` (in [0, 1])."""
    exact = Fraction(value)
    low, high = exact - Fraction(tolerance), exact + Fraction(tolerance)
    # Walk of the Stern-Brocot tree by continued fractions: the simplest fraction in [low, high].
    p0, q0, p1, q1 = 0, 1, 1, 0
    while True:
        whole = low.numerator // low.denominator
        if whole == low:
            return Fraction(whole * p1 + p0, whole * q1 + q0)
        if whole + 1 <= high:
            return Fraction((whole + 1) * p1 + p0, (whole + 1) * q1 + q0)
        p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
        low, high = 1 / (high - whole), 1 / (low - whole)


def common_denominator(scores: np.ndarray) -> int | None:
    """The least denominator, at most 10^6, over which every score is whole to 1e-6.

    **Arguments:** `scores`: any shape, values in [0, 1].

    **Returns:** the denominator, or None where there is none that small.
    """
    denominator = 1
    for value in np.unique(scores):
        if abs(value * denominator - round(value * denominator)) <= TOLERANCE * denominator:
            continue
        denominator = lcm(denominator, simplest_fraction(float(value)).denominator)
        if denominator > LARGEST_DENOMINATOR:
            return None
    return denominator


def counts_from_scores(scores: np.ndarray) -> tuple[Int[np.ndarray, "..."], int, str]:
    """Integer counts, their denominator, and a sentence on how it was found.

    Scores are multiples of 1/denominator where one of at most 10^6 is recovered to 1e-6
    (float32 thirds count as thirds); otherwise they are put on a fixed grid of 1e-6.
    """
    scores = np.asarray(scores, dtype=np.float64)
    denominator = common_denominator(scores)
    if denominator is None:
        denominator = LARGEST_DENOMINATOR
        note = "scores have no common denominator up to 10^6: rounded to a grid of 1e-6"
    else:
        note = f"scores are multiples of 1/{denominator}"
    counts = np.rint(scores * denominator).astype(np.int64)
    off = np.abs(scores - counts / denominator).max(initial=0.0)
    # More than float64 rounding is said, so that nobody takes the counts for the scores.
    return counts, denominator, note + (f" (to within {off:.1g})" if off > 1e-12 else "")
