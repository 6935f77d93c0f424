"""Rows of the table of slow-downs: mechanisms, and the weights that a submitter makes of them."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import inf, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flips import ladder

from jaxbench.leaderboard import theory
from jaxbench.leaderboard.mechanisms import Mechanism, Submission, run
from jaxbench.leaderboard.mechanisms.build import Ticks, build, refined
from jaxbench.leaderboard.mechanisms.parameter_free import parameter_free
from jaxbench.leaderboard.mechanisms.ranks import Bucket, Rank
from jaxbench.leaderboard.mechanisms.top_k import TopK
from jaxbench.options.choosing import mechanism

# Items and submissions.
LARGE, SMALL = (1000, 2000), (100, 100)


class Routers(NamedTuple):
    """Random routers of some trials: what each gets right, and its wrong items."""

    right: jax.Array  # trials, submissions, items
    wrong: jax.Array  # submissions, trials, 1


class Row(NamedTuple):
    """A mechanism at one size.

    `weigh` turns routers and a key into weights `(trials, submissions)`; `published` is the
    slow-down that the specification measured (infinite: no information), `formula` theory's.
    """

    name: str
    size: tuple[int, int]
    published: float
    weigh: Callable[[Routers, jax.Array], jax.Array]
    formula: float | None = None


def released(chosen: object, size: tuple[int, int], *, shift=Fraction(0), repeats=1, public=False):
    """Weights under mechanisms as users write them.

    `shift` is added to every loss; `repeats`: the first k / m routers, each submitted m times;
    `public`: there are as many public items beside the n.
    """
    n, k = size
    chain = mechanism(chosen)
    ticks = Ticks(
        refined(chain, np.array([[n * shift.denominator]])), np.array([[n]]), (Fraction(1),)
    )
    per_score = int(ticks.per_score[0, 0])
    built = build(chain, ticks, on="overall", clip=False, capacity=k)
    return partial(_released, built, n, per_score, int(shift * per_score), repeats, public)


def _released(built, n, per_score, moved, repeats, public, routers, key):
    k = len(routers.wrong)
    wrong = jnp.repeat(routers.wrong[: k // repeats], repeats, axis=0)
    losses = wrong * (per_score // n) + moved
    others = None
    if public:
        key, own = jax.random.split(key)
        drawn = jax.random.binomial(own, float(n), 0.5, losses.shape, dtype=jnp.float64)
        others = drawn * (per_score // n)
    feedback = _submitted(jax.tree.map(jnp.asarray, built), Submission(losses, others), key)
    weights = jnp.where(
        feedback.answered & feedback.visible, per_score / 2 + moved - feedback.released, 0.0
    )[:, :, 0]
    summed = weights.reshape(k // repeats, repeats, -1).sum(axis=1)
    return jnp.pad(summed, [(0, k - k // repeats), (0, 0)]).T


def _submitted(built: Mechanism, submissions: Submission, key: jax.Array):
    """One submission after the other."""
    rows, trials, _ = submissions.losses.shape
    shape = (rows + 1, trials, 1, len(built.slots))
    noise = built.noise(jax.random.uniform(key, shape, jnp.float64, -0.5, 0.5))
    first, drawn = (jax.tree.map(lambda x, at=at: x[at], noise) for at in (0, slice(1, None)))
    return run(built, submissions, drawn, built.start(first))[1]


def top(entries: int):
    """A board of the best submissions, on which no model stands."""

    def weigh(routers, key):
        trials, _, n = routers.right.shape
        built = TopK(jnp.full((trials, entries), jnp.inf, dtype=jnp.float64))
        feedback = _submitted(built, Submission(routers.wrong), key)
        return jnp.where(feedback.answered, n / 2 - feedback.released, 0.0)[:, :, 0].T

    return weigh


def among(models: int, buckets: int | None = None):
    """Rank, or bucket, among models of the routers' own law; weighed against that of a loss of 1/2.

    The reference is what the two models are released as: a bucket has no true middle.
    """

    def weigh(routers, key):
        trials, _, n = routers.right.shape
        drawn = jax.random.binomial(key, float(n), 0.5, (trials, models), dtype=jnp.float64)
        pool = jnp.sort(drawn, axis=1)
        sizes = jnp.full((1, 1), float(buckets or 1), dtype=jnp.float64)
        built = Bucket(pool, sizes) if buckets else Rank(pool)
        middle = jnp.full((trials, 1, 1), n / 2, dtype=jnp.float64)
        losses = jnp.concatenate([middle, jnp.moveaxis(routers.wrong, 0, 1)], axis=1)
        _, feedback = built.step((), Submission(losses), None)
        return (feedback.released[:, :1] - feedback.released[:, 1:])[:, :, 0]

    return weigh


def free(routers, key):
    """The parameter-free Ladder, from the losses on items."""
    losses, accepted = parameter_free(1.0 - routers.right.astype(jnp.float64))
    return jnp.where(accepted, routers.right.shape[-1] / 2 - losses, 0.0)


def cast(kind: str):
    """Full release; the vote takes the sign of a weight, or counts those that are not bad."""

    def weigh(routers, key):
        weights = (routers.right.shape[-1] / 2 - routers.wrong)[:, :, 0].T
        return jnp.sign(weights) if kind == "sign" else (weights >= 0).astype(jnp.float64)

    return weigh


def rows() -> list[Row]:
    """Every row of the specification's table, at both sizes."""
    found: list[Row] = []

    def add(name, chosen, large, small=None, formula=None, **more):
        for size, published in ((LARGE, large), (SMALL, small)):
            if published is not None:
                value = chosen(size[0]) if callable(chosen) else chosen
                expected = None if formula is None else formula(size[0])
                found.append(Row(name, size, published, released(value, size, **more), expected))

    def special(name, weigh, large, small=None, formula=None):
        for size, published in ((LARGE, large), (SMALL, small)):
            if published is not None:
                found.append(Row(name, size, published, weigh, formula))

    add("full", "none", 1.04, 1.02, lambda n: 1.0)
    for sd, large, small in ((0.0158, 2.05, 1.2), (0.05, 11.1, 2.1)):
        formula = partial(theory.noise_slow_down, sd=sd)
        add(f"gaussian {sd}", f"gaussian:{sd}", large, small, formula)
    add("laplace 0.05", "laplace:0.05", 20.6, 3.1, partial(theory.laplace_slow_down, scale=0.05))
    repeated = partial(theory.noise_slow_down, sd=0.05, repeats=4)
    add("gaussian 0.05, every router 4 times", "gaussian:0.05", 14.6, None, repeated, repeats=4)
    add("rounding 0.05, mean on a grid point", "rounding:0.05", 2.2, 1.1)
    add("rounding 0.1, mean on a grid point", "rounding:0.1", 54, 1.35)
    half = {"shift": Fraction(1, 20)}
    add("rounding 0.1, mean on a boundary", "rounding:0.1", 1.55, None,
        lambda n: theory.SIGN_SLOW_DOWN, **half)  # fmt: skip
    add("subsample n/4", lambda n: f"subsample:{n // 4}", 3.9, 4.2, lambda n: 4.0)
    add("bootstrap", "bootstrap", 1.9, 2.0, lambda n: theory.bootstrap_slow_down())
    special("top-10 of all submissions", top(10), 9.1, 2.2)
    add("ladder 0", partial(ladder, "ladder 0"), 46, 7.3)
    for name, large, small in (("ladder 1/sqrt n", 194, 20), ("ladder n^(-1/3)", inf, 280)):
        add(name, partial(ladder, name), large, small)
    special("parameter_free", free, 147, 16)
    for step, scale, large, small in ((0.02, 0.005, 32, 8.7), (0.05, 0.01, 117, 8.4)):
        shaky = {"name": "shaky_ladder", "step": step, "scale": scale}
        add(f"shaky_ladder {step}, {scale}", shaky, large, small)
    for name, threshold, scale, answers, large, small in (
        ("thresholdout 4/sqrt n, 1/sqrt n", 4, 1, None, 54, 59),
        ("the same, 10 answers", 4, 1, 10, 1000, 64),
        ("thresholdout 1/sqrt n, a quarter of it", 1, 0.25, None, 4.1, 4.4),
    ):
        add(name, partial(_thresholdout, threshold, scale, answers), large, small, public=True)
    special("rank among 30", among(30), 1.14)
    special("decile of 30", among(30, 10), 1.16)
    special("quartile of 30", among(30, 4), 1.41)
    special("sign of the weight", cast("sign"), 1.54, None, (theory.SCORES / theory.SIGNS) ** 2)
    special("majority of those not bad", cast("majority"), 3.11, None,
            (theory.SCORES / theory.MAJORITY) ** 2)  # fmt: skip
    return found


def _thresholdout(threshold, scale, answers, n):
    root = 1 / sqrt(n)
    sizes = {"threshold": round(threshold * root, 4), "scale": round(scale * root, 4)}
    more = {} if answers is None else {"answers": answers}
    return {"name": "thresholdout"} | sizes | more
