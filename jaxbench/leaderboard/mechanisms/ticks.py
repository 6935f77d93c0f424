"""Ticks: the whole numbers in which mechanisms hold scores, and how fine they have to be.

Source: spec of the mechanisms, "common ground": a deterministic comparison is one of integers, so
that steps, grids and thresholds are whole ticks; floats break ties.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, lcm, log10

import equinox as eqx
import numpy as np
from jaxtyping import Float64, Int

from jaxbench.errors import BadRequest
from jaxbench.options.mechanism import Chosen, Parameter, spell
from jaxbench.options.mechanism_names import spec_of

# Ticks per score of 1 at most, so that sums of weighted numbers stay exact in float64.
FINEST = 2**40
# Where noise is added: no coarser than this, and than a part of the smallest noise.
NOISY = 10_000
PER_NOISE = 16

Weights = tuple[Fraction, ...] | tuple[tuple[Fraction, ...], ...]


class Strata(eqx.Module):
    """Items that count alike in the overall, for a rule that looks at its standard error.

    - `items`: reused items of every stratum; `weights`: of their mean in the overall.
    - `counts`: counts per score of 1 of an item.
    - `units`: those of every stratum, of which sums over items are given.
    - `mean`: the overall is the exact mean over all items (one stratum).
    """

    items: Int[np.ndarray, "#trials strata"]
    weights: tuple[Fraction, ...]
    counts: int
    units: tuple[tuple[int, ...], ...]
    mean: bool


class Ticks(eqx.Module):
    """What the numbers of an interface are in ticks, on the host.

    - `per_score`: ticks per score of 1.
    - `items`: reused items behind a number.
    - `weights`: of every number in the released overall, exact; a row per trial where they differ.
    - `plain`: every number is the mean of its items' scores of 0 or 1, not rounded.
    - `reused`: reused items in all (default: the sum of `items`).
    - `strata`: of the overall, where it is a weighted mean over items and somebody asks for them.
    """

    per_score: Int[np.ndarray, "#trials numbers"]
    items: Int[np.ndarray, "#trials numbers"]
    weights: Weights
    plain: bool = True
    reused: Int[np.ndarray, " #trials"] | None = None
    strata: Strata | None = None

    def sized(self, size: Fraction) -> Float64[np.ndarray, "#trials numbers"]:
        """A fraction of the score in ticks: exact where it is whole, else the nearest float."""
        return _each(lambda ticks: float(size * ticks), self.per_score)

    def weight_rows(self) -> Float64[np.ndarray, "#trials numbers"]:
        """The weights as floats, a row per trial or one for all."""
        return np.array([[float(w) for w in row] for row in self.weights_by_trial()])

    def weights_by_trial(self) -> list[list[Fraction]]:
        """The exact weights, a row per trial or one for all."""
        return _rows(self.weights)

    def scored(self, items: int) -> Int[np.ndarray, "#trials numbers"]:
        """How many of a number's items are scored if `items` of all reused ones are.

        The number's share, to the nearest whole one (halves to even), and one at least.

        **Errors:** `BadRequest` where there are not so many.
        """
        return shares(items, self.items, self.reused)

    def overall(
        self, step: Fraction
    ) -> tuple[Float64[np.ndarray, "#trials numbers"], Float64[np.ndarray, "#trials 1"]]:
        """The weight of every number's ticks in the overall's own ticks, and a step in those.

        The overall's ticks are the coarsest in which both are whole.

        **Errors:** `BadRequest` where the overall would not be exact.
        """
        rows = _rows(self.weights)
        trials = max(len(rows), len(self.per_score))
        weights, steps = [], []
        for trial in range(trials):
            ticks = self.per_score[trial % len(self.per_score)].tolist()
            parts = [w / t for w, t in zip(rows[trial % len(rows)], ticks, strict=True)]
            common = lcm(step.denominator, *(part.denominator for part in parts))
            if common > FINEST:
                raise BadRequest(
                    f"on=gate: an exact overall of these numbers needs {common} ticks per score, "
                    f"which is more than 2^40; use on=overall or on=coordinates"
                )
            weights.append([float(part * common) for part in parts])
            steps.append([float(step * common)])
        return np.array(weights), np.array(steps)


def shares(
    items: int,
    behind: Int[np.ndarray, "#trials numbers"],
    reused: Int[np.ndarray, " #trials"] | None = None,
) -> Int[np.ndarray, "#trials numbers"]:
    """As `Ticks.scored`."""
    total = behind.sum(axis=1) if reused is None else reused
    if items > total.min():
        raise BadRequest(
            f"mechanism=subsample: items={items}; expected at most the reused items, "
            f"{total.min()} here"
        )
    # Every product is far below 2^53 and the quotient of exact ones: rint sees true halves.
    return np.maximum(np.rint(items * behind / total[:, None]).astype(np.int64), 1)


def decimals(items: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
    """round(log10 n), which Ladder.jl rounds to."""
    return _each(lambda n: round(log10(n)), items).astype(np.int64)


def refined(
    chosen: Sequence[Chosen],
    denominators: Int[np.ndarray, "#trials numbers"],
    *,
    items: Int[np.ndarray, "#trials numbers"] | None = None,
    reused: Int[np.ndarray, " #trials"] | None = None,
) -> Int[np.ndarray, "#trials numbers"]:
    """Ticks per score of 1 for a chain: the least multiples of an interface's denominators.

    Every step, grid and threshold is a whole number of them. Where a mechanism is noisy they are
    no coarser than 1/10,000 of the score and a sixteenth of the smallest noise.

    **Arguments:** `chosen`: the chain; `denominators`: of the interface's numbers; `items`: reused
    items behind every number (default: the denominators); `reused`: as in `Ticks`.

    **Errors:** `BadRequest` naming the parameter for which there would be more than 2^40.
    """
    items = denominators if items is None else items
    ticks = np.broadcast_to(denominators, np.broadcast_shapes(denominators.shape, items.shape))
    for part, parameter, size in _sizes(chosen, spread=False):
        ticks = _multiples(ticks, size.denominator, _named(part, parameter, size))
    for part in chosen:
        if part.name == "subsample":
            counts = part["items"]
            assert isinstance(counts, int)
            needed = shares(counts, items, reused)
            ticks = _multiples(ticks, needed, f"mechanism=subsample: items={counts}")
        elif part.name == "ladder" and part["round"] == "julia":
            ticks = _multiples(ticks, 10 ** decimals(items), "mechanism=ladder: round=julia")
    if any(spec_of(part.name).noisy for part in chosen):
        ticks = _finer(ticks, NOISY, "mechanism")
        for part, parameter, size in _sizes(chosen, spread=True):
            if size > 0:
                least = ceil(PER_NOISE / size)
                ticks = _finer(ticks, least, _named(part, parameter, size))
    return np.array(ticks, dtype=np.int64)


def _sizes(
    chosen: Sequence[Chosen], *, spread: bool
) -> Iterator[tuple[Chosen, Parameter, Fraction]]:
    """The sizes of noise in a chain, or those that are none."""
    for part in chosen:
        for parameter in spec_of(part.name).parameters:
            value = dict(part.values).get(parameter.name)
            if parameter.kind == "size" and parameter.spread == spread and value is not None:
                assert isinstance(value, Fraction)
                yield part, parameter, value


def _named(part: Chosen, parameter: Parameter, size: Fraction) -> str:
    return f"mechanism={part.name}: {parameter.name}={spell(size)}"


def _multiples(
    ticks: Int[np.ndarray, "trials numbers"],
    of: int | Int[np.ndarray, "#trials numbers"],
    what: str,
) -> Int[np.ndarray, "trials numbers"]:
    """The least common multiples of both."""
    pairs = np.stack([ticks, np.broadcast_to(of, ticks.shape)], axis=-1)
    return _changed(pairs, lambda pair: lcm(*pair), what)


def _finer(
    ticks: Int[np.ndarray, "trials numbers"], least: int, what: str
) -> Int[np.ndarray, "trials numbers"]:
    """The least multiples of the ticks that are `least` at least."""
    return _changed(ticks[..., None], lambda one: one[0] * -(-least // one[0]), what)


def _changed(
    old: Int[np.ndarray, "trials numbers values"],
    change: Callable[[list[int]], int],
    what: str,
) -> Int[np.ndarray, "trials numbers"]:
    """`change` of the whole numbers of every entry, of which the first are the ticks so far."""
    trials, numbers, values = old.shape
    distinct, where = np.unique(old.reshape(-1, values), axis=0, return_inverse=True)
    new = [change(entry) for entry in distinct.tolist()]
    worst = max(new)
    if worst > FINEST and any(n != e[0] for n, e in zip(new, distinct.tolist(), strict=True)):
        raise BadRequest(
            f"{what}: with scores in {distinct[new.index(worst)][0]} parts this needs {worst} "
            "ticks per score, which is more than 2^40; expected a rounder or a larger number"
        )
    return np.array(new, dtype=np.int64)[where.reshape(trials, numbers)]


def _rows(weights: Weights) -> list[list[Fraction]]:
    """A row of weights per trial, or one for all."""
    rows = [list(row) for row in weights if isinstance(row, tuple)]
    return rows or [[one for one in weights if isinstance(one, Fraction)]]


def _each(
    rule: Callable[[int], float], x: Int[np.ndarray, "*shape"]
) -> Float64[np.ndarray, "*shape"]:
    """A rule for every entry, worked out once per value."""
    distinct, where = np.unique(x, return_inverse=True)
    return np.array([rule(n) for n in distinct.tolist()], dtype=np.float64)[where.reshape(x.shape)]
