"""What a model scores on a fresh item: the mean of the response probability over all items.

An item has difficulty b(z) and discrimination exp(s y) for independent standard normals z and y.
The trapezoidal rule over the whole line converges at the rate of the integrand's strip of
analyticity: with step h and half width d of the strip the error is about exp(-2 pi d / h)
(Trefethen and Weideman, SIAM Review 56 (2014), theorem 5.1). The logistic function has its poles
at +-i pi, which puts them pi / (2 s) off the line in y, and pi / (a b'(z)) in z.
"""

import numpy as np
from jaxtyping import Float64

from jaxbench.options import WorldSpec
from jaxbench.synthetic.difficulty import Difficulty

# exp(-DIGITS) is the error of either rule, and the normal density where it is cut off.
DIGITS = 23.0
# Probabilities that are held at a time.
HELD = 2**18


def expected_scores(
    spec: WorldSpec, abilities: Float64[np.ndarray, "..."]
) -> Float64[np.ndarray, "..."]:
    """The expected score of an ability, in [0, 1], to 1e-8.

    Partial credit and repeats leave it as it is: their means are the 2PL probability.
    """
    difficulty = Difficulty.of(spec.difficulty_mean, spec.difficulty_sd, spec.difficulty_skew)
    flat = np.ravel(abilities)
    total, weight = np.zeros_like(flat), 0.0
    y, y_weights = _nodes(_step(np.pi / 2 / spec.discrimination) if spec.discrimination else None)
    for y_node, y_weight in zip(y, y_weights, strict=True):
        a = np.exp(spec.discrimination * y_node)
        z, z_weights = _nodes(_difficulty_step(difficulty, a, DIGITS - y_node**2 / 2))
        b, z_weights = difficulty(z), z_weights * y_weight
        rows = max(1, HELD // len(z))
        for start in range(0, len(flat), rows):
            part = slice(start, start + rows)
            # The logistic function by tanh, which does not overflow.
            right = 0.5 + 0.5 * np.tanh(a / 2 * (flat[part, None] - b))
            total[part] += right @ z_weights
        weight += z_weights.sum()
    return (total / weight).reshape(np.shape(abilities))


def _nodes(step: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the rule for a standard normal; one node for a constant."""
    if step is None:
        return np.zeros(1), np.ones(1)
    side = int(np.ceil(np.sqrt(2 * DIGITS) / step))
    nodes = step * np.arange(-side, side + 1)
    return nodes, step * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)


def _step(strip: float | np.ndarray, digits: float | np.ndarray = DIGITS) -> float:
    """The step for which exp(d^2 / 2 - 2 pi d / h) = exp(-digits) at the best d in the strip.

    The normal density grows by exp(d^2 / 2) on the way. The least step, of several.
    """
    d = np.minimum(strip, np.sqrt(2 * digits))
    return float(np.min(2 * np.pi * d / (digits + d**2 / 2)))


def _difficulty_step(difficulty: Difficulty, a: float, digits: float) -> float | None:
    """The step over z: poles that are near count for less where the density is small."""
    if difficulty.sd == 0:
        return None
    z = np.linspace(-8.0, 8.0, 65)
    left = digits - z**2 / 2
    # Far out there is little left to be exact about, yet steps are at most those of the density.
    strips, left = np.pi / (a * difficulty.slope(z))[left > 1], left[left > 1]
    return min(_step(np.inf), _step(strips, left)) if len(left) else _step(np.inf)
