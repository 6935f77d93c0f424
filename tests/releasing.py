"""Mechanisms as tests run them: declared values, a sequence of losses, a table of noise."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench.leaderboard.mechanisms import Noise, Submission, run
from jaxbench.leaderboard.mechanisms.build import Ticks, build, refined
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import spec_of

walk = jax.jit(run)


def given(name, **values):
    """A mechanism with these values, and the defaults of the others."""
    spec = spec_of(name)
    full = {p.name: values.get(p.name, p.default) for p in spec.parameters}
    sizes = {p.name for p in spec.parameters if p.kind in ("size", "share")}
    exact = {n: Fraction(str(v)) if n in sizes and v is not None else v for n, v in full.items()}
    return Chosen(name, tuple(exact.items()))


def ticks_of(chosen, denominators, weights=None, **more):
    """Ticks for a chain on numbers that are plain means of as many items as the denominators."""
    denominators = np.atleast_2d(np.asarray(denominators, dtype=np.int64))
    count = denominators.shape[1]
    weights = weights or (Fraction(1, count),) * count
    return Ticks(refined(chosen, denominators), denominators, tuple(weights), **more)


def chain_of(*chosen, denominators=(100,), on="overall", clip=False, capacity=64, weights=None):
    """A chain, and the ticks it is in."""
    ticks = ticks_of(chosen, denominators, weights)
    return build(chosen, ticks, on=on, clip=clip, capacity=capacity), ticks


def table(rows, slots, numbers, trials=1, seed=0):
    """Uniform draws, with a row in front of those of the submissions."""
    draw = np.random.default_rng(seed).random
    return draw((rows + 1, trials, numbers, len(slots))) - 0.5


def noise_of(mechanism, uniforms):
    """Noise in front of the submissions, and that of every one."""
    with jax.enable_x64(True):
        # The rows of a mechanism's arrays are trials, which come first.
        drawn = mechanism.noise(jnp.moveaxis(jnp.asarray(uniforms), 0, 1))
        drawn = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), drawn)
        return jax.tree.map(lambda x: x[0], drawn), jax.tree.map(lambda x: x[1:], drawn)


def written(threshold, comparison, release):
    """Noise of one number in one trial as a test writes it; thresholds start with G_0."""
    with jax.enable_x64(True):
        rows = [jnp.asarray(one_number(v)) for v in (threshold, [0, *comparison], [0, *release])]
        return Noise(*(x[0] for x in rows)), Noise(*(x[1:] for x in rows))


def in_chain(*noise):
    """The noise of a chain, from that of its parts as `written` or `noise_of` give it."""
    firsts, rows = zip(*noise, strict=True)
    return firsts, rows


def play(mechanism, losses, *, noise=None, public=None, genuine=None, seed=0):
    """Feedback on losses `(submissions, trials, numbers)` in ticks, as numpy arrays."""
    with jax.enable_x64(True):
        losses = jnp.asarray(losses, dtype=jnp.float64)
        rows, trials, numbers = losses.shape
        if noise is None:
            uniforms = table(rows, mechanism.slots, numbers, trials, seed)
            noise = noise_of(mechanism, uniforms)
        first, drawn = jax.tree.map(jnp.asarray, noise)
        if genuine is None:
            state = mechanism.start(first)
        else:
            state = mechanism.start_board(jnp.asarray(genuine, dtype=jnp.float64), first)
        public = None if public is None else jnp.asarray(public, dtype=jnp.float64)
        _, feedback = walk(mechanism, Submission(losses, public), drawn, state)
        return jax.tree.map(np.asarray, feedback)


def one_number(losses):
    """A sequence of losses of one number in one trial."""
    return np.reshape(np.array(losses, dtype=float), (-1, 1, 1))
