"""The two models that an attack mixes, from public numbers only.

Source: spec of the attack, section 3. Frontier comparisons are on integers. Distances, overalls
and means are whole numbers in float64 where they fit (then exact); otherwise they carry an error
bound, and the few trials in which a decision falls within it are decided again in fractions on the
host.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int32, Int64

from jaxbench.attacker.exact import choose_exactly
from jaxbench.attacker.public import LinearScore, PublicProfiles
from jaxbench.attacker.rules import ENDPOINT_RULES

# Trials that go through the rule together: each holds models x models numbers.
TOGETHER = 16


class Endpoints(eqx.Module):
    """The pair of every trial: indices into the models; `a` gets items with sign +1.

    Where `eligible` is False the rule finds fewer than two models and both indices are 0.
    `redone` counts the trials that were decided in exact fractions.
    """

    a: Int32[np.ndarray, " trials"]
    b: Int32[np.ndarray, " trials"]
    eligible: Bool[np.ndarray, " trials"]
    redone: int = eqx.field(static=True)


class _Board(NamedTuple):
    """What the rule sees, of all trials or of one."""

    profile: Float64[Array | np.ndarray, "*trials models coordinates"]
    overall: Float64[Array | np.ndarray, "*trials models terms"]
    distance: LinearScore
    order: LinearScore
    orientation: LinearScore


class _Flags(NamedTuple):
    """A rule as numbers."""

    frontier: Bool[Array | np.ndarray, ""]
    leaders: Bool[Array | np.ndarray, ""]
    cut: Int64[Array | np.ndarray, ""]
    shares: Bool[Array | np.ndarray, ""]


class _Choice(NamedTuple):
    a: Array
    b: Array
    eligible: Array
    doubtful: Array


def choose_endpoints(profiles: PublicProfiles, rule: str) -> Endpoints:
    """Choose the endpoint pair of every trial.

    **Arguments:** `profiles`; `rule`: a name of `ENDPOINT_RULES`.

    **Returns:** `Endpoints`. Ties follow name order.
    """
    chosen = ENDPOINT_RULES[rule]
    trials, models, coordinates = profiles.numerators.shape
    even = (profiles.mean_weights[0] * 0 + 1,) * coordinates
    mean = LinearScore.of(profiles.mean_weights, profiles.denominators, trials)
    order = LinearScore.of(profiles.overall_weights, profiles.overall_denominators, trials)
    shares = LinearScore.of(
        profiles.share_weights if chosen.shares else even, profiles.denominators, trials
    )
    flags = _Flags(
        np.array(chosen.frontier),
        np.array(chosen.leaders),
        np.array(chosen.cut or models, dtype=np.int64),
        np.array(chosen.shares),
    )
    boards = _Board(
        profiles.numerators.astype(np.float64),
        profiles.overall_numerators.astype(np.float64),
        shares,
        order,
        mean,
    )
    with jax.enable_x64(True):
        choice = _choose_all(*jax.tree.map(jnp.asarray, (boards, flags)))
    a, b, doubtful = np.array(choice.a), np.array(choice.b), np.asarray(choice.doubtful)
    eligible = np.array(choice.eligible)
    for trial in np.flatnonzero(doubtful):
        pair = choose_exactly(profiles, int(trial), chosen)
        eligible[trial] = pair is not None
        a[trial], b[trial] = pair or (0, 0)
    return Endpoints(a=a, b=b, eligible=eligible, redone=int(doubtful.sum()))


@jax.jit
def _choose_all(boards: _Board, flags: _Flags) -> _Choice:
    return jax.lax.map(partial(_choose, flags=flags), boards, batch_size=TOGETHER)


def _choose(board: _Board, flags: _Flags) -> _Choice:
    models, coordinates = board.profile.shape
    name = jnp.arange(models, dtype=jnp.int64)
    earlier = name[:, None] < name[None, :]

    overall = board.overall @ board.order.multipliers
    slack = jnp.asarray(board.order.relative_error) * jnp.max(overall)
    # A leader's loss equals the best one after rounding to 10 decimals; within the margin that
    # has to be seen in fractions.
    behind = (jnp.max(overall) - overall) / board.order.scale
    margin = jnp.asarray(board.order.rounding_margin)
    leaders = jnp.asarray(flags.leaders)
    pool = leaders | (behind > 0)
    doubtful = ~leaders & (margin > 0) & jnp.any((behind > 0) & (behind <= margin))

    below = jnp.broadcast_to(pool[None, :], (models, models))  # row nowhere above column
    strictly = jnp.zeros((models, models), dtype=bool)
    apart = jnp.zeros((models, models), dtype=jnp.float64)
    for c in range(coordinates):
        row, column = board.profile[:, c][:, None], board.profile[:, c][None, :]
        below &= row <= column
        strictly |= row < column
        apart += board.distance.multipliers[c] * jnp.abs(row - column)
    front = pool & (~flags.frontier | ~jnp.any(below & strictly, axis=1))

    tied = jnp.abs(overall[:, None] - overall[None, :]) <= slack
    ahead = (overall[:, None] < overall[None, :]) | (
        (overall[:, None] == overall[None, :]) & earlier.T
    )
    rank = jnp.sum(ahead & front[None, :], axis=1, dtype=jnp.int64)
    kept = front & (rank < flags.cut)
    among = front[:, None] & front[None, :] & earlier
    cut_matters = jnp.sum(front, dtype=jnp.int64) > flags.cut
    doubtful |= (slack > 0) & cut_matters & jnp.any(among & tied)

    # Row-major order of pairs a < b is the lexical order of their names: argmax takes the first.
    pair = kept[:, None] & kept[None, :] & earlier
    apart = jnp.where(pair, apart, -1.0).ravel()
    best = jnp.argmax(apart)
    near = jnp.asarray(board.distance.relative_error) * apart[best]
    doubtful |= (near > 0) & (jnp.sum(apart >= apart[best] - near, dtype=jnp.int64) > 1)
    first, second = best // models, best % models

    # A is the endpoint with the larger loss, on a tie the first by name.
    level = board.profile @ board.orientation.multipliers
    difference = (level[first] - level[second]) / board.orientation.scale
    margin = jnp.asarray(board.orientation.rounding_margin)
    unsure = (margin > 0) & (jnp.abs(difference) <= margin)
    swap = jnp.where(flags.shares, overall[first] > overall[second], difference > 0)
    doubtful |= jnp.where(flags.shares, (slack > 0) & tied[first, second], unsure)

    eligible = jnp.sum(kept, dtype=jnp.int64) >= 2
    zero = jnp.zeros((), dtype=jnp.int32)
    first, second = first.astype(jnp.int32), second.astype(jnp.int32)
    return _Choice(
        a=jnp.where(eligible, jnp.where(swap, second, first), zero),
        b=jnp.where(eligible, jnp.where(swap, first, second), zero),
        eligible=eligible,
        # Without `leaders` a doubt about who leads is a doubt about eligibility too.
        doubtful=doubtful & (eligible | ~leaders),
    )
