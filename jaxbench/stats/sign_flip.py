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
from jaxtyping import Bool, Float64, Int, Num

from jaxbench.errors import BadRequest

# Differences that add up to more, in the steps that they are multiples of, are left to the normal
# approximation: the time of a pair grows with this number.
LARGEST_TOTAL = 2**16
# Pairs that share a table of cosines, and numbers held at a time.
_PAIRS = 256
_HELD = 2**21
# Sums of magnitudes have to fit int64.
_MOST = 2**62


class SignFlip(NamedTuple):
    """Two-sided p-values, and which of them are exact (the others: normal approximation)."""

    p: Float64[np.ndarray, " pairs"]
    exact: Bool[np.ndarray, " pairs"]


def sign_flip_test(differences: Int[np.ndarray, "pairs units"]) -> SignFlip:
    """`P(|S| >= |s|)` for `s` the sum of a row, `S` the sum with a random sign on every unit.

    **Arguments:** `differences`: whole numbers, in any step common to a row.

    Exact where the magnitudes of a row, divided by their greatest common divisor, add up to at
    most `LARGEST_TOTAL`: from the binomial distribution if they are all alike, to a relative error
    of 1e-12; else from the characteristic function `prod cos(d t)` on the lattice of sums, to an
    absolute error of 1e-12 and within Hoeffding's bound. A row that adds up to 0 has p = 1.

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
    exact = (largest <= 1) | (total <= LARGEST_TOTAL) | (reached == 0)
    p = np.ones(pairs)
    for n in np.unique(total[(largest == 1) & (reached > 0)]):
        rows = np.flatnonzero((largest == 1) & (reached > 0) & (total == n))
        p[rows] = _sign_test(int(n))[(n - reached[rows]) // 2]
    rows = np.flatnonzero(exact & (largest > 1) & (reached > 0))
    # Rows of like totals share a lattice.
    rows = rows[np.argsort(total[rows], kind="stable")]
    for first in range(0, len(rows), _PAIRS):
        some = rows[first : first + _PAIRS]
        p[some] = _on_lattice(sizes[some], total[some], reached[some])
    p[~exact] = sign_flip_normal(differences[~exact])
    return SignFlip(p, exact)


def sign_flip_normal(differences: Num[np.ndarray, "pairs units"]) -> Float64[np.ndarray, " pairs"]:
    """The sign-flip test as if the sum under random signs were normal: `z = s / sqrt(sum d^2)`.

    Where a few large differences decide, it is rough; the exact p is never more than 3.18 times
    as large (Bentkus and Dzindzalieta 2015).
    """
    wide = differences.astype(np.float64)
    spread = np.sqrt((wide**2).sum(axis=1))
    z = np.abs(wide.sum(axis=1)) / np.where(spread > 0, spread, 1.0)
    return np.array([erfc(value / sqrt(2)) for value in z], dtype=np.float64)


@lru_cache(maxsize=4096)
def _sign_test(n: int) -> Float64[np.ndarray, " outcomes"]:
    """`P(|S| >= n - 2 j)` for n random signs, j = 0 up to the middle."""
    middle = (n + 1) // 2
    above = np.arange(middle, n, dtype=np.float64)
    # From the middle term, which Python rounds but once, to the end; then added smallest first.
    terms = np.cumprod([comb(n, middle) / (1 << n), *((n - above) / (above + 1))])
    # What underflows is small, but no p is 0.
    return np.clip(2 * np.cumsum(terms[::-1]), np.finfo(np.float64).tiny, 1.0)


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
    # Rounding could leave the range: p is at least that of the two extremes, and Hoeffding (1963)
    # bounds it from above.
    least = 2.0 ** (1.0 - np.minimum((sizes > 0).sum(axis=1), 1000))
    most = np.minimum(1.0, 2 * np.exp(-(reached.astype(np.float64) ** 2) / (2 * squares)))
    return np.clip(1 - inside / n, np.minimum(least, most), most)
