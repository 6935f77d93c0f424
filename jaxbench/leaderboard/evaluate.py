"""The evaluator scores submissions: routers over two models whose item scores it alone knows.

A router is a sign per item, +1 for endpoint A. Its count on a set of items is
`(A + B + sum_i sign_i * (a_i - b_i)) / 2`: only the last sum, its *contrast*, needs the signs.
In scores a contrast is twice the router's score less those of A and B, so it is released exactly
when the score is.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Num

from jaxbench.benchmark.scoring import Overall
from jaxbench.leaderboard.interface import Release


def candidate_contrasts(
    differences: Num[Array, "rows views slots"],
    signs: Num[Array, "slots candidates"] | Num[Array, "rows candidates slots"],
) -> Num[Array, "rows views candidates"]:
    """Contrast of every candidate on the items whose endpoint `differences` are given.

    `signs` are shared by all rows, or of every row its own (and then slots come last).
    """
    return jnp.einsum(
        "rvs,sc->rvc" if signs.ndim == 2 else "rvs,rcs->rvc",
        differences,
        signs,
        precision=lax.Precision.HIGHEST,
        preferred_element_type=differences.dtype,
    )


def slots_of(signs: Num[Array, "*shape"], slots: slice) -> Num[Array, "*part"]:
    """Signs on some of the slots."""
    return signs[slots] if signs.ndim == 2 else signs[:, :, slots]


def router_contrasts(
    differences: Num[Array, "rows conditions slots"],
    to_a: Bool[Array, "rows conditions slots"],
    units: Sequence[slice],
) -> Num[Array, "rows conditions units"]:
    """Contrast of one router per row and condition on every unit (its slots).

    Added in int64, which needs `jax.enable_x64(True)`: counts over a fine grid pass 2^31.
    """
    signed = jnp.where(to_a, differences, -differences)
    parts = [jnp.sum(signed[:, :, slots], axis=2, dtype=jnp.int64) for slots in units]
    return jnp.stack(parts, axis=2)


def released_contrasts(
    release: Release,
    contrasts: Sequence[Num[Array, "rows candidates"]],
    sums: Float64[Array, "rows units"],
    endpoints: Float64[Array, "rows coordinates"],
) -> list[Num[Array, "rows candidates"]]:
    """Contrast of released numbers on every coordinate: twice the candidate's less A's and B's.

    **Arguments:** `contrasts` of counts per unit; `sums`: counts of A plus B per unit;
    `endpoints`: released numerators of A plus those of B per coordinate.
    """
    if release.plain:
        return [contrasts[units[0]] for units in release.units]
    if release.linear:
        # The plan holds every coordinate, and so each of its partial sums, in this type.
        weight = release.chain.matrix(jnp).astype(contrasts[0].dtype)
        weight = weight if weight.ndim == 3 else weight[None]
        return [
            sum(
                (contrasts[u] * weight[:, u, c, None] for u in units[1:]),
                start=contrasts[units[0]] * weight[:, units[0], c, None],
            )
            for c, units in enumerate(release.units)
        ]
    stacked = jnp.stack([c.astype(jnp.float64) for c in contrasts], axis=2)
    counts = 0.5 * (sums[:, None, :] + stacked)
    released = 2.0 * release.chain(counts, jnp) - endpoints[:, None, :]
    return [released[:, :, c].astype(contrasts[0].dtype) for c in range(release.coordinates)]


def candidate_scores(
    overall: Overall,
    contrasts: Sequence[Num[Array, "rows candidates"]],
    sums: Float64[Array, "rows units"],
) -> Float64[Array, "rows candidates"]:
    """Overall scores of candidates, from contrasts per unit (or their total, if that is enough)."""
    if overall.total:
        # The counts are added as the whole numbers they are; one conversion serves all units.
        contrast = sum(contrasts[1:], start=contrasts[0]).astype(jnp.float64)
        counts = 0.5 * (jnp.sum(sums, axis=1, keepdims=True) + contrast)
        return counts * overall.coefficients[:, 0, :]
    stacked = jnp.stack([c.astype(jnp.float64) for c in contrasts], axis=2)
    return overall(0.5 * (sums[:, None, :] + stacked), jnp)
