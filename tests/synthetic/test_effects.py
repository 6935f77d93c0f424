"""Every parameter does what its name says: properties recovered over many worlds."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from jaxbench.options import WorldSpec
from jaxbench.synthetic import draw_worlds

WORLDS = 400
# The shape bucket of the other tests.
BASE = WorldSpec(models=8, items=24, tasks=4)


def abilities(spec: WorldSpec) -> np.ndarray:
    """`(worlds, models, tasks)`, of independent worlds."""
    worlds = draw_worlds([replace(spec, seed=1000 + s) for s in range(WORLDS)])
    return np.stack([world.abilities for world in worlds])


# Five models and three tasks are padded.
@pytest.mark.parametrize(("models", "tasks"), [(8, 4), (5, 3)])
@pytest.mark.parametrize("gap", [0.0, 0.25, 3.0])
def test_leader_gap_is_the_gap_of_the_two_best(gap, models, tasks):
    spec = replace(BASE, models=models, tasks=tasks, task_spread=1.0, contrast=1.0)
    general = np.sort(abilities(replace(spec, leader_gap=gap)).mean(axis=2))
    np.testing.assert_allclose(general[:, -1] - general[:, -2], gap, atol=1e-9)


def test_everyone_is_the_leader_in_turn():
    found = abilities(replace(BASE, leader_gap=1.0, field_spread=0.0)).mean(axis=2).argmax(axis=1)
    times = np.bincount(found, minlength=8)
    # Binomial with chance 1/8.
    assert (np.abs(times - WORLDS / 8) < 4 * sqrt(WORLDS * 7 / 64)).all()


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_field_spread_is_the_sd_of_general_ability(spread):
    """Of the other models, whose places below the best are normal order statistics."""
    drawn = np.sort(abilities(replace(BASE, field_spread=spread, leader_gap=0.0)).mean(axis=2))
    rng = np.random.default_rng(0)
    expected = np.sort(rng.standard_normal((100_000, 8)))
    for place in range(7):
        error = spread * expected[:, place].std() / sqrt(WORLDS)
        mean = spread * expected[:, place].mean()
        assert abs(drawn[:, place].mean() - mean) < 4 * error
    sd = expected[:, 3].std()
    assert abs(drawn[:, 3].std() / spread / sd - 1) < 4 / sqrt(2 * WORLDS)


@pytest.mark.parametrize("tasks", [2, 4])
def test_task_spread_is_the_sd_around_general_ability(tasks):
    drawn = abilities(replace(BASE, tasks=tasks, task_spread=0.8))
    around = drawn - drawn.mean(axis=2, keepdims=True)
    free = WORLDS * 8 * (tasks - 1)
    found = sqrt((around**2).sum() / (WORLDS * 8 * tasks))
    assert abs(found / 0.8 - 1) < 4 / sqrt(2 * free)
    # Deviations of two tasks have the correlation that adding up to 0 leaves.
    product = (around[..., 0] * around[..., 1]).mean() / found**2
    assert abs(product + 1 / (tasks - 1)) < 4 * sqrt(2 / (WORLDS * 8))


def test_without_task_spread_a_model_is_alike_everywhere():
    drawn = abilities(replace(BASE, task_spread=0.0))
    assert np.ptp(drawn, axis=2).max() < 1e-12


def test_task_spread_and_contrast_mean_nothing_with_one_task():
    one = abilities(replace(BASE, tasks=1))
    other = abilities(replace(BASE, tasks=1, task_spread=3.0, contrast=3.0))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("tasks", [2, 3, 4])
def test_contrast_sets_the_two_best_against_each_other(tasks):
    spec = replace(BASE, tasks=tasks, leader_gap=0.1)
    plain, drawn = abilities(spec), abilities(replace(spec, contrast=0.7))
    # Nobody's general ability changes, and nobody else's profile.
    np.testing.assert_allclose(drawn.mean(axis=2), plain.mean(axis=2), atol=1e-9)
    order = plain.mean(axis=2).argsort(axis=1)
    rows = np.arange(WORLDS)
    change = drawn - plain
    best, second = change[rows, order[:, -1]], change[rows, order[:, -2]]
    np.testing.assert_allclose(best, -second, atol=1e-9)
    np.testing.assert_allclose(np.sqrt((best**2).mean(axis=1)), 0.7, rtol=1e-9)
    assert np.abs(change[rows[:, None], order[:, :-2]]).max() == 0

    # Each leads somewhere: in nearly all worlds now, in fewer before.
    def leads(at):
        pair = at[rows, order[:, -1]] > at[rows, order[:, -2]]
        return (pair.any(axis=1) & ~pair.all(axis=1)).mean()

    assert leads(drawn) > max(0.9, leads(plain))


def test_difficulty_moves_the_scores():
    means = [
        np.mean([world.benchmark.scores.mean() for world in draw_worlds(specs)])
        for specs in (
            [replace(BASE, seed=s, difficulty_mean=mean) for s in range(WORLDS)]
            for mean in (-2.0, 0.0, 2.0)
        )
    ]
    assert means[0] > means[1] + 0.2 > means[2] + 0.4
