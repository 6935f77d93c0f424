"""Worlds as benchmarks: invariants, truth, and that every one can be split and attacked."""

from dataclasses import fields, replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy import integrate, optimize, special

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.provenance import runs
from jaxbench.benchmark.split import SplitPlan, fill
from jaxbench.errors import BadRequest
from jaxbench.options import WorldSpec
from jaxbench.options.world import PARAMETERS
from jaxbench.synthetic import draw_worlds
from jaxbench.synthetic.truth import expected_scores

# The shape bucket of the tests of drawing.
SMALL = WorldSpec(models=7, items=23, tasks=3)
RICH = replace(
    SMALL, repeats=3, partial_credit=0.5, credit_steps=4, duplicate_prompts=0.3, categories=2,
    size_ratio=2.0,
)  # fmt: skip
# Every parameter at either end, in one shape, with what it needs to come to matter.
FREE = [one for one in PARAMETERS if one.name not in ("models", "items", "tasks", "categories")]
NEEDS = {"credit_steps": {"partial_credit": 0.5}, "prompt_copies": {"duplicate_prompts": 0.5}}
ENDS = [
    replace(SMALL, **NEEDS.get(one.name, {}), **{one.name: end})
    for one in FREE
    for end in (one.least, one.most)
]
ENDS += [
    replace(SMALL, models=2), replace(SMALL, tasks=1), replace(SMALL, categories=3),
    # Nobody is right, everybody is, all are alike.
    replace(SMALL, difficulty_mean=5.0, difficulty_sd=0.0, field_spread=0.0),
    replace(SMALL, difficulty_mean=-5.0, difficulty_sd=0.0, field_spread=0.0),
    replace(SMALL, field_spread=0.0, leader_gap=0.0, task_spread=0.0),
]  # fmt: skip
# Ends of what fixes shapes: these are split only.
LARGE = [
    WorldSpec(models=2, items=4, tasks=1), WorldSpec(models=2, items=4, tasks=2),
    WorldSpec(models=1000, items=40, tasks=20), WorldSpec(models=2, items=2000, tasks=1000),
    WorldSpec(models=2, items=2048, tasks=1000, size_ratio=1000.0, duplicate_prompts=0.5),
    WorldSpec(models=2, items=100_000, tasks=10, prompt_copies=5, duplicate_prompts=0.5),
]  # fmt: skip


def one(spec: WorldSpec):
    (world,) = draw_worlds([spec])
    return world


