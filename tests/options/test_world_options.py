"""Parameters of synthetic worlds: ranges, refusals, and what they fix."""

import subprocess
import sys
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from jaxbench.options import WORLD, WorldSpec
from jaxbench.options.world import PARAMETERS

NAMES = [one.name for one in PARAMETERS]
RANGE = {one.name: one for one in PARAMETERS}


@st.composite
def specs(draw) -> WorldSpec:
    tasks = draw(st.integers(1, 60))
    values = {
        "models": draw(st.integers(2, 50)),
        "items": draw(st.integers(max(4, 2 * tasks), 400)),
        "tasks": tasks,
        "categories": draw(st.integers(0, tasks)),
    }
    for one in PARAMETERS:
        if one.name not in values:
            kind = st.integers if isinstance(one.least, int) else st.floats
            values[one.name] = draw(kind(one.least, one.most))
    return WorldSpec.of(values)


def test_the_table_has_every_field():
    assert NAMES == [one.name for one in fields(WorldSpec)] == [option.name for option in WORLD]
    assert WORLD[0].published == "20"
    assert {o.name: o.values for o in WORLD}["seed"] == "0 to 2^64 - 1"


def test_nothing_is_imported_for_it():
    code = (
        "import sys, jaxbench.options.world as w; w.WorldSpec().name;"
        "assert not {'jax', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(specs())
def test_plain_values_resolve_to_the_same_spec(spec):
    options = spec.as_options()
    assert list(options) == NAMES
    assert {type(value) for value in options.values()} <= {int, float}
    again = WorldSpec.of(options)
    assert again == spec
    assert again.name == spec.name


@pytest.mark.parametrize("name", NAMES)
def test_ends_of_a_range_are_in_it_and_nothing_beyond(name):
    # Room for every number of tasks and categories, and few enough scores.
    room = {"models": 2, "items": 2000, "tasks": 1000}
    if name == "models":
        room["items"] = 2000
    if name == "items":
        room["tasks"] = 1
    one = RANGE[name]
    step = 1 if isinstance(one.least, int) else 1e-9
    for value in (one.least, one.most):
        spec = WorldSpec.of(room | {name: value})
        assert getattr(spec, name) == value
    for value in (one.least - step, one.most + step):
        with pytest.raises(BadRequest, match=f"^{name}=.*: expected a .*number from .* to "):
            WorldSpec.of(room | {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("models", True), ("models", 20.0), ("models", "20"), ("models", [20]), ("seed", -1),
        ("models", np.array([3, 4])), ("contrast", float("nan")), ("contrast", True),
        ("contrast", "much"), ("contrast", 1j), ("field_spread", float("inf")),
        ("discrimination", [0.1, 0.2]),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused(name, value):
    with pytest.raises(BadRequest, match=f"^{name}=.*: expected a .*number from .* to "):
        WorldSpec.of({name: value})


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(BadRequest, match=r"parameter of a world 'modles'; did you mean models\?"):
        WorldSpec.of({"modles": 3})


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"items": 19, "tasks": 10}, "tasks=10 with items=19: .* at most 9"),
        ({"tasks": 3, "categories": 4}, "categories=4 with tasks=3"),
        ({"models": 1000, "items": 4001}, "expected at most 4,000,000 scores"),
    ],
)
def test_numbers_that_do_not_go_together_are_refused(given_, said):
    with pytest.raises(BadRequest, match=said):
        WorldSpec.of(given_)


def test_none_is_not_given():
    assert WorldSpec.of({"models": None, "seed": 3}) == WorldSpec(seed=3)


def test_equal_specs_are_spelled_alike():
    plain = WorldSpec(models=8, contrast=1.0, difficulty_mean=0.0)
    other = WorldSpec.of({"models": np.int32(8), "contrast": 1, "difficulty_mean": -0.0})
    assert plain == other
    assert repr(plain) == repr(other)
    assert plain.name == other.name
    assert plain.as_options() == other.as_options()


def test_every_parameter_changes_the_name():
    base = WorldSpec(items=40)
    found = {base.name}
    for one in PARAMETERS:
        value = getattr(base, one.name)
        other = value + 1 if value + 1 <= one.most else value + 0.25
        found.add(replace(base, **{one.name: other}).name)
    assert len(found) == 1 + len(PARAMETERS)


def test_shape_is_padded_models_items_and_tasks():
    base = WorldSpec(models=20, items=240, tasks=4)
    assert base.shape() == (20, 240, 4)
    assert replace(base, models=18, items=233, tasks=2).shape() == base.shape()
    others = {"models", "items", "tasks"}
    for one in PARAMETERS:
        if one.name not in others:
            assert replace(base, **{one.name: one.least}).shape() == base.shape()


def test_denominator_counts_runs_and_steps():
    assert WorldSpec().denominator == 1
    assert WorldSpec(repeats=5, credit_steps=3).denominator == 5
    assert WorldSpec(repeats=5, credit_steps=3, partial_credit=0.1).denominator == 15


@given(specs())
def test_sizes_add_up_rise_and_can_be_split(spec):
    sizes = spec.task_sizes
    assert len(sizes) == spec.tasks
    assert sum(sizes) == spec.items
    assert list(sizes) == sorted(sizes)
    assert all(0 < round(Fraction(2, 3) * size) < size for size in sizes)


@given(st.integers(1, 40), st.integers(80, 900))
def test_equal_sizes_differ_by_one_at_most(tasks, items):
    sizes = WorldSpec(models=2, tasks=tasks, items=items).task_sizes
    assert sizes[-1] - sizes[0] <= 1


@pytest.mark.parametrize("ratio", [1.5, 4.0, 30.0])
def test_sizes_grow_by_the_ratio(ratio):
    sizes = np.array(WorldSpec(models=2, tasks=5, items=20_000, size_ratio=ratio).task_sizes)
    # Rounded to whole items, of which the smallest task has some 300 at least.
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], ratio ** (1 / 4), rtol=0.01)
