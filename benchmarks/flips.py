"""The adaptive attack on rules that repeat their best number: flip items, keep what is accepted.

The first submission is a random router; every other one flips m random items of the last router
that was accepted, which is the final one at the end. Its share of wrong items is what the attack is
judged by. Source: spec of the mechanisms, behind the table of slow-downs.
"""

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbench.leaderboard.mechanisms import Submission
from jaxbench.leaderboard.mechanisms.build import Ticks, build, refined
from jaxbench.leaderboard.mechanisms.parameter_free import accepts
from jaxbench.options.choosing import mechanism

SUBMISSIONS = 2000


class Flip(NamedTuple):
    """A rule, how many of n items are flipped at a time, and the wrong items published for n."""

    name: str
    flipped: Callable[[int], int]
    published: dict[int, float]


FLIPS = (
    Flip("ladder 0, flip 1", lambda n: 1, {1000: 0.069, 100: 0.0}),
    Flip("parameter_free, flip 2", lambda n: 2, {1000: 0.166, 100: 0.028}),
    Flip("ladder 1/sqrt n, flip n/2", lambda n: n // 2, {1000: 0.464, 100: 0.386}),
    Flip("ladder n^(-1/3), flip n/4", lambda n: n // 4, {1000: 0.5, 100: 0.498}),
)
_STEPS = {"ladder 0": lambda n: 0.0, "ladder 1/sqrt n": lambda n: 1 / sqrt(n),
          "ladder n^(-1/3)": lambda n: n ** (-1 / 3)}  # fmt: skip


def ladder(name: str, n: int) -> str:
    """A Ladder by its name here; its step is a whole number of items."""
    return f"ladder:{round(_STEPS[name](n) * n) / n}"


def flip_errors(flip: Flip, n: int, trials: int, seed: int) -> np.ndarray:
    """The share of wrong items of the final router, in every trial."""
    with jax.enable_x64(True):
        state, judge = _rule(flip.name.partition(",")[0], n, trials)
        errors = jax.jit(partial(_errors, judge, n, flip.flipped(n), trials))
        return np.asarray(errors(state, jax.random.key(seed)))


def _errors(judge, n, flipped, trials, state, key):
    first, rest = jax.random.split(key)
    start = jax.random.bernoulli(first, 0.5, (trials, n))
    state, _ = judge(state, start, start)

    def one(carry, key):
        state, best = carry
        mine = best ^ _some(key, trials, n, flipped)
        state, accepted = judge(state, best, mine)
        return (state, jnp.where(accepted[:, None], mine, best)), None

    keys = jax.random.split(rest, SUBMISSIONS - 1)
    (_, best), _ = lax.scan(one, (state, start), keys)
    return jnp.mean(~best, axis=1)


def _some(key, trials, n, flipped):
    """As many random items of every trial."""
    if flipped > 2:
        drawn = jax.random.uniform(key, (trials, n), jnp.float32)
        # Equal draws flip one item more, once in thousands of submissions.
        return drawn <= jnp.sort(drawn, axis=1)[:, flipped - 1 : flipped]
    one, other = jax.random.split(key)
    place = jax.random.randint(one, (trials, 1), 0, n)
    places = jnp.arange(n)[None, :]
    mask = places == place
    if flipped == 2:
        away = jax.random.randint(other, (trials, 1), 1, n)
        mask |= places == (place + away) % n
    return mask


def _rule(name: str, n: int, trials: int):
    """A rule's first state, and how it judges: (state, best, mine) to (state, accepted)."""
    if name == "parameter_free":
        return jnp.full((trials,), jnp.inf, dtype=jnp.float64), partial(_free, n)
    chain = mechanism(ladder(name, n))
    ticks = Ticks(refined(chain, np.array([[n]])), np.array([[n]]), ())
    built = build(chain, ticks, on="overall", clip=False, capacity=SUBMISSIONS)
    built = jax.tree.map(jnp.asarray, built)
    nothing = built.noise(jnp.zeros((trials, 1, 0), dtype=jnp.float64))
    per_item = int(ticks.per_score[0, 0]) // n

    def judge(state, best, mine):
        losses = jnp.sum(~mine, axis=1, keepdims=True).astype(jnp.float64) * per_item
        state, feedback = built.step(state, Submission(losses), nothing)
        return state, feedback.answered[:, 0]

    return built.start(nothing), judge


def _free(n, state, best, mine):
    """The parameter-free Ladder, from how many items are repaired and broken."""
    wrong = jnp.sum(~mine, axis=1).astype(jnp.float64)
    total = wrong - jnp.sum(~best, axis=1)
    squares = jnp.sum(mine ^ best, axis=1).astype(jnp.float64)
    items = jnp.full(wrong.shape, float(n), dtype=jnp.float64)
    accepted = accepts(state - wrong, total, squares, items)
    return jnp.where(accepted, wrong, state), accepted
