"""The parameter-free Ladder: the step is the standard error of the improvement.

Source: Blum and Hardt (2015); spec of the mechanisms, rule 7. Its test of an
improvement needs the items, which no other Ladder does: `accepts` decides from sums over items that
an engine has at hand, `ParameterFree` is the rule as a mechanism that is given those sums, and
`parameter_free` runs the whole rule on item losses.

The rule accepts iff `mean(l) < R - s / sqrt(n)`, s the standard deviation (divisor n - 1) of the n
differences d = l - L to the best losses L. Let item losses be whole counts over `den`, S1 and S2
the sums of d and of its squares in counts, and g = n den (R - mean(l)), the gain in counts. Then
`n den s / sqrt(n) = sqrt((n S2 - S1^2) / (n - 1))`, and the rule reads g > 0 and
`g^2 (n - 1) > n S2 - S1^2`, or

    g > 0  and  n (g^2 - S2) > g^2 - S1^2        (divisor n: n (g^2 - S2) > -S1^2)

For 0/1 losses S1 = -g, which leaves `g^2 > S2`: (b - a)^2 > a + b with b items repaired and a newly
broken, a McNemar statistic above 1.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float64

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission, spread
from jaxbench.leaderboard.mechanisms.rounding import round_to_grid


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


class ParameterFree(Mechanism):
    """Accept iff the loss is below R_{t-1} - s / sqrt(n); then R_t = [r_t]_grid, else repeat R.

    It acts on one number, the overall, and is given the sums over items of every submission. The
    first submission is accepted; without sums no other one is.

    - `items`: items of every stratum (all items, or those of a task), `per_count`: what one count
      of a stratum is in ticks of the overall.
    - `grid`: what an accepted loss is rounded to, in ticks.
    - `strata`: the units of every stratum.
    - `plain`: the overall is the exact mean over all items, so that the rule is one of whole
      numbers (one stratum).
    """

    items: Float64[Array | np.ndarray, "..."]
    per_count: Float64[Array | np.ndarray, "..."]
    grid: Float64[Array | np.ndarray, "..."]
    strata: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    plain: bool = eqx.field(static=True)

    @property
    def compares_items(self) -> bool:
        """The standard error of an improvement is one over items."""
        return True

    @property
    def team_row(self) -> str:
        """A team stands where its last accepted submission does."""
        return "last"

    def start(self, first: Any) -> Float64[Array, "*batch numbers"]:
        """R_0 of a team."""
        return jnp.full_like(first.threshold, jnp.inf)

    def step(
        self, state: Float64[Array, "*batch numbers"], submission: Submission, noise: Any
    ) -> tuple[Float64[Array, "*batch numbers"], Feedback]:
        """R_t, and whether it is this submission's."""
        losses = submission.losses
        accepted = jnp.isinf(state)
        if submission.totals is not None and submission.squares is not None:
            better = self._better(state - losses, submission.totals, submission.squares)
            accepted = accepted | better
        best = jnp.where(accepted, round_to_grid(losses, self.grid), state)
        return best, Feedback(best, jnp.isfinite(best), accepted)

    def _better(
        self,
        gain: Float64[Array, "*batch numbers"],
        totals: Float64[Array, "*batch units"],
        squares: Float64[Array, "*batch units"],
    ) -> Bool[Array, "*batch 1"]:
        sums, of_squares = (
            jnp.stack([sum(x[..., unit] for unit in part) for part in self.strata], axis=-1)
            for x in (totals, squares)
        )
        items, per_count = (spread(x, sums) for x in (self.items, self.per_count))
        if self.plain:
            # A gain is a whole number of counts; a quotient of floats may be off in its last bit.
            return accepts(jnp.rint(gain / per_count), sums, of_squares, items)
        return accepts_weighted(gain[..., 0], sums, of_squares, items, per_count)[..., None]


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
