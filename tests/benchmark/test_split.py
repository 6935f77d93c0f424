"""Splits: the fill rule, the published order, and what cannot be split."""

from fractions import Fraction
from itertools import combinations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.extend.random import threefry_2x32

from jaxbench.benchmark.split import SplitPlan, fill, fill_many, hash_splits, prng_splits
from jaxbench.counters import Stream
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
            SplitPlan(world.benchmark(), fraction)
        named = [task for task in world.tasks if task in str(refusal)]
        assert named[0] in str(error.value)
        return
    plan = SplitPlan(world.benchmark(), fraction)
    found = hash_splits(plan, np.arange(3), seed_base=base)
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
        SplitPlan(small(tasks, prompts).benchmark(), fraction)
    for word in words:
        assert word in str(error.value)


def test_half_is_rounded_to_even():
    # 2/4 * 5 = 2.5 rounds to 2, 1/2 * 7 = 3.5 to 4.
    for size, expected in ((5, 2), (7, 4)):
        world = small(["a"] * size)
        plan = SplitPlan(world.benchmark(), Fraction(1, 2))
        reused = hash_splits(plan, np.arange(4), seed_base=0)
        assert (~reused).sum(axis=1).tolist() == [expected] * 4


SPLITTERS = {
    "hash": lambda plan, trials: hash_splits(plan, trials, seed_base=3),
    "prng": lambda plan, trials: prng_splits(plan, trials, seed=3),
}


@pytest.mark.parametrize("kind", SPLITTERS)
def test_equal_prompts_stay_on_one_side(kind):
    world = small(["a"] * 9, ["p", "p", "q", "q", "r", "s", "t", "u", "v"])
    plan = SplitPlan(world.benchmark(), Fraction(2, 3))
    reused = SPLITTERS[kind](plan, np.arange(50))
    assert np.array_equal(reused[:, 0], reused[:, 1])
    assert np.array_equal(reused[:, 2], reused[:, 3])
    assert (reused.sum(axis=1) == 3).all()
    assert 0 < reused[:, 0].sum() < 50


@pytest.mark.parametrize("kind", SPLITTERS)
def test_a_trials_split_does_not_depend_on_its_company(kind):
    world = small(
        ["a"] * 9 + ["b"] * 12, [f"p{i // 2}" for i in range(9)] + [f"q{i}" for i in range(12)]
    )
    plan = SplitPlan(world.benchmark(), Fraction(2, 3))
    whole = SPLITTERS[kind](plan, np.arange(40))
    for chunk in (np.arange(3), np.arange(17, 40), np.array([5, 5, 1])):
        assert np.array_equal(SPLITTERS[kind](plan, chunk), whole[chunk])


def test_prng_splits_follow_the_fill_rule_in_the_order_of_their_words():
    """Against a loop: words from the library, groups sorted by them, `fill`."""
    world = small(
        ["a"] * 9 + ["b"] * 5, [f"p{i // 2}" for i in range(9)] + [f"q{i}" for i in range(5)]
    )
    benchmark = world.benchmark()
    plan = SplitPlan(benchmark, Fraction(2, 3))
    found = prng_splits(plan, np.arange(20), seed=2**40 + 7)
    numbers = {prompt: n for n, prompt in enumerate(sorted(set(benchmark.prompt_hashes)))}
    root = jnp.array(divmod(2**40 + 7, 2**32), dtype=jnp.uint32)
    stream = threefry_2x32(root, jnp.array([Stream.SPLIT, 0], dtype=jnp.uint32))
    for trial in range(20):
        key = threefry_2x32(stream, jnp.array([trial, 0], dtype=jnp.uint32))
        expected = np.ones(14, dtype=bool)
        for task in plan.tasks:
            drawn = {}
            for prompt in task.prompts:
                high, low = threefry_2x32(key, jnp.array([numbers[prompt], 0], dtype=jnp.uint32))
                drawn[prompt] = int(high) << 32 | int(low)
            order = sorted(range(len(task.prompts)), key=lambda g, t=task, d=drawn: d[t.prompts[g]])
            for g in fill([task.sizes[g] for g in order], task.target):
                expected[task.members[order[g]]] = False
        assert np.array_equal(found[trial], expected)


@given(data=st.data())
def test_many_orders_at_once_fill_as_one_does(data):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=7))
    sums = {sum(c) for r in range(len(sizes) + 1) for c in combinations(sizes, r)}
    target = data.draw(st.sampled_from(sorted(sums)))
    orders = [data.draw(st.permutations(sizes)) for _ in range(4)]
    found = fill_many(np.array(orders), target)
    assert [np.flatnonzero(row).tolist() for row in found] == [fill(o, target) for o in orders]


def test_prng_splits_are_fair():
    """Every item is held out with the same chance: 2,000 splits of 12 items, 8 held out."""
    plan = SplitPlan(small(["a"] * 12).benchmark(), Fraction(2, 3))
    share = (~prng_splits(plan, np.arange(2000), seed=0)).mean(axis=0)
    # One item's share has a standard error of sqrt(2/9 / 2000) = 0.0105.
    assert np.abs(share - 2 / 3).max() < 4.5 * 0.0105
