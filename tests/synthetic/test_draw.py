"""Drawing worlds: the same whatever stands beside them, and as the response model says."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import exp, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from jaxbench.counters import Stream, trial_keys, trial_words
from jaxbench.options import WorldSpec
from jaxbench.options.world import PARAMETERS
from jaxbench.synthetic import World, draw, draw_worlds
from jaxbench.synthetic.draw import Purpose
from jaxbench.synthetic.layout import layout

# One shape bucket for most tests: (8, 24, 4).
SMALL = WorldSpec(models=7, items=23, tasks=3)
RICH = replace(
    SMALL, repeats=3, partial_credit=0.5, credit_steps=4, duplicate_prompts=0.3, contrast=0.4,
    difficulty_skew=-1.0, size_ratio=2.0, seed=2**63 + 5,
)  # fmt: skip


def one(spec: WorldSpec) -> World:
    (world,) = draw_worlds([spec])
    return world


def same(a: World, b: World) -> bool:
    """Bit for bit."""
    drawn = ("abilities", "difficulties", "discriminations")
    return (
        a.spec == b.spec
        and a.benchmark.digest() == b.benchmark.digest()
        and all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in drawn)
    )


@contextmanager
def traces() -> Iterator[list[int]]:
    """How many programs a block adds."""
    before, added = draw.draw._cache_size(), []
    yield added
    added.append(draw.draw._cache_size() - before)


@pytest.fixture(scope="module")
def alone() -> list[World]:
    """Worlds of one shape and of others, each drawn alone."""
    specs = [replace(SMALL, seed=s) for s in range(4)]
    specs += [RICH, replace(RICH, models=8, items=24, tasks=4), replace(SMALL, models=3, items=40)]
    return [one(spec) for spec in specs]


def test_equal_specs_are_equal_worlds(alone):
    assert all(same(world, one(world.spec)) for world in alone)


def test_company_order_and_chunks_mean_nothing(alone, monkeypatch):
    specs = [world.spec for world in alone]
    assert all(map(same, draw_worlds(specs), alone))
    assert all(map(same, draw_worlds(specs[::-1]), alone[::-1]))
    # Among so many others that the compiler takes other vector widths.
    crowd = draw_worlds([*(replace(SMALL, seed=s) for s in range(4, 33)), *specs])
    assert all(map(same, crowd[29:], alone))
    monkeypatch.setattr("jaxbench.synthetic.worlds.CALL_BYTES", 3 * 64 * 8 * 24)
    assert all(map(same, draw_worlds(specs), alone))
    assert draw_worlds([]) == []


def test_seeds_differ(alone):
    assert len({world.benchmark.digest() for world in alone}) == len(alone)
    assert not np.array_equal(one(replace(SMALL, seed=2**32)).abilities, alone[0].abilities)


def test_one_program_per_shape():
    jax.clear_caches()
    base = WorldSpec(models=7, items=31, tasks=3)
    others = {"items": 32, "models": 8, "tasks": 4, "repeats": 9, "partial_credit": 0.5,
              "duplicate_prompts": 0.4, "size_ratio": 5.0, "categories": 2, "discrimination": 0.0,
              "difficulty_skew": 2.0, "leader_gap": 3.0, "contrast": 1.0, "seed": 9}  # fmt: skip
    with traces() as added:
        for name, value in others.items():
            one(replace(base, **{name: value}))
        draw_worlds([base] * 8)
    assert added == [1]
    with traces() as added:
        draw_worlds([replace(SMALL, seed=s) for s in range(8)])
        draw_worlds([replace(base, seed=s) for s in range(8)])
    assert added == [1]


def test_worlds_of_one_seed_share_what_they_can():
    small, large = one(SMALL), one(replace(SMALL, models=30, items=200, tasks=3, repeats=2))
    assert np.array_equal(small.difficulties, large.difficulties[:23])
    assert np.array_equal(small.discriminations, large.discriminations[:23])
    wide = one(replace(SMALL, difficulty_sd=3.0, difficulty_mean=1.0))
    np.testing.assert_allclose(
        wide.difficulties, 2 * small.difficulties + 1, rtol=1e-12, atol=1e-12
    )


def test_normals_are_those_of_the_counters():
    """Difficulties again, from the public functions and another inverse."""
    world = one(replace(SMALL, difficulty_sd=1.0))
    (keys,) = trial_keys(SMALL.seed, (Stream.WORLD,), np.array([Purpose.DIFFICULTY]))
    drawn = trial_words(keys, jnp.arange(23, dtype=jnp.uint32))
    high, low = (np.asarray(word)[0].astype(int) for word in drawn)
    uniform = ((high >> 6) * 2**26 + (low >> 6) + 0.5) / 2**52
    np.testing.assert_allclose(world.difficulties, special.ndtri(uniform), rtol=0, atol=1e-11)


def test_runs_steps_and_items_have_room_in_a_counter():
    most = {parameter.name: parameter.most for parameter in PARAMETERS}
    assert most["items"] <= draw.ITEMS
    assert most["credit_steps"] <= draw.STEPS
    assert most["repeats"] * draw.STEPS * draw.ITEMS < 2**32


def test_partial_credit_leaves_plain_items_as_they_are():
    plain, mixed = (one(replace(SMALL, repeats=3, partial_credit=p)) for p in (0.0, 0.5))
    partial = layout(mixed.spec).partial
    assert 0 < partial.sum() < 23
    assert np.array_equal(
        4 * plain.benchmark.counts[:, ~partial], mixed.benchmark.counts[:, ~partial]
    )


def test_a_world_stays_what_it_is():
    # Every sweep ever saved depends on it: a change of these is a change of results.
    found = [one(spec).benchmark.digest()[:16] for spec in (SMALL, RICH)]
    assert found == ["c9cde5e6185f4e75", "4c0b46b47576f58d"]


def test_answers_have_the_probabilities_of_the_model():
    """Frequencies of 100 runs against probabilities in plain loops."""
    spec = WorldSpec(models=8, items=120, tasks=4, repeats=100, contrast=0.5, seed=1)
    world = one(spec)
    squares, total = 0.0, 0.0
    for m in range(8):
        for i in range(120):
            ability = world.abilities[m, world.benchmark.task_index[i]]
            logit = world.discriminations[i] * (ability - world.difficulties[i])
            p = 1 / (1 + exp(-logit))
            z = (world.benchmark.counts[m, i] - 100 * p) / sqrt(100 * p * (1 - p))
            squares, total = squares + z * z, total + z
    cells = 8 * 120
    # z has variance 1 and z^2 has variance 2 + (1 - 6 p (1 - p)) / (100 p (1 - p)), here about 2.
    assert abs(total) < 4 * sqrt(cells)
    assert abs(squares - cells) < 4 * sqrt(2.2 * cells)


def test_partial_credit_keeps_the_mean_and_has_its_variance():
    steps, repeats = 4, 100
    spec = WorldSpec(
        models=8,
        items=120,
        tasks=4,
        repeats=repeats,
        partial_credit=1.0,
        credit_steps=steps,
        seed=2,
    )
    world = one(spec)
    logit = world.abilities[:, world.benchmark.task_index] - world.difficulties
    p = special.expit(world.discriminations * logit)
    # Beta-binomial with concentration 1: a run has variance p (1 - p) (1 + 1 / steps) / 2.
    variance = p * (1 - p) * (1 + 1 / steps) / 2 / repeats
    z = (world.benchmark.scores - p) / np.sqrt(variance)
    assert abs(z.sum()) < 4 * sqrt(z.size)
    assert abs((z**2).sum() - z.size) < 4 * sqrt(2.2 * z.size)


def test_one_run_of_partial_credit_is_beta_binomial():
    """Every score of a run as often as the urn says, where all items are alike."""
    spec = WorldSpec(
        models=8, items=4000, tasks=1, partial_credit=1.0, credit_steps=3, discrimination=0.0,
        difficulty_sd=0.0, field_spread=0.0, leader_gap=0.0, difficulty_mean=0.8,
    )  # fmt: skip
    counts = one(spec).benchmark.counts
    p = float(special.expit(-0.8))
    q = 1 - p
    ways = [q * (q + 1) * (q + 2), 3 * p * q * (q + 1), 3 * p * (p + 1) * q, p * (p + 1) * (p + 2)]
    for score, chance in enumerate(np.array(ways) / 6):
        error = sqrt(chance * (1 - chance) / counts.size)
        assert abs((counts == score).mean() - chance) < 4 * error


def test_kinds_of_items_stand_side_by_side():
    world = one(replace(RICH, seed=0))
    counts, partial = world.benchmark.counts, world.spec.credit_steps
    assert world.benchmark.denominator == 12
    kinds = [set(counts[:, i] % partial) for i in range(23)]
    assert any(kind - {0} for kind in kinds)
    assert sum(kind == {0} for kind in kinds) > 5


def test_copies_of_a_prompt_are_alike_and_answered_anew():
    spec = WorldSpec(models=8, items=120, tasks=4, duplicate_prompts=0.45, repeats=100, seed=3)
    world = one(spec)
    first = np.array([world.benchmark.items.index(p) for p in world.benchmark.prompt_hashes])
    copies = np.flatnonzero(first != np.arange(120))
    assert len(copies) == 54
    assert np.array_equal(world.difficulties[copies], world.difficulties[first[copies]])
    assert np.array_equal(world.discriminations[copies], world.discriminations[first[copies]])
    logit = world.abilities[:, world.benchmark.task_index] - world.difficulties
    p = special.expit(world.discriminations * logit)
    z = (world.benchmark.counts - 100 * p) / np.sqrt(100 * p * (1 - p))
    product = z[:, copies] * z[:, first[copies]]
    # Independent answers: products of mean 0 and variance 1.
    assert abs(product.mean()) < 4 / sqrt(product.size)


def test_answers_of_runs_models_and_items_are_independent():
    spec = WorldSpec(models=8, items=4000, tasks=1, discrimination=0.0, difficulty_sd=0.0,
                     field_spread=0.0, leader_gap=0.0, difficulty_mean=0.0)  # fmt: skip
    signs = 2.0 * one(spec).benchmark.counts - 1
    assert abs(signs.mean()) < 4 / sqrt(signs.size)
    between = signs @ signs.T / 4000
    assert np.abs(between[~np.eye(8, dtype=bool)]).max() < 4 / sqrt(4000)
    assert abs((signs[:, 1:] * signs[:, :-1]).mean()) < 4 / sqrt(signs.size)
    # Two runs: the score 1/2 half of the time.
    twice = one(replace(spec, repeats=2)).benchmark.counts
    assert abs((twice == 1).mean() - 0.5) < 4 * 0.5 / sqrt(twice.size)
