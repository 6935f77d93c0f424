"""Tables of the laws that scores on resampled items follow, made on the host.

One per number of items; what is the same for several numbers is made once. Source: spec of the
mechanisms, rules 4 and 5.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Float64, Int, Int32
from scipy.special import betaincinv, betaln, ndtr, xlogy

# Left out of a table of counts on either side: Hoeffding's bound for sampling without replacement
# is exp(-2 t^2 / m), so that t = 4.2 sqrt(m) leaves out less than 1e-15.
_REACH = 4.2
# Normal scores of a 53-bit uniform lie within 8.3. Between nodes the quantiles are polynomials of
# degree 5 with the right value, slope and curvature at both ends; off by less than 1e-7 (a test
# says so), most for two items.
END, NODES = 8.5, 69
WIDTH = 2.0 * END / (NODES - 1)


def counts_tables(
    items: Int[np.ndarray, "trials numbers"], scored: Int[np.ndarray, "trials numbers"]
) -> tuple[
    Int32[np.ndarray, "1 rows"],
    Float64[np.ndarray, "1 rows width"],
    Int32[np.ndarray, "trials numbers"],
]:
    """The hypergeometric laws of all numbers, one below the other.

    **Returns:** `low` and `cdf` as of `counts_law`, and the row where a number's law starts.
    """
    distinct, row = _stacked(np.stack([items, scored], axis=-1))
    laws = [counts_law(*key) for key in distinct]
    width = max(cdf.shape[1] for _, cdf in laws)
    padded = [
        np.pad(cdf, [(0, 0), (0, width - cdf.shape[1])], constant_values=1.0) for _, cdf in laws
    ]
    low = np.concatenate([low for low, _ in laws])
    return low[None], np.concatenate(padded)[None], row


def weights_tables(
    items: Int[np.ndarray, "trials numbers"],
) -> tuple[Float64[np.ndarray, "1 rows nodes 3"], Int32[np.ndarray, "trials numbers"]]:
    """The laws of random weights of all numbers, one below the other, and where each one starts."""
    distinct, row = _stacked(items[..., None])
    return np.concatenate([weights_law(n) for (n,) in distinct])[None], row


@lru_cache(maxsize=64)
def counts_law(
    items: int, scored: int
) -> tuple[Int32[np.ndarray, " rows"], Float64[np.ndarray, "rows width"]]:
    """The hypergeometric law for r = 0 to n // 2 wrong items of n, of which m are scored.

    **Returns:** `low`: the count that a row starts with; `cdf`: of the counts from there on, 1
    from the largest one on.
    """
    n, m = items, scored
    r = np.arange(n // 2 + 1)[:, None]
    least, largest = np.maximum(0, m - (n - r)), np.minimum(r, m)
    reach = int(_REACH * np.sqrt(min(m, n - m))) + 2
    low = np.maximum(least, m * r // n - reach)
    width = int((np.minimum(largest, m * r // n + reach) - low).max()) + 1
    count = low + np.arange(width)
    inside = count <= largest
    # From one count to the next: (r - c)(m - c) / ((c + 1)(n - m - r + c + 1)).
    known = count < largest
    c = np.where(known, count, 0)
    up = np.where(known, (r - c) * (m - c), 1).astype(np.float64)
    down = np.where(known, (c + 1) * (n - m - r + c + 1), 1).astype(np.float64)
    logs = np.zeros(count.shape)
    logs[:, 1:] = np.cumsum(np.log(up / down), axis=1)[:, :-1]
    chance = np.where(inside, np.exp(logs - logs.max(axis=1, keepdims=True)), 0.0)
    cdf = np.cumsum(chance, axis=1)
    cdf /= cdf[:, -1:]
    cdf[count >= largest] = 1.0
    cdf[:, -1] = 1.0
    return low[:, 0].astype(np.int32), cdf


@lru_cache(maxsize=64)
def weights_law(items: int) -> Float64[np.ndarray, "rows nodes 3"]:
    """Quantiles of Beta(r, n - r) at the nodes, for r = 0 to n // 2, with slope and curvature.

    Slope and curvature are per node width.
    """
    n = items
    z = np.linspace(-END, END, NODES)
    table = np.zeros((n // 2 + 1, NODES, 3))
    r = np.arange(1, n // 2 + 1, dtype=np.float64)[:, None]
    if not r.size:
        return table
    a, b = r, n - r
    # From the nearer end, so that no digit is lost to 1 - p.
    q = betaincinv(a, b, np.broadcast_to(ndtr(z), (len(r), NODES)))
    rest = betaincinv(b, a, np.broadcast_to(ndtr(-z), (len(r), NODES)))
    upper = z > 0.0
    q, rest = np.where(upper, 1.0 - rest, q), np.where(upper, rest, 1.0 - q)
    log_density = xlogy(a - 1.0, q) + xlogy(b - 1.0, rest) - betaln(a, b)
    slope = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_density)
    curve = -z * slope - slope * slope * ((a - 1.0) / q - (b - 1.0) / rest)
    table[1:] = np.stack([q, slope * WIDTH, curve * WIDTH**2], axis=-1)
    return table


def _stacked(
    keys: Int[np.ndarray, "trials numbers values"],
) -> tuple[list[list[int]], Int32[np.ndarray, "trials numbers"]]:
    """The different laws, of items and more, and the row where that of every number starts."""
    trials, numbers, values = keys.shape
    distinct, where = np.unique(keys.reshape(-1, values), axis=0, return_inverse=True)
    rows = distinct[:, 0] // 2 + 1
    starts = (np.cumsum(rows) - rows).astype(np.int32)
    return distinct.tolist(), starts[where.reshape(trials, numbers)]
