"""Scores as whole numbers over one denominator.

Everything that decides an attack (frontier, ties, votes) is compared on integers, so scores are
brought to integer counts once, when a benchmark is read, and nothing later depends on how a
device rounds.
"""

from fractions import Fraction
from math import lcm

import numpy as np
from jaxtyping import Int

from jaxbench.benchmark.provenance import ON_GRID

LARGEST_DENOMINATOR = 10**6
# How far scores may lie from multiples of 1/d: the rounding of float64, of float32, of a printed
# number of six decimals. A coarser tolerance has to match a smaller d, or chance would match it.
TOLERANCES = (1e-12, 6e-8, 1e-6)
# A tolerance times d that still means something: one value in fifty matches by chance.
MATCH = 0.01
# Denominators that are tried one by one, the least first, and then powers of ten.
SMALL = 1000


def simplest_fraction(value: float, tolerance: float = 1e-6) -> Fraction:
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
    values = np.unique(scores)
    for tolerance in TOLERANCES:
        most = min(LARGEST_DENOMINATOR, int(MATCH / tolerance))
        tried = [*range(1, min(SMALL, most) + 1), *(10**k for k in (4, 5, 6) if 10**k <= most)]
        for denominator in tried:
            # Most denominators fail at the first few values.
            if _whole(values[:32], denominator, tolerance) and _whole(
                values, denominator, tolerance
            ):
                # A power of ten may do more than is needed.
                counts = np.rint(values * denominator).astype(np.int64)
                return denominator // int(np.gcd.reduce([denominator, *counts.tolist()]))
        denominator = _least_common(values, tolerance, most)
        if denominator is not None and _whole(values, denominator, tolerance):
            return denominator
    return None


def _whole(values: np.ndarray, denominator: int, tolerance: float) -> bool:
    off = np.abs(values * denominator - np.rint(values * denominator))
    return bool(np.all(off <= tolerance * denominator))


def _least_common(values: np.ndarray, tolerance: float, most: int) -> int | None:
    """The least common multiple of the values' simplest denominators, if it is small enough."""
    denominator = 1
    for value in values:
        denominator = lcm(denominator, simplest_fraction(float(value), tolerance).denominator)
        if denominator > most:
            return None
    return denominator


def counts_from_scores(
    scores: np.ndarray, denominator: int | None = None
) -> tuple[Int[np.ndarray, "..."], int, str]:
    """Integer counts, their denominator, and a sentence on how it was found.

    A `denominator` that is given is taken if every score is a multiple of one over it. Else
    scores are multiples of 1/denominator where one of at most 10^6 is recovered to 1e-6
    (float32 thirds count as thirds); otherwise they are put on a fixed grid of 1e-6.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if denominator is None or not _whole(scores, denominator, TOLERANCES[0]):
        denominator = common_denominator(scores)
    if denominator is None:
        denominator = LARGEST_DENOMINATOR
        note = ON_GRID
    else:
        note = f"scores are multiples of 1/{denominator}"
    counts = np.rint(scores * denominator).astype(np.int64)
    off = np.abs(scores - counts / denominator).max(initial=0.0)
    # More than float64 rounding is said, so that nobody takes the counts for the scores.
    return counts, denominator, note + (f" (to within {off:.1g})" if off > 1e-12 else "")
