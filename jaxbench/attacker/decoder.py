"""From released feedback to a final router.

Source: spec of the attack, section 5. A candidate's released score on a coordinate is linear in
its signs: item loss is (lA + lB)/2 + g (lA - lB)/2. So `released - midpoint` of the endpoints
measures the correlation of the signs with the endpoints' differences, and the vote weighted by it
is the correlation decoder of those linear measurements.

All functions see signs, released numbers and nothing of the items behind them.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Num


def add_votes(
    votes: Num[Array, "rows slots"],
    weights: Num[Array, "rows candidates"],
    signs: Num[Array, "candidates slots"],
) -> Num[Array, "rows slots"]:
    """Add a block of candidates to the weighted vote on the items of one coordinate.

    `weights` are the released contrasts (twice the alpha of the spec, in counts). The product is
    exact where the plan says so (`engine.plan`); HIGHEST keeps a GPU from rounding its inputs.
    """
    block = jnp.dot(
        weights, signs, precision=lax.Precision.HIGHEST, preferred_element_type=weights.dtype
    )
    return votes + block.astype(votes.dtype)


def static_votes(
    contrasts: Int[Array, "rows coordinates"], sizes: Sequence[int]
) -> Int[Array, "rows slots"]:
    """The vote of the router for budget 1: the endpoint with the better released coordinate.

    **Arguments:** `contrasts`: released score of A minus that of B, in counts.
    """
    return jnp.concatenate(
        [
            jnp.broadcast_to(contrasts[:, c : c + 1], (contrasts.shape[0], size))
            for c, size in enumerate(sizes)
        ],
        axis=1,
    )


def route(votes: Num[Array, "rows slots"], ties: Int[Array, " slots"]) -> Bool[Array, "rows slots"]:
    """True where an item goes to endpoint A: the sign of its vote, or its tie sign at zero."""
    return (votes > 0) | ((votes == 0) & (ties > 0)[None, :])
