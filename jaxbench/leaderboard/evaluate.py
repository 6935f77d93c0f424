"""The evaluator scores submissions: routers over two models whose item scores it alone knows.

A router is a sign per item, +1 for endpoint A. Its count on a set of items is
`(A + B + sum_i sign_i * (a_i - b_i)) / 2`: only the last sum, its *contrast*, needs the signs.
In scores a contrast is twice the router's score less those of A and B, so it is released exactly
when the task score is.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Num


def candidate_contrasts(
    differences: Num[Array, "rows slots"], signs: Num[Array, "candidates slots"]
) -> Num[Array, "rows candidates"]:
    """Contrast of every candidate on the items whose endpoint `differences` are given."""
    return jnp.dot(
        differences,
        signs.T,
        precision=lax.Precision.HIGHEST,
        preferred_element_type=differences.dtype,
    )


def router_contrasts(
    differences: Num[Array, "rows slots"], to_a: Bool[Array, "rows slots"], sizes: Sequence[int]
) -> Num[Array, "rows coordinates"]:
    """Contrast of one router per row on every coordinate (consecutive blocks of `sizes`).

    Added in int64, which needs `jax.enable_x64(True)`: counts over a fine grid pass 2^31.
    """
    signed = jnp.where(to_a, differences, -differences)
    starts = [sum(sizes[:c]) for c in range(len(sizes))]
    return jnp.stack(
        [
            jnp.sum(signed[:, start : start + size], axis=1, dtype=jnp.int64)
            for start, size in zip(starts, sizes, strict=True)
        ],
        axis=1,
    )
