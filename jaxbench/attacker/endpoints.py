"""The two models that an attack mixes, from public numbers only.

Source: spec of the attack, section 3. Frontier comparisons are on integers. Distances, overalls
and means are whole numbers in float64 where they fit (then exact); otherwise they carry an error
bound, and the few trials in which a decision falls within it are decided again in fractions on the
host.
"""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int32, Int64, Num

from jaxbench.attacker.exact import choose_exactly
from jaxbench.attacker.public import LinearScore, PublicProfiles
from jaxbench.attacker.rules import ENDPOINT_RULES

# Trials that go through the frontier together: each holds models x models comparisons.
TOGETHER = 16


class Endpoints(eqx.Module):
    """The pair of every trial: indices into the models; `a` gets items with sign +1.

    Where `eligible` is False the rule finds fewer than two models and both indices are 0.
    `redone` marks the trials that were decided in exact fractions.
    """

    a: Int32[np.ndarray, " trials"]
    b: Int32[np.ndarray, " trials"]
    eligible: Bool[np.ndarray, " trials"]
    redone: Bool[np.ndarray, " trials"]


class _Flags(NamedTuple):
    """A rule as numbers."""

    frontier: Bool[Array | np.ndarray, ""]
    leaders: Bool[Array | np.ndarray, ""]
    cut: Int64[Array | np.ndarray, ""]
    shares: Bool[Array | np.ndarray, ""]


class _Looked(NamedTuple):
    """Which models a rule looks at, and whether fractions have to say so."""

    kept: Array
    overall: Array
    doubtful: Array


class _Pair(NamedTuple):
    """Places of A and B among the models that are looked at."""

    a: Array
    b: Array
    doubtful: Array


