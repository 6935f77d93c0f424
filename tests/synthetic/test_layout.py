"""What parameters fix without chance: prompts, kinds of items, names, categories."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.options import WorldSpec
from jaxbench.synthetic.layout import layout

SIZES = [(4, 1), (5, 2), (6, 3), (9, 3), (24, 3), (200, 7), (240, 100)]


@st.composite
def specs(draw) -> WorldSpec:
    items, tasks = draw(st.sampled_from(SIZES))
    return WorldSpec(
        models=3,
        items=items,
        tasks=tasks,
        size_ratio=draw(st.sampled_from([1.0, 3.0, 1000.0])),
        categories=draw(st.integers(0, tasks)),
        partial_credit=draw(st.floats(0, 1)),
        duplicate_prompts=draw(st.floats(0, 0.5)),
        prompt_copies=draw(st.integers(2, 5)),
    )


@given(specs())
def test_a_prompt_is_in_one_task_and_of_one_kind(spec):
    made = layout(spec)
    for prompt in set(made.prompt_hashes):
        items = [i for i, hashed in enumerate(made.prompt_hashes) if hashed == prompt]
        assert len(items) in (1, spec.prompt_copies)
        assert len({int(made.task_index[i]) for i in items}) == 1
        assert len({bool(made.partial[i]) for i in items}) == 1
        assert {int(made.prompts[i]) for i in items} == {items[0]}
        assert made.items[items[0]] == prompt


@given(specs())
def test_prompts_leave_every_split_possible(spec):
    made = layout(spec)
    for task in range(spec.tasks):
        here = np.unique(made.prompts[made.task_index == task], return_counts=True)[1]
        sums = {0}
        for size in here.tolist():
            sums |= {s + size for s in sums}
        assert sums == set(range(sum(here) + 1))


@given(specs())
def test_names_stand_in_canonical_order(spec):
    made = layout(spec)
    for names in (made.models, made.items, made.tasks):
        assert list(names) == sorted(set(names))
    assert (np.diff(made.task_index) >= 0).all()
    assert tuple(np.bincount(made.task_index)) == spec.task_sizes


@given(specs())
def test_categories_hold_whole_tasks(spec):
    made = layout(spec)
    if not spec.categories:
        assert made.categories is None
        return
    pairs = {(int(t), c) for t, c in zip(made.task_index, made.categories, strict=True)}
    assert len(pairs) == spec.tasks
    of_category = np.unique([c for _, c in pairs], return_counts=True)[1]
    assert len(of_category) == spec.categories
    assert max(of_category) - min(of_category) <= 1


@pytest.mark.parametrize(("share", "copies"), [*product([0.0, 0.1, 0.3, 0.45], [2, 3, 5])])
def test_shares_are_what_was_asked_for(share, copies):
    spec = WorldSpec(
        items=600, tasks=5, duplicate_prompts=share, prompt_copies=copies, partial_credit=share
    )
    made = layout(spec)
    repeating = (made.prompts != np.arange(600)).mean()
    # Whole prompts of `copies` items; kinds as well.
    assert abs(repeating - share) <= copies / 600
    assert abs(made.partial.mean() - share) <= copies / 600
    assert layout(WorldSpec(partial_credit=1.0)).partial.all()


def test_what_cannot_be_split_is_not_repeated():
    # A pair alone in a task would have to be split.
    assert layout(WorldSpec(items=8, tasks=4, duplicate_prompts=0.5)).prompts.tolist() == [
        *range(8)
    ]
    # Three items: one pair at most.
    made = layout(WorldSpec(items=12, tasks=4, duplicate_prompts=0.5))
    assert made.prompts.tolist() == [0, 0, 2, 3, 3, 5, 6, 6, 8, 9, 9, 11]
    assert Fraction(sum(made.prompts != np.arange(12)), 12) == Fraction(1, 3)
