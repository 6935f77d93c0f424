"""Many tests at once."""

import numpy as np
from jaxtyping import Float64


def holm(p: Float64[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    """p-values adjusted so that all of them below a bound are right but for that chance.

    The i-th smallest of m is multiplied by m - i + 1, never falls below the one before it, and is
    at most 1 (Holm 1979). Holds whatever the tests have to do with each other.
    """
    order = np.argsort(p, kind="stable")
    many = len(p) - np.arange(len(p))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * many))
    return adjusted
