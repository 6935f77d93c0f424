"""The parameter-free Ladder: the step is the standard error of the improvement.

Source: Blum and Hardt (2015); spec of the mechanisms, rule 7. Its test of an
improvement needs the items, which no other Ladder does: `accepts` decides from sums over items that
an engine has at hand, `parameter_free` runs the whole rule on item losses.

The rule accepts iff `mean(l) < R - s / sqrt(n)`, s the standard deviation (divisor n - 1) of the n
differences d = l - L to the best losses L. Let item losses be whole counts over `den`, S1 and S2
the sums of d and of its squares in counts, and g = n den (R - mean(l)), the gain in counts. Then
`n den s / sqrt(n) = sqrt((n S2 - S1^2) / (n - 1))`, and the rule reads g > 0 and
`g^2 (n - 1) > n S2 - S1^2`, or

    g > 0  and  n (g^2 - S2) > g^2 - S1^2        (divisor n: n (g^2 - S2) > -S1^2)

For 0/1 losses S1 = -g, which leaves `g^2 > S2`: (b - a)^2 > a + b with b items repaired and a newly
broken, a McNemar statistic above 1.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64


def accepts(
    gain: Float64[Array, "*#batch"],
    total: Float64[Array, "*#batch"],
    squares: Float64[Array, "*#batch"],
    items: Float64[Array, "*#batch"],
    *,
    divisor_n: bool = False,
) -> Bool[Array, "*batch"]:
    """Whether a submission is accepted, on whole numbers of counts; all broadcast.

    **Arguments:** `gain`: the released loss less its own, in counts summed over items (infinite
    before the first release: accepted); `total`, `squares`: sums over the items of the difference
    (its count less that of the best) and of its square; `items`: n; `divisor_n`: standard
    deviation with divisor n.

    Exact while n^2 den^2 < 2^53 (counts over den): then g^2, S1^2 and S2 are exact, and n times a
    difference that is too large to be exact is past every right-hand side. One item alone is
    never accepted after the first submission: its standard deviation is not defined.
    """
    own = 0.0 if divisor_n else gain * gain
    enough = items * (gain * gain - squares) > own - total * total
    defined = divisor_n | (items > 1.0)
    return jnp.isinf(gain) | (defined & (gain > 0.0) & enough)


def accepts_weighted(
    gain: Float64[Array, "*batch"],
    totals: Float64[Array, "*batch tasks"],
    squares: Float64[Array, "*batch tasks"],
    items: Float64[Array, "*#batch tasks"],
    weights: Float64[Array, "*#batch tasks"],
    *,
    divisor_n: bool = False,
) -> Bool[Array, "*batch"]:
    """The rule for a loss that weighs tasks: the stratified standard error of the improvement.

    `sqrt(sum_t W_t^2 s_t^2 / n_t)` with s_t within task t, divisor n_t - 1; s_t^2 = d^2 where n_t
    is 1. This form is our choice: the paper knows the plain mean only.

    **Arguments:** `gain`: the released loss less its own, in ticks (infinite before the first
    release); `totals`, `squares`: sums of differences in counts and of their squares, by task;
    `items`: n_t; `weights`: ticks of one count of the task.

    Sums by task are exact as in `accepts`, the weighted sum of them is not: a gain within 1e-12 of
    the standard error is taken for equal, and not accepted.
    """
    alone = items == 1.0
    spread = jnp.where(alone, squares, items * squares - totals * totals)
    divisor = jnp.where(alone, 1.0, items if divisor_n else items - 1.0)
    variance = jnp.sum(weights * weights * spread / divisor, axis=-1)
    return jnp.isinf(gain) | ((gain > 0.0) & (gain * gain > variance * (1.0 + 1e-12)))


def parameter_free(
    losses: Float64[Array, "*batch submissions items"],
    den: int = 1,
    *,
    divisor_n: bool = False,
) -> tuple[Float64[Array, "*batch submissions"], Bool[Array, "*batch submissions"]]:
    """The rule along a sequence of submissions, from their item losses.

    **Arguments:** `losses`: whole counts over `den` (1: 0/1 losses); `divisor_n` as in `accepts`.

    **Returns:** the released loss after every submission, in items (a whole number: means are
    rounded to 1/n, half to even), and which submissions were accepted. Acceptance need not show.
    """
    items = losses.shape[-1]
    first_axis = jnp.moveaxis(losses, -2, 0)
    start = jnp.zeros(first_axis.shape[1:], dtype=jnp.float64)

    def one(carry, mine):
        best, released = carry
        difference = mine - best
        accepted = accepts(
            released * den - jnp.sum(mine, axis=-1),
            jnp.sum(difference, axis=-1),
            jnp.sum(difference * difference, axis=-1),
            jnp.full(released.shape, float(items), dtype=jnp.float64),
            divisor_n=divisor_n,
        )
        # A sum over den is a float, but halves, which decide a tie, are exact.
        mean = jnp.rint(jnp.sum(mine, axis=-1) / den)
        released = jnp.where(accepted, mean, released)
        return (jnp.where(accepted[..., None], mine, best), released), (released, accepted)

    state = start, jnp.full(start.shape[:-1], jnp.inf, dtype=jnp.float64)
    _, (released, accepted) = lax.scan(one, state, first_axis)
    return jnp.moveaxis(released, 0, -1), jnp.moveaxis(accepted, 0, -1)
