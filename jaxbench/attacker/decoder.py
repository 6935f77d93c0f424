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
from jaxtyping import Array, Bool, Num


def block_votes(
    weights: Num[Array, "rows candidates"], signs: Num[Array, "*rows slots candidates"]
) -> Num[Array, "rows slots"]:
    """The weighted vote of a block of candidates on the items of one coordinate.

    `weights` are the released contrasts (twice the alpha of the spec, in whole numbers); `signs`
    are shared by all rows or have a leading axis of rows. The product is exact where the plan
    says so (`engine.plan`); HIGHEST keeps a GPU from rounding its inputs.
    """
    shared = signs.ndim == 2
    return jnp.einsum(
        "rc,sc->rs" if shared else "rc,rsc->rs",
        weights,
        signs,
        precision=lax.Precision.HIGHEST,
        preferred_element_type=weights.dtype,
    )


def static_votes(
    contrasts: Num[Array, "rows coordinates"], sizes: Sequence[int]
) -> Num[Array, "rows slots"]:
    """The vote of the router for budget 1: the endpoint with the better released coordinate.

    **Arguments:** `contrasts`: released number of A minus that of B; `sizes`: slots of every
    coordinate.
    """
    rows = contrasts.shape[0]
    parts = [
        jnp.broadcast_to(contrasts[:, c : c + 1], (rows, size)) for c, size in enumerate(sizes)
    ]
    return jnp.concatenate(parts, axis=1)


def route(
    votes: Num[Array, "rows slots"], ties_to_a: Bool[Array, "#rows slots"]
) -> Bool[Array, "rows slots"]:
    """True where an item goes to endpoint A: the sign of its vote, or its tie sign at zero."""
    return (votes > 0) | ((votes == 0) & ties_to_a)
