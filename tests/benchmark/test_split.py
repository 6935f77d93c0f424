"""Splits: the fill rule, the published order, and what cannot be split."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.benchmark import hash_splits
from jaxbench.benchmark.split import fill
from jaxbench.errors import BadRequest
from oracle.attack import OracleRefusal, hash_split
from worlds import World, worlds


@settings(max_examples=100)
@given(
    world=worlds(tasks=3),
    base=st.integers(0, 10**12),
    fraction=st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=12),
)
def test_hash_splits_are_the_oracles(world, base, fraction):
    try:
        expected = [hash_split(world.oracle(), base + t, fraction) for t in range(3)]
    except OracleRefusal as refusal:
        with pytest.raises(BadRequest) as error:
            hash_splits(world.benchmark(), trials=3, seed_base=base, holdout_fraction=fraction)
        named = [task for task in world.tasks if task in str(refusal)]
        assert named[0] in str(error.value)
        return
    found = hash_splits(world.benchmark(), trials=3, seed_base=base, holdout_fraction=fraction)
    assert found.tolist() == expected


@given(st.lists(st.integers(1, 4), min_size=1, max_size=7), st.data())
def test_fill_takes_the_first_feasible_groups(sizes, data):
    sums = {sum(c) for r in range(len(sizes) + 1) for c in combinations(sizes, r)}
    target = data.draw(st.sampled_from(sorted(sums)))
    # Greedy by trying every completion: a group is taken iff some later groups finish the rest.
    taken, rest = [], target
    for g, size in enumerate(sizes):
        later = sizes[g + 1 :]
        possible = {sum(c) for r in range(len(later) + 1) for c in combinations(later, r)}
        if rest - size in possible:
            taken.append(g)
            rest -= size
    assert fill(sizes, target) == taken
    assert sum(sizes[g] for g in taken) == target


def small(tasks, prompts=None) -> World:
    prompts = prompts or tuple(f"p{i}" for i in range(len(tasks)))
    return World(((0,) * len(tasks), (1,) * len(tasks)), 1, tuple(tasks), tuple(prompts))


@pytest.mark.parametrize(
    ("tasks", "prompts", "fraction", "words"),
    [
        (["a", "a", "b"], None, Fraction(2, 3), ["'b'", "1 item", "no reused item"]),
        (["a", "a", "b"], None, Fraction(1, 10), ["'a'", "2 item", "no held-out item"]),
        # Groups of 3 and 3: no subset of them has 4 of 6 items.
        (["a"] * 6, ["p"] * 3 + ["q"] * 3, Fraction(2, 3), ["'a'", "[3, 3]", "exactly 4 of 6"]),
    ],
)
def test_what_cannot_be_split_is_named(tasks, prompts, fraction, words):
    with pytest.raises(BadRequest) as error:
        hash_splits(small(tasks, prompts).benchmark(), trials=1, seed_base=0,
                    holdout_fraction=fraction)  # fmt: skip
    for word in words:
        assert word in str(error.value)


def test_half_is_rounded_to_even():
    # 2/4 * 5 = 2.5 rounds to 2, 1/2 * 7 = 3.5 to 4.
    for size, expected in ((5, 2), (7, 4)):
        world = small(["a"] * size)
        reused = hash_splits(
            world.benchmark(), trials=4, seed_base=0, holdout_fraction=Fraction(1, 2)
        )
        assert (~reused).sum(axis=1).tolist() == [expected] * 4


def test_equal_prompts_stay_on_one_side():
    world = small(["a"] * 9, ["p", "p", "q", "q", "r", "s", "t", "u", "v"])
    reused = hash_splits(world.benchmark(), trials=50, seed_base=3, holdout_fraction=Fraction(2, 3))
    assert np.array_equal(reused[:, 0], reused[:, 1])
    assert np.array_equal(reused[:, 2], reused[:, 3])
    assert (reused.sum(axis=1) == 3).all()
    assert 0 < reused[:, 0].sum() < 50
