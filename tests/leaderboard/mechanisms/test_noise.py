"""Laplace and normal noise: the formulas at single draws, and the law of many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from jaxbench.leaderboard.mechanisms.noise import laplace, normal
from oracle import mechanisms as oracle
from releasing import chain_of, given, one_number, play

DRAWS = 400_000
# The ends of 52-bit draws in (-1/2, 1/2).
LAST = 0.5 - 2.0**-53
RULES = [(laplace, oracle.laplace), (normal, oracle.normal)]
jitted = {rule: jax.jit(rule) for rule, _ in RULES}


def drawn(rule, uniforms, size):
    with jax.enable_x64(True):
        u = jnp.asarray(np.atleast_2d(uniforms))
        return np.asarray(jitted[rule](u, np.array([[float(size)]])))[0]


def releases(name, size, uniforms, losses, **more):
    """A chain of one noise on given draws."""
    parameter = {"gaussian": "sd", "laplace": "scale"}[name]
    chain, ticks = chain_of(given(name, **{parameter: size}), **more)
    with jax.enable_x64(True):
        rows = jnp.asarray(np.reshape(uniforms, (-1, 1, 1, 1)))
        noise = chain.noise(jnp.concatenate([rows[:1], rows]))
        split = jax.tree.map(lambda x: x[0], noise), jax.tree.map(lambda x: x[1:], noise)
    factor = ticks.per_score[0, 0] // 100
    return play(chain, one_number(losses) * factor, noise=split).released.ravel(), factor


@pytest.mark.parametrize(("rule", "formula"), RULES)
@examples(u=st.floats(-LAST, LAST), size=st.sampled_from([0.5, 1.0, 137.0]))
def test_the_formula(rule, formula, u, size):
    found = drawn(rule, [u], size)[0]
    assert found == pytest.approx(formula(u, size), rel=1e-9, abs=1e-12 * size)


@pytest.mark.parametrize(("rule", "furthest"), [(laplace, 36.05), (normal, 8.21)])
def test_the_last_draws_are_finite_and_both_sides_alike(rule, furthest):
    u = np.array([LAST, -LAST, 0.25, -0.25, 0.0])
    found = drawn(rule, u, 1)
    assert np.array_equal(found[[0, 2]], -found[[1, 3]])
    assert found[4] == 0
    assert found[0] == pytest.approx(furthest, abs=0.01)


@pytest.mark.parametrize(("rule", "variance", "kurtosis"), [(laplace, 2.0, 6), (normal, 1.0, 3)])
def test_mean_and_variance_of_many(rule, variance, kurtosis):
    """Within 4.5 standard errors: sd / sqrt(N), and variance sqrt((kurtosis - 1) / N)."""
    scale = 3.0
    u = np.random.default_rng(7).random(DRAWS) - 0.5
    found = drawn(rule, u, scale)
    expected = variance * scale**2
    assert abs(found.mean()) < 4.5 * np.sqrt(expected / DRAWS)
    error = expected * np.sqrt((kurtosis - 1) / DRAWS)
    assert abs(found.var() - expected) < 4.5 * error


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_a_release_is_the_loss_and_its_noise_in_whole_ticks(name):
    u = np.linspace(-0.45, 0.45, 8)
    losses = [10, 20, 30, 40, 50, 60, 70, 80]
    found, factor = releases(name, "0.02", u, losses)
    formula = {"gaussian": oracle.normal, "laplace": oracle.laplace}[name]
    ticks = 100 * factor
    expected = [loss * factor + formula(x, 0.02 * ticks) for loss, x in zip(losses, u, strict=True)]
    assert np.array_equal(found, np.rint(expected))


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_clipping_is_asked_for(name):
    u, losses = [-LAST, LAST, 0.0], [1, 99, 50]
    free, factor = releases(name, "0.2", u, losses)
    assert free[0] < 0
    assert free[1] > 100 * factor
    clipped, _ = releases(name, "0.2", u, losses, clip=True)
    assert clipped.tolist() == [0, 100 * factor, 50 * factor]


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_the_same_draw_gives_the_same_number(name):
    size = {"gaussian": "sd", "laplace": "scale"}[name]
    persistent, _ = chain_of(given(name, **{size: "0.02", "draw": "persistent"}))
    fresh, _ = chain_of(given(name, **{size: "0.02"}))
    # What a draw is keyed by is the caller's business.
    assert persistent.parts[0].persistent
    assert not fresh.parts[0].persistent
    u = np.full((4, 1, 1, 1), 0.2)
    with jax.enable_x64(True):
        both = [np.asarray(chain.noise(jnp.asarray(u))[0].release) for chain in (fresh, persistent)]
    assert np.array_equal(*both)
    assert len(np.unique(both[0])) == 1


def test_noise_is_as_large_in_every_number_whatever_its_ticks():
    chain, ticks = chain_of(given("gaussian", sd="0.02"), denominators=(7, 100))
    with jax.enable_x64(True):
        drawn = np.asarray(chain.noise(jnp.full((1, 2, 1), 0.3))[0].release)[0]
    np.testing.assert_allclose(drawn / ticks.per_score[0], oracle.normal(0.3, 0.02), rtol=1e-9)