@pytest.mark.parametrize("spec", [SMALL, RICH, replace(RICH, models=8, tasks=1, categories=1)])
def test_a_world_is_what_reading_its_scores_makes(spec):
    made = one(spec).benchmark
    read = Benchmark.from_scores(
        made.scores,
        models=made.models,
        items=made.items,
        tasks=made.item_tasks,
        prompt_hashes=made.prompt_hashes,
        categories=made.categories,
        name=made.name,
        denominator=made.denominator,
        provenance=made.provenance[:-1],
    )
    for field in fields(Benchmark):
        a, b = getattr(made, field.name), getattr(read, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
            assert not a.flags.writeable
        else:
            assert a == b


def test_a_world_says_what_it_is():
    world = one(RICH)
    assert world.benchmark.name == RICH.name
    said = world.benchmark.provenance
    assert "synthetic" in said[0]
    assert all(f"{name}={value}" in said[0] for name, value in RICH.as_options().items())
    assert runs(said) == (3, 3)
    assert runs(one(SMALL).benchmark.provenance) is None
    assert said[-1] == "scores are multiples of 1/12"


def test_nothing_of_a_world_can_be_written():
    world = one(SMALL)
    arrays = [world.abilities, world.difficulties, world.discriminations, world.truth]
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("number", range(len(LARGE)))
def test_a_large_or_small_world_can_be_split(number):
    spec = LARGE[number]
    plan = SplitPlan(one(spec).benchmark, Fraction(2, 3))
    assert len(plan.tasks) == spec.tasks
    for task in plan.tasks:
        taken = fill(task.sizes, task.target)
        assert sum(task.sizes[g] for g in taken) == task.target


@pytest.mark.parametrize("number", range(len(ENDS)))
def test_a_world_can_be_attacked(number):
    benchmark = one(ENDS[number]).benchmark
    result = jaxbench.attack(benchmark, preset="simulation", trials=20, budgets=[1, 2, 8])
    assert len(result.summary())


def test_the_default_world_is_a_plausible_leaderboard():
    benchmark = one(WorldSpec()).benchmark
    result = jaxbench.attack(benchmark, preset="simulation", trials=20, budgets=[1, 2, 8])
    assert result.conditions[0].summary.eligible == 20
    scores = np.sort(benchmark.scores.mean(axis=1))
    assert 0.25 < scores[0] < 0.5 < scores[-1] < 0.9


SPREAD = {"discrimination": 1.0, "difficulty_sd": 3.0}


@pytest.mark.parametrize(
    "given",
    [
        {}, {"difficulty_mean": 5.0}, {"discrimination": 0.0}, {"difficulty_sd": 0.0},
        {"discrimination": 1.0, "difficulty_sd": 0.0},
        {"discrimination": 0.0, "difficulty_sd": 3.0},
        SPREAD, SPREAD | {"difficulty_skew": 2.0}, SPREAD | {"difficulty_skew": -2.0},
        {"difficulty_skew": 1e-6}, {"discrimination": 0.5, "difficulty_skew": 0.5},
    ],
)  # fmt: skip
def test_truth_is_the_integral(given):
    """Against Gauss-Legendre on many small pieces, and a skewed law solved for by itself."""
    spec = WorldSpec.of(given)
    skew = spec.difficulty_skew
    rate = abs(skew) and optimize.brentq(
        lambda r: (np.exp(r * r) + 2) * np.sqrt(np.expm1(r * r)) - abs(skew), 1e-12, 3
    )

    def difficulty(z):
        if rate < 1e-3:
            return spec.difficulty_mean + spec.difficulty_sd * z
        t, w = np.sign(skew) * z, np.exp(rate * rate)
        shaped = (np.exp(rate * t) - np.sqrt(w)) / np.sqrt(w * (w - 1))
        return spec.difficulty_mean + spec.difficulty_sd * np.sign(skew) * shaped

    def pieces(number):
        x, weights = np.polynomial.legendre.leggauss(12)
        edges = np.linspace(-8, 8, number + 1)
        half = 8 / number
        nodes = ((edges[1:] + edges[:-1])[:, None] / 2 + half * x).ravel()
        return nodes, np.tile(half * weights, number) * np.exp(-(nodes**2) / 2) / sqrt(2 * np.pi)

    z, z_weights = pieces(1000)
    y, y_weights = pieces(40) if spec.discrimination else (np.zeros(1), np.ones(1))
    abilities = np.array([-3.0, 0.2, 2.5])
    expected = np.zeros(3)
    for node, weight in zip(y, y_weights, strict=True):
        a = np.exp(spec.discrimination * node)
        right = special.expit(a * (abilities[:, None] - difficulty(z)))
        expected += weight * (right @ z_weights)
    # A skew of 1e-6, left out above, moves a score by less than that.
    atol = 1e-6 if 0 < rate < 1e-3 else 1e-8
    np.testing.assert_allclose(expected_scores(spec, abilities), expected, rtol=0, atol=atol)


def test_truth_of_one_ability_by_adaptive_quadrature():
    spec = WorldSpec(discrimination=0.4, difficulty_sd=1.2, difficulty_mean=0.3)

    def right(y, z):
        logit = np.exp(0.4 * y) * (0.9 - 0.3 - 1.2 * z)
        return special.expit(logit) * np.exp(-(y * y + z * z) / 2) / (2 * np.pi)

    expected, error = integrate.dblquad(right, -8, 8, -8, 8, epsabs=1e-9)
    assert abs(expected_scores(spec, np.array(0.9)) - expected) < 1e-8 + error


@pytest.mark.parametrize("skew", [0.0, 1.5, -1.5])
def test_truth_is_the_mean_of_many_items(skew):
    """Within standard errors of items drawn, and of answers given; partial credit keeps it."""
    spec = WorldSpec(models=4, items=60_000, tasks=2, difficulty_skew=skew, partial_credit=0.5,
                     task_spread=1.0, seed=4)  # fmt: skip
    world = one(spec)
    moments = world.difficulties.mean(), world.difficulties.std()
    assert abs(moments[0] - 0.0) < 4 * 1.5 / sqrt(60_000)
    assert abs(moments[1] / 1.5 - 1) < 4 * sqrt((4 + 1.5 * skew**2) / 4 / 60_000)
    third = (((world.difficulties - moments[0]) / moments[1]) ** 3).mean()
    # A lognormal's third moment has a heavy tail of its own; 0.1 is 4 errors at skewness 1.5.
    assert abs(third - skew) < 0.1
    logs = np.log(world.discriminations)
    assert abs(logs.mean()) < 4 * 0.3 / sqrt(60_000)
    assert abs(logs.std() / 0.3 - 1) < 4 / sqrt(2 * 60_000)
    for task in range(2):
        here = world.benchmark.task_index == task
        logit = world.abilities[:, [task]] - world.difficulties[here]
        p = special.expit(world.discriminations[here] * logit)
        for values in (p, world.benchmark.scores[:, here]):
            error = values.std(axis=1) / sqrt(here.sum())
            assert (np.abs(values.mean(axis=1) - world.truth[:, task]) < 4 * error).all()


def test_true_scores_weigh_tasks_as_the_rules_do():
    world = one(replace(RICH, tasks=3, categories=2))
    sizes = world.benchmark.task_sizes
    assert sizes.tolist() == [5, 7, 11]
    expected = {
        "item_mean": world.truth @ (sizes / 23),
        "equal_task": world.truth.mean(axis=1),
        "equal_category": (world.truth[:, :2].mean(axis=1) + world.truth[:, 2]) / 2,
    }
    for rule, scores in expected.items():
        np.testing.assert_allclose(world.true_scores(rule), scores, rtol=1e-14)
    assert np.array_equal(world.true_scores(), world.true_scores("item_mean"))
    with pytest.raises(BadRequest, match="did you mean equal_task"):
        world.true_scores("equal_tasks")
    with pytest.raises(BadRequest, match="no categories"):
        one(SMALL).true_scores("equal_category")


def test_a_world_is_shown_in_a_line():
    shown = repr(jaxbench.world(models=5, items=40, tasks=2))
    assert shown.startswith("World('world-")
    assert shown.endswith(": 5 models, 40 items, 2 tasks)")
