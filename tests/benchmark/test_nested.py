"""Fewer reused items, against loops over the documented counters."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fresh
from jaxbench.benchmark.nested import check_size, reused_subsets
from jaxbench.benchmark.split import SplitPlan, hash_splits, prng_splits
from jaxbench.errors import BadRequest
from oracle.attack import OracleRefusal
from worlds import World, worlds

SHARE = Fraction(1, 2)
TRIALS = np.arange(3)


def plain(sizes: list[int], copies: dict[int, int] | None = None) -> World:
    """A world of tasks of some sizes; `copies`: item -> the item whose prompt it repeats."""
    tasks = [f"task {t}" for t, size in enumerate(sizes) for _ in range(size)]
    prompts = [f"p{i:03d}" for i in range(len(tasks))]
    for item, of in (copies or {}).items():
        prompts[item] = prompts[of]
    return World(((0,) * len(tasks), (1,) * len(tasks)), 1, tuple(tasks), tuple(prompts))


def plan_of(world: World, share: Fraction = SHARE) -> SplitPlan:
    return SplitPlan(world.benchmark(), share)


def subsets(plan, reused, sizes, trials=TRIALS, seed=5):
    return reused_subsets(plan, reused, trials, sizes=sizes, seed=seed)


@settings(max_examples=60)
@given(world=worlds(tasks=3), seed=st.integers(0, 2**64 - 1), data=st.data())
def test_subsets_are_the_oracles(world, seed, data):
    try:
        plan = plan_of(world)
    except BadRequest:
        return
    reused = hash_splits(plan, TRIALS, seed_base=seed % 1000)
    size = data.draw(st.integers(1, int(reused[0].sum()) + 1))
    try:
        expected = [
            fresh.kept(world.oracle(), side.tolist(), seed, trial, size)
            for trial, side in enumerate(reused)
        ]
    except OracleRefusal:
        with pytest.raises(BadRequest, match=f"reused_items={size}: "):
            refused(plan, reused, size, seed)
        return
    check_size(plan, size)
    (found,) = subsets(plan, reused, [size], seed=seed)
    assert found.tolist() == expected


def refused(plan, reused, size, seed) -> None:
    check_size(plan, size)
    subsets(plan, reused, [size], seed=seed)


@pytest.mark.parametrize("sizes", [[4, 6, 10, 40], [2, 2, 50], [9, 30], [7, 7, 7, 7, 7]])
def test_single_prompts_make_every_size_exactly_in_proportion(sizes):
    world, trials = plain(sizes), np.arange(6)
    plan = plan_of(world)
    reused = prng_splits(plan, trials, seed=1)
    count, tasks = int(reused[0].sum()), np.array(world.tasks)
    every = list(range(len(sizes), count + 1))
    found = subsets(plan, reused, every, trials)
    quota = {t: Fraction(int(reused[0][tasks == t].sum()), count) for t in world.tasks}
    for size, kept in zip(every, found, strict=True):
        assert (kept.sum(axis=1) == size).all()
        assert not (kept & ~reused).any()
        for row in kept:
            seats = Counter(tasks[row].tolist())
            assert len(seats) == len(sizes)
            # Webster with one seat each given: no seat would be better used by another task.
            for one, has in seats.items():
                for other in seats:
                    if has > 1:
                        assert (
                            Fraction(2 * has - 1) / quota[one]
                            <= Fraction(2 * seats[other] + 1) / quota[other]
                        )
    for smaller, larger in pairwise(found):
        assert not (smaller & ~larger).any()
    assert np.array_equal(found[-1], reused)


def test_equal_prompts_stay_together():
    world = plain([12, 12], copies={1: 0, 2: 0, 5: 4, 13: 12, 17: 16})
    plan, trials = plan_of(world), np.arange(20)
    reused = prng_splits(plan, trials, seed=3)
    # One group of each task at least: three items of the first and two of the second.
    sizes = list(range(5, 13))
    short = 0
    for size, kept in zip(sizes, subsets(plan, reused, sizes, trials), strict=True):
        for item, of in {1: 0, 2: 0, 5: 4, 13: 12, 17: 16}.items():
            assert np.array_equal(kept[:, item], kept[:, of])
        missing = size - kept.sum(axis=1)
        # Never more than asked for, and short by less than the largest group.
        assert missing.min() >= 0
        assert missing.max() < 3
        short += (missing > 0).sum()
    assert short


def test_a_subset_is_a_matter_of_seed_and_trial_alone():
    world = plain([20, 30, 40], copies={1: 0, 23: 22})
    plan, trials = plan_of(world), np.arange(12)
    reused = prng_splits(plan, trials, seed=4)
    found = subsets(plan, reused, [7, 20, 31], trials)
    picked = np.array([7, 2, 11])
    alone = subsets(plan, reused[picked], [31, 7], picked)
    assert np.array_equal(alone[0], found[2][picked])
    assert np.array_equal(alone[1], found[0][picked])
    # Numbers of trials, not places: and each trial and seed draws its own.
    one_split = np.broadcast_to(reused[:1], reused.shape)
    (of_one,) = subsets(plan, one_split, [20], trials)
    assert len(np.unique(of_one, axis=0)) == len(trials)
    (of_other,) = subsets(plan, one_split, [20], trials, seed=6)
    assert not (of_one == of_other).all(axis=1).any()


def test_kept_items_are_a_fair_draw():
    """Over many trials every reused item of a task is kept equally often."""
    plan, trials = plan_of(plain([20, 20])), np.arange(2000)
    reused = np.zeros((2000, 40), dtype=bool)
    reused[:, ::2] = True
    (kept,) = subsets(plan, reused, [8], trials)
    often = kept[:, ::2].mean(axis=0)
    # 4 of 10 each; five standard errors of a share of 2000.
    assert np.abs(often - 0.4).max() < 5 * np.sqrt(0.24 / 2000)


@pytest.mark.parametrize("size", [0, 1, 2, 17, 1000])
def test_sizes_out_of_range_are_refused(size):
    plan = plan_of(plain([8, 12, 12]))
    with pytest.raises(BadRequest, match=rf"reused_items={size}: expected 3 to 16 "):
        check_size(plan, size)


def test_sizes_at_the_ends_are_not():
    plan = plan_of(plain([8, 12, 12]))
    for size in (3, 16):
        check_size(plan, size)


def test_a_first_prompt_too_large_is_refused():
    # Whichever prompt of task 0 is reused, it stands on three items.
    plan = plan_of(plain([6, 8], copies={1: 0, 2: 0, 4: 3, 5: 3}))
    reused = prng_splits(plan, TRIALS, seed=0)
    check_size(plan, 3)
    with pytest.raises(BadRequest, match=r"reused_items=3: equal prompts stay together.* 4 items"):
        subsets(plan, reused, [3])
    (kept,) = subsets(plan, reused, [4])
    assert (kept.sum(axis=1) == 4).all()


def test_no_sizes_no_subsets():
    plan = plan_of(plain([8, 12]))
    assert subsets(plan, prng_splits(plan, TRIALS, seed=0), []) == []
