"""What a submitter can see: the released numbers of the genuine models, and nothing else."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float64, Int

# Integers of at most this size are exact in float64.
EXACT_FLOAT64 = 2**53
# Losses are compared after rounding to this many decimals (spec: attack, section 3).
DECIMALS = 10


class PublicProfiles(eqx.Module):
    """Released scores of every genuine model, one board per trial.

    Model m scores `numerators[trial, m, c] / denominators[trial, c]` on coordinate c (the first
    axis of denominators has length 1 where they are always the same). Its released overall is
    `sum_n overall_weights[n] * overall_numerators[trial, m, n] / overall_denominators[trial, n]`.
    `mean_weights` are those of the unweighted mean over coordinates, `share_weights` those of a
    coordinate in the released overall. Models stand in name order.
    """

    numerators: Int[np.ndarray, "trials models coordinates"]
    denominators: Int[np.ndarray, "#trials coordinates"]
    overall_numerators: Int[np.ndarray, "trials models terms"]
    overall_denominators: Int[np.ndarray, "#trials terms"]
    overall_weights: tuple[Fraction, ...] = eqx.field(static=True)
    mean_weights: tuple[Fraction, ...] = eqx.field(static=True)
    share_weights: tuple[Fraction, ...] = eqx.field(static=True)
    # Which models the board shows at all (None: every one).
    shown: Bool[np.ndarray, "trials models"] | None = None


class LinearScore(eqx.Module):
    """A weighted sum of scores as float64 arithmetic on numerators, with what it may be off by.

    `sum_c multipliers[trial, c] * numerators[c]` is the sum times `scale[trial]`. Where the
    multipliers are whole and no sum passes 2^53 the arithmetic is exact and `relative_error` is 0.
    """

    multipliers: Float64[Array | np.ndarray, "*trials coordinates"]
    scale: Float64[Array | np.ndarray, "*trials"]
    relative_error: Float64[Array | np.ndarray, "*trials"]
    # Sums this close (in score units) may or may not round to the same 10 decimals.
    rounding_margin: Float64[Array | np.ndarray, "*trials"]

    @classmethod
    def of(
        cls,
        weights: Sequence[Fraction],
        denominators: Int[np.ndarray, "#trials coordinates"],
        trials: int,
    ) -> "LinearScore":
        """`weights` on scores in [0, 1] that are multiples of 1/`denominators`, for every trial."""
        made: dict[tuple[int, ...], tuple] = {}
        rows = [tuple(row) for row in denominators.tolist()]
        for row in rows:
            if row not in made:
                made[row] = _linear(weights, row)
        columns = [np.array(column) for column in zip(*(made[row] for row in rows), strict=True)]
        return cls(*(np.broadcast_to(c, (trials, *c.shape[1:])) for c in columns))


def _linear(weights: Sequence[Fraction], denominators: tuple[int, ...]) -> tuple:
    parts = [w / d for w, d in zip(weights, denominators, strict=True)]
    common = lcm(*(part.denominator for part in parts))
    whole = [int(part * common) for part in parts]
    largest = sum(k * d for k, d in zip(whole, denominators, strict=True))
    exact = largest <= EXACT_FLOAT64
    # Distinct multiples of 1/common stay distinct after rounding if common <= 10^10.
    margin = 0.0 if exact and common <= 10**DECIMALS else 4.0 * 10.0**-DECIMALS
    return (
        np.array(whole if exact else parts, dtype=np.float64),
        float(common if exact else 1),
        0.0 if exact else 4 * (len(parts) + 2) * 2.0**-53,
        margin,
    )
