"""The exact sign-flip test of paired differences.

If two candidates are equally good, the difference on every unit (a prompt, with all its items)
could as well have had the other sign. The test asks how seldom random signs carry the sum as far
from 0 as it is (Fisher 1935, section 21; Pitman 1937). Differences of one size make it the sign
test, and the exact test of McNemar (1947) where they come from right and wrong answers.
"""

from functools import lru_cache
from math import comb, erfc, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int64, Num

from jaxbench.errors import BadRequest

# What differences of a row add up to at most, in the steps that they are multiples of, for its
# sums to be told apart: the time of a pair grows with this number.
LARGEST_TOTAL = 2**16
# Beyond, rows of at most so many magnitudes are rounded to a grid on which they add up to between
# half of this and all of it.
MOST_KINDS = 100
GRID_TOTAL = 2**15
# Pairs that share a table of cosines, and numbers held at a time.
_PAIRS = 256
_HELD = 2**21
# Rounding of a sum over a lattice; and what underflows is small, but no p is 0.
_ROUNDING = 1e-13
_TINY = float(np.finfo(np.float64).tiny)
# Sums of magnitudes have to fit int64.
_MOST = 2**62


SIGN_FLIP_METHODS = ("exact", "rounded", "normal")


class SignFlip(NamedTuple):
    """Two-sided p-values, and how each was found: the number of one of `SIGN_FLIP_METHODS`."""

    p: Float64[np.ndarray, " pairs"]
    method: Int64[np.ndarray, " pairs"]


