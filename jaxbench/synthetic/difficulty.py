"""The distribution of item difficulties: normal, or a shifted lognormal of a given skewness.

Difficulty is a function of one normal variable z, so that it can be drawn and integrated alike.
"""

from types import ModuleType
from typing import Any, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float64

Moment = float | np.ndarray
Numbers = TypeVar("Numbers", np.ndarray, Array)


class Difficulty(eqx.Module):
    """`mean + sd * s(z)`, where s(z) has mean 0, sd 1 and the skewness asked for.

    Without skew s(z) = z. Else s(z) = sign * (exp(rate * sign * z) - centre) / scale, a lognormal
    brought to mean 0 and sd 1: with w = exp(rate^2) its skewness is (w + 2) sqrt(w - 1), hence
    w - 1 = 4 sinh^2(asinh(skewness / 2) / 3). Numbers may have a leading axis of worlds.
    """

    mean: Float64[Array | np.ndarray, "*worlds"]
    sd: Float64[Array | np.ndarray, "*worlds"]
    sign: Float64[Array | np.ndarray, "*worlds"]
    rate: Float64[Array | np.ndarray, "*worlds"]

    @classmethod
    def of(cls, mean: Moment, sd: Moment, skewness: Moment) -> "Difficulty":
        """The distribution with these moments; numbers, or one per world."""
        skew = np.asarray(skewness, dtype=np.float64)
        rate = np.sqrt(np.log1p(4.0 * np.sinh(np.arcsinh(np.abs(skew) / 2) / 3) ** 2))
        sign = np.where(skew < 0, -1.0, 1.0)
        return cls(*(np.asarray(part, dtype=np.float64) for part in (mean, sd, sign, rate)))

    def __call__(self, z: Numbers, numpy: ModuleType = np) -> Numbers:
        """Difficulties of one world, of normal variables of any shape."""
        # Without skew the other branch must not divide by zero.
        rate = numpy.where(self.rate > 0, self.rate, 1.0)
        grown = numpy.expm1(rate * (self.sign * z)) - numpy.expm1(rate**2 / 2)
        shaped = numpy.where(self.rate > 0, self.sign * grown / _scale(rate, numpy), z)
        return self.mean + self.sd * shaped

    def slope(self, z: np.ndarray) -> np.ndarray:
        """The derivative of the difficulty at z."""
        if self.rate == 0:
            return np.full_like(z, self.sd)
        grown = self.rate * np.exp(self.rate * self.sign * z) / _scale(self.rate, np)
        return np.asarray(self.sd * grown)


def _scale(rate: Any, numpy: ModuleType) -> Any:
    """The sd of exp(rate * z)."""
    return numpy.exp(rate**2 / 2) * numpy.sqrt(numpy.expm1(rate**2))
