"""Numbers made of counts, in exact integers: sums, clips, and roundings to ticks.

Released scores, overall scores and their roundings are chains of the same few steps, so they are
data: one compiled program serves every interface, precision and scoring rule. Everything is a
whole number held in float64; what could pass 2^53 is refused when the chain is built.

Counts come as `(trials, rows, units)`. How many items a unit has may differ between trials, so
what a step divides by or subtracts has a leading trial axis, of length 1 where it is always the
same.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from types import ModuleType
from typing import TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float64, Int

EXACT = 2**53
Numbers = TypeVar("Numbers", np.ndarray, Array)


class InexactError(ValueError):
    """A chain whose whole numbers could pass 2^53."""


class Step(eqx.Module):
    """`x -> x @ matrix`, then clipped or rounded.

    The matrix has a leading trial axis where it differs between trials. With `offsets`:
    `max(x - offsets, 0)`. With `divisors`: `x * ticks / divisors` rounded half to even.
    """

    matrix: Float64[Array | np.ndarray, "*trials inputs outputs"]
    offsets: Float64[Array | np.ndarray, "#trials 1 outputs"] | None = None
    ticks: Float64[Array | np.ndarray, ""] | None = None
    divisors: Float64[Array | np.ndarray, "#trials 1 outputs"] | None = None

    def __call__(self, x: Numbers, numpy: ModuleType) -> Numbers:
        """Apply the step to the last axis."""
        x = x @ self.matrix
        if self.offsets is not None:
            x = numpy.maximum(x - self.offsets, 0.0)
        if self.ticks is not None and self.divisors is not None:
            x = _divide(x * self.ticks, self.divisors, numpy)
        return x


def _divide(x: Numbers, divisors: Array | np.ndarray, numpy: ModuleType) -> Numbers:
    """`x / divisors` rounded half to even, exactly, whatever the device makes of a quotient.

    A compiler may divide by way of the reciprocal, which is off at exact halves. The remainder of
    the nearest whole number tells: all are whole numbers below 2^53.
    """
    near = numpy.rint(x / divisors)
    rest = 2.0 * (x - near * divisors)
    # Off by one at most.
    near = near + numpy.where(numpy.abs(rest) > divisors, numpy.sign(rest), 0.0)
    rest = 2.0 * (x - near * divisors)
    odd_half = (numpy.abs(rest) == divisors) & (numpy.fmod(near, 2.0) != 0.0)
    return numpy.where(odd_half, near + numpy.sign(rest), near)


class Chain(eqx.Module):
    """Steps from counts per unit (last axis) to numerators.

    Number n is `numerators[..., n] / denominators[trial, n]`; `largest` bounds the numerators.
    """

    steps: tuple[Step, ...]
    denominators: Int[Array | np.ndarray, "#trials numbers"]
    largest: Int[Array | np.ndarray, " numbers"]

    def __call__(self, counts: Numbers, numpy: ModuleType = np) -> Numbers:
        """Numerators, float64, of counts per unit (whole numbers in float64)."""
        for step in self.steps:
            counts = step(counts, numpy)
        return counts

    def matrix(self, numpy: ModuleType = np) -> Array | np.ndarray:
        """The weight of every unit in every number, `(*trials, units, numbers)`.

        Of a chain of sums and mixes only, which this is all of.
        """
        assert all(step.offsets is None and step.ticks is None for step in self.steps)
        matrix = numpy.eye(len(self.largest)) if not self.steps else self.steps[0].matrix
        for step in self.steps[1:]:
            matrix = matrix @ step.matrix
        return matrix

    def bare(self) -> "Chain":
        """The steps alone, which is all that a compiled program needs."""
        count = len(self.largest)
        return Chain(self.steps, np.zeros((1, count), np.int64), np.zeros(count, np.int64))

    def at(self, rows: np.ndarray, trials: int) -> "Chain":
        """The chain of some of the `trials`; what is the same in all of them stays."""
        if trials == 1:
            return self

        def take(x):
            # Of a step's arrays only those with a trial axis have three.
            return x[rows] if np.ndim(x) == 3 and len(x) == trials else x

        denominators = self.denominators[rows] if len(self.denominators) > 1 else self.denominators
        return Chain(jax.tree.map(take, self.steps), denominators, self.largest)

    @classmethod
    def start(cls, counted: Int[np.ndarray, "#trials units"]) -> "Chain":
        """The counts themselves, each out of `counted`."""
        return cls(steps=(), denominators=counted, largest=counted.max(axis=0))

    def sums(self, parts: Sequence[Sequence[int]]) -> "Chain":
        """Add numerators that share what they are counted in: means over all items of a part."""
        matrix = _matrix(len(self.largest), [[(i, 1) for i in part] for part in parts])
        denominators = np.stack([self.denominators[:, list(p)].sum(axis=1) for p in parts], axis=1)
        # Units of a task vary between trials where the task does not.
        if (denominators == denominators[0]).all():
            denominators = denominators[:1]
        return self._then(Step(matrix), denominators, denominators.max(axis=0))

    def mix(self, rows: Sequence[Sequence[tuple[int, Fraction]]]) -> "Chain":
        """Weighted sums of the numbers, every weight exact.

        **Errors:** `InexactError` where the common denominator of a sum is too large.
        """
        made = [self._mixed(tuple(of), rows) for of in self.denominators.tolist()]
        matrices = np.stack([matrix for matrix, _, _ in made])
        denominators = np.array([common for _, common, _ in made])
        largest = np.array([bound for _, _, bound in made]).max(axis=0)
        matrix = matrices if len(made) > 1 else matrices[0]
        return self._then(Step(matrix), denominators, largest)

    def _mixed(
        self, of: tuple[int, ...], rows: Sequence[Sequence[tuple[int, Fraction]]]
    ) -> tuple[np.ndarray, list[int], list[int]]:
        """Matrix, common denominators and bounds of weighted sums of numbers out of `of`."""
        columns, denominators, largest = [], [], []
        for row in rows:
            parts = [(i, weight / of[i]) for i, weight in row]
            common = lcm(*(part.denominator for _, part in parts))
            columns.append([(i, int(part * common)) for i, part in parts])
            denominators.append(common)
            largest.append(sum(k * int(self.largest[i]) for i, k in columns[-1]))
        _check(largest, denominators)
        return _matrix(len(self.largest), columns), denominators, largest

    def above_chance(self, chances: Sequence[Fraction]) -> "Chain":
        """`max(score - chance, 0) / (1 - chance)` of every number."""
        p = np.array([c.numerator for c in chances], dtype=object)
        q = np.array([c.denominator for c in chances], dtype=object)
        offsets, denominators = p * self.denominators, (q - p) * self.denominators
        bounds = [int(b) for b in q * self.largest]
        _check(bounds)
        step = Step(
            _matrix(len(bounds), [[(i, int(k))] for i, k in enumerate(q)]),
            offsets=offsets.astype(np.float64)[:, None, :],
        )
        return self._then(step, denominators.astype(np.int64), np.array(bounds))

    def rounded(self, ticks: int) -> "Chain":
        """Every number rounded to a multiple of 1/ticks, half to even.

        **Errors:** `InexactError` where float64 could round the wrong way.
        """
        # A quotient is off by 2^-53 of itself and lies at least 1/(2 denominator) from the next
        # rounding boundary, or on it, where the division is exact.
        _check(
            [ticks * int(n) for n in self.largest],
            [4 * ticks * int(d) for d in self.denominators.max(axis=0)],
        )
        step = Step(
            np.eye(len(self.largest)),
            ticks=np.array(float(ticks)),
            divisors=self.denominators.astype(np.float64)[:, None, :],
        )
        count = len(self.largest)
        return self._then(step, np.full((1, count), ticks), np.full(count, ticks))

    def _then(self, step: Step, denominators: np.ndarray, largest: np.ndarray) -> "Chain":
        return Chain((*self.steps, step), denominators, largest)


def _matrix(inputs: int, columns: Sequence[Sequence[tuple[int, int]]]) -> np.ndarray:
    matrix = np.zeros((inputs, len(columns)))
    for output, column in enumerate(columns):
        for i, k in column:
            matrix[i, output] = k
    return matrix


def _check(*bounds: Sequence[int]) -> None:
    if any(max(bound, default=0) > EXACT for bound in bounds):
        raise InexactError
