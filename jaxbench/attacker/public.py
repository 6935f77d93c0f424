"""What a submitter can see: the released numbers of the genuine models, and nothing else."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float64, Int

# Integers of at most this size are exact in float64.
EXACT_FLOAT64 = 2**53
# Losses are compared after rounding to this many decimals (spec: attack, section 3).
DECIMALS = 10


class PublicProfiles(eqx.Module):
    """Released scores of every genuine model on every coordinate, one board per trial.

    Model m scores `numerators[trial, m, c] / denominators[c]` on coordinate c. Models stand in
    name order. The released overall is `sum_c overall_weights[c] * score`; `mean_weights` are
    those of the unweighted mean over coordinates, which orients the endpoints.
    """

    numerators: Int[np.ndarray, "trials models coordinates"]
    denominators: Int[np.ndarray, " coordinates"]
    overall_weights: tuple[Fraction, ...] = eqx.field(static=True)
    mean_weights: tuple[Fraction, ...] = eqx.field(static=True)


class LinearScore(eqx.Module):
    """A weighted sum of scores as float64 arithmetic on numerators, with what it may be off by.

    `sum_c multipliers[c] * numerators[c]` is the sum times `scale`. Where the multipliers are
    whole and no sum passes 2^53 the arithmetic is exact and `relative_error` is 0.
    """

    multipliers: Float64[Array | np.ndarray, " coordinates"]
    scale: Float64[Array | np.ndarray, ""]
    relative_error: Float64[Array | np.ndarray, ""]
    # Sums this close (in score units) may or may not round to the same 10 decimals.
    rounding_margin: Float64[Array | np.ndarray, ""]

    @classmethod
    def of(cls, weights: Sequence[Fraction], denominators: Sequence[int]) -> "LinearScore":
        """`weights` on scores in [0, 1] that are multiples of 1/`denominators`."""
        parts = [w / int(d) for w, d in zip(weights, denominators, strict=True)]
        common = lcm(*(part.denominator for part in parts))
        whole = [int(part * common) for part in parts]
        largest = sum(k * int(d) for k, d in zip(whole, denominators, strict=True))
        exact = largest <= EXACT_FLOAT64
        # Distinct multiples of 1/common stay distinct after rounding if common <= 10^10.
        margin = 0.0 if exact and common <= 10**DECIMALS else 4.0 * 10.0**-DECIMALS
        return cls(
            multipliers=np.array(whole if exact else parts, dtype=np.float64),
            scale=np.array(float(common if exact else 1)),
            relative_error=np.array(0.0 if exact else 4 * (len(parts) + 2) * 2.0**-53),
            rounding_margin=np.array(margin),
        )
