"""The two models that an attack mixes, from public numbers only.

Source: spec of the attack, section 3. Frontier comparisons are on integers. Distances and means
are whole numbers in float64 where they fit (then exact); otherwise they carry an error bound, and
the few trials in which a decision falls within it are decided again in fractions on the host.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int, Int32

from jaxbench.attacker.exact import choose_exactly
from jaxbench.attacker.public import LinearScore, PublicProfiles

# How many models of the frontier a rule looks at, best released overall first.
FRONTIER_CUT = {"top5": 5, "full_frontier": None}


class Endpoints(eqx.Module):
    """The pair of every trial: indices into the models; `a` gets items with sign +1.

    Where `eligible` is False the frontier has fewer than two models and both indices are 0.
    `redone` counts the trials that were decided in exact fractions.
    """

    a: Int32[np.ndarray, " trials"]
    b: Int32[np.ndarray, " trials"]
    eligible: Bool[np.ndarray, " trials"]
    redone: int = eqx.field(static=True)


class _Choice(NamedTuple):
    a: Array
    b: Array
    eligible: Array
    doubtful: Array


def choose_endpoints(profiles: PublicProfiles, rule: str) -> Endpoints:
    """Choose the endpoint pair of every trial.

    **Arguments:** `profiles`; `rule`: `top5` (the five best of the Pareto frontier) or
    `full_frontier`.

    **Returns:** `Endpoints`. Ties follow name order.
    """
    numerators = profiles.numerators
    models, coordinates = numerators.shape[1:]
    equal = (profiles.mean_weights[0] * 0 + 1,) * coordinates
    linear = [
        LinearScore.of(weights, profiles.denominators.tolist())
        for weights in (equal, profiles.overall_weights, profiles.mean_weights)
    ]
    cut = FRONTIER_CUT[rule] or models
    with jax.enable_x64(True):
        choice = _choose_all(jnp.asarray(numerators, dtype=jnp.float64), *linear, np.int64(cut))
    a, b, doubtful = np.array(choice.a), np.array(choice.b), np.asarray(choice.doubtful)
    for trial in np.flatnonzero(doubtful):
        a[trial], b[trial] = choose_exactly(profiles, int(trial), cut)
    eligible = np.asarray(choice.eligible)
    return Endpoints(a=a, b=b, eligible=eligible, redone=int(doubtful.sum()))


@jax.jit
def _choose_all(numerators, distance, overall, mean, cut) -> _Choice:
    # One trial at a time holds models x models numbers; 16 keep the vector units busy.
    choose = partial(_choose, distance=distance, overall=overall, mean=mean, cut=cut)
    return jax.lax.map(choose, numerators, batch_size=16)


def _choose(
    numerators: Float64[Array, "models coordinates"],
    distance: LinearScore,
    overall: LinearScore,
    mean: LinearScore,
    cut: Int[Array, ""],
) -> _Choice:
    models, coordinates = numerators.shape
    below = jnp.ones((models, models), dtype=bool)  # row nowhere above column
    strictly = jnp.zeros((models, models), dtype=bool)
    apart = jnp.zeros((models, models), dtype=jnp.float64)
    for c in range(coordinates):
        row, column = numerators[:, c][:, None], numerators[:, c][None, :]
        below &= row <= column
        strictly |= row < column
        apart += distance.multipliers[c] * jnp.abs(row - column)
    frontier = ~jnp.any(below & strictly, axis=1)

    name = jnp.arange(models, dtype=jnp.int64)
    score = numerators @ overall.multipliers
    slack = jnp.asarray(overall.relative_error) * jnp.max(score)
    ahead = (score[:, None] < score[None, :]) | (
        (score[:, None] == score[None, :]) & (name[:, None] > name[None, :])
    )
    rank = jnp.sum(ahead & frontier[None, :], axis=1, dtype=jnp.int64)
    kept = frontier & (rank < cut)
    near = frontier[:, None] & frontier[None, :] & (name[:, None] < name[None, :])
    near &= jnp.abs(score[:, None] - score[None, :]) <= slack
    doubtful = (slack > 0) & jnp.any(near) & (jnp.sum(frontier, dtype=jnp.int64) > cut)

    # Row-major order of pairs a < b is the lexical order of their names: argmax takes the first.
    pair = kept[:, None] & kept[None, :] & (name[:, None] < name[None, :])
    apart = jnp.where(pair, apart, -1.0).ravel()
    best = jnp.argmax(apart)
    slack = jnp.asarray(distance.relative_error) * apart[best]
    doubtful |= (slack > 0) & (jnp.sum(apart >= apart[best] - slack) > 1)
    first, second = best // models, best % models

    level = numerators @ mean.multipliers
    difference = (level[first] - level[second]) / mean.scale
    # A is the endpoint with the larger loss, on a tie the first by name.
    swap = difference > 0
    margin = jnp.asarray(mean.rounding_margin)
    doubtful |= (margin > 0) & (jnp.abs(difference) <= margin)

    eligible = jnp.sum(kept) >= 2
    zero = jnp.zeros((), dtype=jnp.int32)
    first, second = first.astype(jnp.int32), second.astype(jnp.int32)
    return _Choice(
        a=jnp.where(eligible, jnp.where(swap, second, first), zero),
        b=jnp.where(eligible, jnp.where(swap, first, second), zero),
        eligible=eligible,
        doubtful=doubtful & eligible,
    )
