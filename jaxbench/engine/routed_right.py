"""How many items a final router sends to their better endpoint: the law of Q(m, k).

Of the reused items of one coordinate the endpoints differ, by equal steps, on m; K = k - 1 fresh
fair routers vote. Q of the m end at their better endpoint. Its law depends on m and K alone.
Source: spec of lifespan, "The mechanistic law, exact", 2 and 3.

Everything runs once per shape, on the host, in float64.
"""

import math
from functools import lru_cache

import numpy as np
from jaxtyping import Float64, Int

# Up to this many candidates the variance is an exact sum; its cost grows like K^1.5 m^0.5.
EXACT_CANDIDATES = 128
# Sums of fair signs beyond so many standard deviations have no weight in float64.
FAR = 12.0


def share_right(m: int, candidates: int) -> float:
    """q(m, K): the probability that an item on which the endpoints differ is routed right.

    **Arguments:** `m` at least 1, `candidates` K = k - 1 at least 0 (0: a coin).

    The vote of an item is K plus a sum S of K(m - 1) fair signs, and a zero vote is a coin:
    `q = P(S > -K) + P(S = -K) / 2`. Exact up to rounding (1e-12).
    """
    if m < 1 or candidates < 0:
        raise ValueError(f"m={m}, candidates={candidates}: expected at least 1 and 0")
    terms = candidates * (m - 1)
    values, chances = sum_of_signs(terms)
    inside = np.abs(values) < candidates
    on_edge = np.abs(values) == candidates
    # By symmetry half of what lies outside (-K, K) is on the wrong side.
    within = math.fsum(chances[inside]) + 0.5 * math.fsum(chances[on_edge])
    return 0.5 + 0.5 * within if candidates else 0.5


def mean_right(m: int, candidates: int) -> float:
    """E Q(m, k) in items."""
    return m * share_right(m, candidates)


@lru_cache(maxsize=4096)
def variance_right(m: int, candidates: int) -> float:
    """Var Q(m, k) in items squared.

    Votes of one coordinate are not independent, so it is below the binomial m q (1 - q). An exact
    sum for up to `EXACT_CANDIDATES`, beyond it `asymptotic_variance`.
    """
    if candidates > EXACT_CANDIDATES:
        return asymptotic_variance(m, candidates)
    q = share_right(m, candidates)
    both = _both_right(m, candidates) if m > 1 else 0.0
    return m * q * (1.0 - q) + m * (m - 1) * (both - q * q)


def asymptotic_variance(m: int, candidates: int) -> float:
    """Var Q(m, k) for many candidates: m (q (1 - q) - kappa_K phi(z)^2), z = sqrt(K / (m - 1))."""
    if m == 1:
        return 0.0
    q = share_right(m, candidates)
    z = math.sqrt(candidates / (m - 1))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return m * max(0.0, q * (1.0 - q) - kappa(candidates) * density**2)


@lru_cache(maxsize=4096)
def kappa(candidates: int) -> float:
    """kappa_K = K (1 - E sqrt(1 - rho^2)), rho the mean of K fair signs: from 1 down to 1/2."""
    values, chances = sum_of_signs(candidates)
    squared = (values / candidates) ** 2
    # 1 - sqrt(1 - x) without cancellation.
    return candidates * float(np.sum(chances * squared / (1.0 + np.sqrt(1.0 - squared))))


def moments_right(
    m: Int[np.ndarray, " coordinates"], candidates: Int[np.ndarray, " budgets"]
) -> tuple[Float64[np.ndarray, "coordinates budgets"], Float64[np.ndarray, "coordinates budgets"]]:
    """Mean and variance of Q for every coordinate and number of candidates; m = 0 gives zeros."""
    pairs = [[(int(n), int(k)) for k in candidates] for n in m]
    mean = [[mean_right(n, k) if n else 0.0 for n, k in row] for row in pairs]
    variance = [[variance_right(n, k) if n else 0.0 for n, k in row] for row in pairs]
    shape = len(m), len(candidates)
    return np.array(mean).reshape(shape), np.array(variance).reshape(shape)


def sum_of_signs(
    terms: int,
) -> tuple[Float64[np.ndarray, " values"], Float64[np.ndarray, " values"]]:
    """Values of a sum of fair signs, rising by 2, and their probabilities.

    Probabilities below float64's rounding of the whole are left out (beyond `FAR` standard
    deviations, where there are that many).
    """
    # Outwards from the middle by exact ratios: no logarithms of factorials to cancel.
    reach = min(terms // 2, math.ceil(0.5 * FAR * math.sqrt(terms)) + 1)
    low = terms // 2
    steps = np.arange(reach, dtype=np.float64)
    down = np.cumprod(np.concatenate([[1.0], (low - steps) / (terms - low + 1.0 + steps)]))
    # For an odd number of terms the two middle values are equal, else the middle stands once.
    odd = terms % 2
    ratios = np.concatenate([down[::-1], down[1 - odd :]])
    below = terms - 2.0 * low + 2.0 * np.arange(reach + 1) if odd else 2.0 * np.arange(reach + 1)
    values = np.concatenate([-below[::-1], below[1 - odd :]])
    return values, ratios * _middle(terms)


def _middle(terms: int) -> float:
    """P(Bin(terms, 1/2) = terms // 2)."""
    even = terms + terms % 2
    # P(Bin(2n - 1, 1/2) = n - 1) = P(Bin(2n, 1/2) = n).
    if even <= 128:
        return math.comb(even, even // 2) / 2.0**even
    n = even / 2.0
    # Stirling's series of the central binomial coefficient; the next term is below 1e-13.
    series = -1.0 / (8 * n) + 1.0 / (192 * n**3) - 1.0 / (640 * n**5) + 17.0 / (14336 * n**7)
    return math.exp(series) / math.sqrt(math.pi * n)


def _both_right(m: int, candidates: int) -> float:
    """P(two items are right), a zero vote counting half.

    On a of the K candidates the two items have equal signs. Their votes are 2a + X + Y and
    2a + X - Y, X and Y sums of a(m - 2) and (K - a)(m - 2) fair signs: both are right where
    |Y| < c = 2a + X.
    """
    agree, chances = sum_of_signs(candidates)
    total = []
    for balance, chance in zip(agree, chances, strict=True):
        a = round((candidates + balance) / 2)
        x, px = sum_of_signs(a * (m - 2))
        y, py = sum_of_signs((candidates - a) * (m - 2))
        c = 2.0 * a + x
        size = np.abs(y)
        order = np.argsort(size, kind="stable")
        size, below = size[order], np.concatenate([[0.0], np.cumsum(py[order])])
        inside = below[np.searchsorted(size, c, side="left")]
        reached = below[np.searchsorted(size, c, side="right")]
        right = np.where(c > 0, 0.5 * (inside + reached), np.where(c == 0, 0.25 * reached, 0.0))
        total.append(chance * math.fsum(px * right))
    return math.fsum(total)