def sign_flip_test(differences: Int[np.ndarray, "pairs units"]) -> SignFlip:
    """`P(|S| >= |s|)` for `s` the sum of a row, `S` the sum with a random sign on every unit.

    **Arguments:** `differences`: whole numbers, in any step common to a row.

    - `exact` where the magnitudes of a row, divided by their greatest common divisor, are all
      alike (binomial; to a relative error of 1e-12) or add up to at most `LARGEST_TOTAL` (from the
      characteristic function `prod cos(d t)` on the lattice of sums; to an absolute error of
      1e-12, and below 1e-13 the bound of Hoeffding 1963). A row that adds up to 0 has p = 1.
    - `rounded`: the same with finer magnitudes rounded to a grid, if there are few of them. A few
      large differences may decide here, where no normal distribution is near.
    - `normal`: `sign_flip_normal`.

    No p depends on the other rows, but for rounding.

    **Errors:** `BadRequest` where sums would not fit 64 bits.
    """
    sizes = np.abs(differences.astype(np.int64))
    pairs, units = sizes.shape
    if units * float(sizes.max(initial=0)) > _MOST:
        raise BadRequest("differences are too large to be added exactly; divide them by a step")
    step = np.maximum(np.gcd.reduce(sizes, axis=1), 1)
    sizes //= step[:, None]
    reached = np.abs(differences.sum(axis=1)) // step
    total, largest = sizes.sum(axis=1), sizes.max(axis=1, initial=0)
    p, method = np.ones(pairs), np.zeros(pairs, dtype=np.int64)
    alike = (largest == 1) & (reached > 0)
    for n in np.unique(total[alike]):
        rows = np.flatnonzero(alike & (total == n))
        p[rows] = _sign_test(int(n))[(n - reached[rows]) // 2]
    mixed = (largest > 1) & (reached > 0)
    rows = np.flatnonzero(mixed & (total <= LARGEST_TOTAL))
    p[rows] = _in_batches(sizes[rows], reached[rows])
    rows = np.flatnonzero(mixed & (total > LARGEST_TOTAL))
    few = _kinds(sizes[rows]) <= MOST_KINDS
    method[rows] = np.where(
        few, SIGN_FLIP_METHODS.index("rounded"), SIGN_FLIP_METHODS.index("normal")
    )
    p[rows[~few]] = sign_flip_normal(differences[rows[~few]])
    rows = rows[few]
    p[rows] = _in_batches(*_on_grid(sizes[rows], reached[rows]))
    return SignFlip(p, method)


def sign_flip_normal(differences: Num[np.ndarray, "pairs units"]) -> Float64[np.ndarray, " pairs"]:
    """The sign-flip test as if the sum under random signs were normal: `z = s / sqrt(sum d^2)`.

    Where a few large differences decide it is far too large; the exact p is never more than 3.18
    times as large (Bentkus and Dzindzalieta 2015).
    """
    wide = differences.astype(np.float64)
    spread = np.sqrt((wide**2).sum(axis=1))
    z = np.abs(wide.sum(axis=1)) / np.where(spread > 0, spread, 1.0)
    return np.array([max(erfc(value / sqrt(2)), _TINY) for value in z], dtype=np.float64)


@lru_cache(maxsize=4096)
def _sign_test(n: int) -> Float64[np.ndarray, " outcomes"]:
    """`P(|S| >= n - 2 j)` for n random signs, j = 0 up to the middle."""
    middle = (n + 1) // 2
    above = np.arange(middle, n, dtype=np.float64)
    # From the middle term, which Python rounds but once, to the end; then added smallest first.
    terms = np.cumprod([comb(n, middle) / (1 << n), *((n - above) / (above + 1))])
    return np.clip(2 * np.cumsum(terms[::-1]), _TINY, 1.0)


def _on_grid(
    sizes: np.ndarray, reached: np.ndarray
) -> tuple[Int64[np.ndarray, "pairs units"], Int64[np.ndarray, " pairs"]]:
    """Magnitudes rounded to whole numbers, and the sum that is as many deviations away.

    Rounded to a sum that the rounded magnitudes can have, towards 0: p can only grow by that.
    """
    wide = sizes.astype(np.float64)
    # A power of two, so that the grid does not depend on what else is tested.
    scale = GRID_TOTAL / 2.0 ** np.ceil(np.log2(wide.sum(axis=1)))
    rounded = np.rint(wide * scale[:, None])
    kept = np.sqrt((rounded**2).sum(axis=1) / (wide**2).sum(axis=1))
    sums, whole = np.floor(reached * kept).astype(np.int64), rounded.astype(np.int64)
    return whole, np.maximum(sums - (whole.sum(axis=1) - sums) % 2, 0)


def _kinds(sizes: np.ndarray) -> Int64[np.ndarray, " pairs"]:
    """How many distinct magnitudes above 0 every row has."""
    ordered = np.sort(sizes, axis=1)
    return (np.diff(ordered, axis=1, prepend=0) > 0).sum(axis=1)


def _in_batches(sizes: np.ndarray, reached: np.ndarray) -> Float64[np.ndarray, " pairs"]:
    """Chances of pairs on their lattices; those of like totals share one."""
    p, total = np.ones(len(sizes)), sizes.sum(axis=1)
    rows = np.flatnonzero(reached > 0)
    rows = rows[np.argsort(total[rows], kind="stable")]
    for first in range(0, len(rows), _PAIRS):
        some = rows[first : first + _PAIRS]
        p[some] = _on_lattice(sizes[some], total[some], reached[some])
    return p


def _on_lattice(sizes: np.ndarray, total: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Test pairs whose magnitudes differ, with `reached` > 0.

    S has the parity of `total`, so its distribution is `(1/N) sum_k phi(t_k) cos(t_k x)` over
    `t_k = pi k / N` for any N > `total`. The chance of |S| < s is then a sum of `phi` with the
    Dirichlet kernel `sin((s - 1) t) / sin(t)`; k and N - k contribute alike.
    """
    pairs = len(sizes)
    values, which = np.unique(sizes, return_inverse=True)
    cells = np.arange(pairs)[:, None] * len(values) + which.reshape(sizes.shape)
    times = np.bincount(cells.ravel(), minlength=pairs * len(values)).astype(np.float64)
    times = times.reshape(pairs, -1)[:, values > 0]
    values = values[values > 0]
    # Odd, so that no cosine is 0 and no k is its own N - k.
    n = int(total.max() + 1) | 1
    angle = np.pi * np.arange(2 * n) / n
    cosine, sine = np.cos(angle), np.sin(angle)
    logs, negative = np.log(np.abs(cosine)), (cosine < 0).astype(np.float64)
    odd = times % 2
    inside = (reached - 1).astype(np.float64)
    block = max(1, _HELD // max(pairs, len(values)))
    for first in range(1, (n + 1) // 2, block):
        k = np.arange(first, min(first + block, (n + 1) // 2))
        # Angles are reduced in whole numbers, so that a table serves and nothing is lost.
        place = (values[:, None] * k) % (2 * n)
        turned = 1 - 2 * ((odd @ negative[place]) % 2)
        phi = np.exp(times @ logs[place]) * turned
        kernel = sine[((reached - 1)[:, None] * k) % (2 * n)] / sine[k]
        inside += 2 * np.einsum("pk,pk->p", phi, kernel)
    squares = (sizes.astype(np.float64) ** 2).sum(axis=1)
    most = np.clip(2 * np.exp(-(reached.astype(np.float64) ** 2) / (2 * squares)), _TINY, 1.0)
    p = np.minimum(1 - inside / n, most)
    # What rounding leaves of a smaller p says nothing; the bound is never too small.
    return np.where(p < _ROUNDING, np.minimum(_ROUNDING, most), p)