def choose_endpoints(profiles: PublicProfiles, rule: str) -> Endpoints:
    """Choose the endpoint pair of every trial.

    **Arguments:** `profiles`; `rule`: a name of `ENDPOINT_RULES`.

    **Returns:** `Endpoints`. Ties follow name order.
    """
    chosen = ENDPOINT_RULES[rule]
    trials, models, coordinates = profiles.numerators.shape
    flags = _Flags(
        np.array(chosen.frontier),
        np.array(chosen.leaders),
        np.array(chosen.cut or models, dtype=np.int64),
        np.array(chosen.shares),
    )
    even = (Fraction(1),) * coordinates
    order = LinearScore.of(profiles.overall_weights, profiles.overall_denominators, trials)
    distance = LinearScore.of(
        profiles.share_weights if chosen.shares else even, profiles.denominators, trials
    )
    mean = LinearScore.of(profiles.mean_weights, profiles.denominators, trials)
    # Comparisons run faster on narrow integers, and are as exact.
    narrow = np.int32 if profiles.numerators.max(initial=0) < 2**31 else np.float64
    with jax.enable_x64(True):
        looked = _look(
            *_on_device((profiles.numerators.astype(narrow), profiles.overall_numerators, order)),
            jnp.asarray(_shown(profiles)),
            _on_device(flags),
            exact=not order.relative_error.any(),
        )
        kept, overall = np.asarray(looked.kept), np.asarray(looked.overall)
        # Only few models are looked at: the distances of all pairs are computed among them.
        width = min(models, max(8, -(-int(kept.sum(axis=1).max()) // 8) * 8))
        index = np.argsort(~kept, axis=1, kind="stable")[:, :width]
        pair = _pair(
            *_on_device((
                np.take_along_axis(profiles.numerators, index[:, :, None], axis=1),
                np.take_along_axis(overall, index, axis=1),
                np.take_along_axis(kept, index, axis=1),
                distance, order.relative_error, mean,
            )),
            _on_device(flags),
        )  # fmt: skip
    eligible = kept.sum(axis=1) >= 2
    row = np.arange(trials)
    a = np.where(eligible, index[row, np.asarray(pair.a)], 0).astype(np.int32)
    b = np.where(eligible, index[row, np.asarray(pair.b)], 0).astype(np.int32)
    # A doubt about who is looked at is a doubt about eligibility too.
    doubtful = np.asarray(looked.doubtful) | (np.asarray(pair.doubtful) & eligible)
    for trial in np.flatnonzero(doubtful):
        exact = choose_exactly(profiles, int(trial), chosen)
        eligible[trial] = exact is not None
        a[trial], b[trial] = exact or (0, 0)
    return Endpoints(a=a, b=b, eligible=eligible, redone=doubtful)


def _on_device(values):
    """Arrays on the device; whole numbers that are added or multiplied as float64."""
    return jax.tree.map(
        lambda x: jnp.asarray(x, dtype=jnp.float64 if x.dtype == np.int64 and x.ndim else x.dtype),
        values,
    )


def _shown(profiles: PublicProfiles) -> Bool[np.ndarray, "trials models"]:
    """The models that the board shows."""
    if profiles.shown is not None:
        return profiles.shown
    return np.ones(profiles.numerators.shape[:2], dtype=bool)


@partial(jax.jit, static_argnames="exact")
def _look(profile, overall, order: LinearScore, shown, flags: _Flags, exact: bool) -> _Looked:
    def one(trial):
        profile, overall, order, shown = trial
        return _look_at(profile, overall, order, shown, flags, exact)

    return jax.lax.map(one, (profile, overall, order, shown), batch_size=TOGETHER)


def _look_at(
    profile: Num[Array, "models coordinates"],
    terms: Float64[Array, "models terms"],
    order: LinearScore,
    shown: Bool[Array, " models"],
    flags: _Flags,
    exact: bool,
) -> _Looked:
    models, coordinates = profile.shape
    overall = terms @ order.multipliers
    # A leader's loss equals the best one after rounding to 10 decimals; within the margin that
    # has to be seen in fractions.
    leaders = jnp.asarray(flags.leaders)
    behind = (jnp.max(jnp.where(shown, overall, -jnp.inf)) - overall) / order.scale
    margin = jnp.asarray(order.rounding_margin)
    pool = shown & (leaders | (behind > 0))
    doubtful = ~leaders & (margin > 0) & jnp.any(shown & (behind > 0) & (behind <= margin))

    below = jnp.ones((models, models), dtype=bool)  # row nowhere above column
    for c in range(coordinates):
        below &= profile[:, c][:, None] <= profile[:, c][None, :]
    # A model that is nowhere above another, which is somewhere above it, is dominated.
    dominated = jnp.any(below & ~below.T & pool[None, :], axis=1)
    front = pool & (~flags.frontier | ~dominated)

    # Stable: on a tie the first by name is ahead.
    rank = jnp.argsort(jnp.argsort(jnp.where(front, -overall, jnp.inf), stable=True))
    kept = front & (rank < flags.cut)
    if exact:
        # No sum is rounded: nothing to be in doubt about.
        return _Looked(kept, overall, doubtful)
    earlier = _earlier(models)
    slack = jnp.asarray(order.relative_error) * jnp.max(overall)
    tied = jnp.abs(overall[:, None] - overall[None, :]) <= slack
    among = front[:, None] & front[None, :] & earlier
    cut_matters = jnp.sum(front, dtype=jnp.int64) > flags.cut
    doubtful |= (slack > 0) & cut_matters & jnp.any(among & tied)
    return _Looked(kept, overall, doubtful)


@jax.jit
def _pair(profile, overall, kept, distance, overall_error, mean, flags: _Flags) -> _Pair:
    in_axes = (0, 0, 0, 0, 0, 0, None)
    return jax.vmap(_pair_of, in_axes)(profile, overall, kept, distance, overall_error, mean, flags)


def _pair_of(
    profile: Float64[Array, "looked coordinates"],
    overall: Float64[Array, " looked"],
    kept: Bool[Array, " looked"],
    distance: LinearScore,
    overall_error: Float64[Array, ""],
    mean: LinearScore,
    flags: _Flags,
) -> _Pair:
    looked, coordinates = profile.shape
    apart = jnp.zeros((looked, looked), dtype=jnp.float64)
    for c in range(coordinates):
        between = jnp.abs(profile[:, c][:, None] - profile[:, c][None, :])
        apart += distance.multipliers[c] * between
    # Row-major order of pairs a < b is the lexical order of their names: argmax takes the first.
    apart = jnp.where(kept[:, None] & kept[None, :] & _earlier(looked), apart, -1.0).ravel()
    best = jnp.argmax(apart)
    near = jnp.asarray(distance.relative_error) * apart[best]
    doubtful = (near > 0) & (jnp.sum(apart >= apart[best] - near, dtype=jnp.int64) > 1)
    first, second = best // looked, best % looked

    # A is the endpoint with the larger loss, on a tie the first by name.
    level = profile @ mean.multipliers
    difference = (level[first] - level[second]) / mean.scale
    margin = jnp.asarray(mean.rounding_margin)
    unsure = (margin > 0) & (jnp.abs(difference) <= margin)
    slack = overall_error * jnp.max(overall)
    close = (slack > 0) & (jnp.abs(overall[first] - overall[second]) <= slack)
    swap = jnp.where(flags.shares, overall[first] > overall[second], difference > 0)
    doubtful |= jnp.where(flags.shares, close, unsure)
    return _Pair(jnp.where(swap, second, first), jnp.where(swap, first, second), doubtful)


def _earlier(models: int) -> Bool[Array, "models models"]:
    """True where the row's name comes before the column's."""
    name = jnp.arange(models, dtype=jnp.int64)
    return name[:, None] < name[None, :]
