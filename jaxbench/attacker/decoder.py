"""From released feedback to a final router.

Source: spec of the attack, section 5. A candidate's released score on a coordinate is linear in
its signs: item loss is (lA + lB)/2 + g (lA - lB)/2. So `released - midpoint` of the endpoints
measures the correlation of the signs with the endpoints' differences, and the vote weighted by it
is the correlation decoder of those linear measurements.

All functions see signs, released numbers and nothing of the items behind them.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Num


def block_votes(
    weights: Num[Array, "rows conditions candidates"],
    signs: Num[Array, "slots candidates"] | Num[Array, "rows candidates slots"],
) -> Num[Array, "rows conditions slots"]:
    """The weighted vote of a block of candidates on items of one coordinate.

    `weights` are the released contrasts (twice the alpha of the spec, in whole numbers); `signs`
    are shared by all rows, or of every row its own (and then slots come last). The product is
    exact where the plan says so (`engine.plan`); HIGHEST keeps a GPU from rounding its inputs.
    """
    return jnp.einsum(
        "rkc,sc->rks" if signs.ndim == 2 else "rkc,rcs->rks",
        weights,
        signs,
        precision=lax.Precision.HIGHEST,
        preferred_element_type=weights.dtype,
    )


def feedback_weights(
    released: Float64[Array, "rows candidates"],
    seen: Bool[Array, "rows candidates"],
    reference: Float64[Array, " rows"],
) -> Float64[Array, "rows candidates"]:
    """Weights of candidates under a mechanism: reference less released loss, twice, in ticks.

    **Arguments:** `released`: losses of one coordinate; `seen`: where the submitter takes the
    number for the candidate's own (else the weight is 0); `reference`: released losses of both
    endpoints together.
    """
    return jnp.where(seen, reference[:, None] - 2.0 * released, 0.0)


def cast(weights: Num[Array, "rows candidates"], submitter: str) -> Num[Array, "rows candidates"]:
    """What a submitter makes of weights: `linear` takes them as they are.

    `sign` votes with or against a candidate, whatever the size (Blum and Hardt 2015, "flip the bad
    ones"); `majority` counts the candidates that are no worse than the reference, and drops the
    others. Source: spec of the mechanisms, attack constants.
    """
    if submitter == "sign":
        return jnp.sign(weights)
    if submitter == "majority":
        return (weights >= 0).astype(weights.dtype)
    return weights


def one_vote(
    weights: Num[Array, "rows conditions"],
    signs: Num[Array, "slots candidates"] | Num[Array, "rows candidates slots"],
) -> Num[Array, "rows conditions slots"]:
    """The weighted vote of the last candidate of a block."""
    last = signs[:, -1][None] if signs.ndim == 2 else signs[:, -1]
    return weights[:, :, None] * last[:, None, :]


def static_votes(
    contrasts: Num[Array, "rows conditions"], slots: int
) -> Num[Array, "rows conditions slots"]:
    """The vote of the router for budget 1 on `slots` items of one coordinate.

    **Arguments:** `contrasts`: released number of A minus that of B, or its sign.
    """
    return jnp.broadcast_to(contrasts[:, :, None], (*contrasts.shape, slots))


def route(
    votes: Num[Array, "rows conditions slots"], ties_to_a: Bool[Array, "#rows 1 slots"]
) -> Bool[Array, "rows conditions slots"]:
    """True where an item goes to endpoint A: the sign of its vote, or its tie sign at zero."""
    return (votes > 0) | ((votes == 0) & ties_to_a)
