"""The public part of the reused items, against a search over all sets of prompt groups."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.benchmark.nested import reused_subsets
from jaxbench.benchmark.public_part import hash_public_part, prng_public_part
from jaxbench.benchmark.split import SplitPlan, hash_splits, prng_splits
from jaxbench.errors import BadRequest
from oracle import boards
from worlds import World, worlds

HALF = Fraction(1, 2)
TRIALS = np.arange(4)


def plain(sizes: list[int], copies: dict[int, int] | None = None) -> World:
    """A world of tasks of some sizes; `copies`: item -> the item whose prompt it repeats."""
    tasks = [f"task {t}" for t, size in enumerate(sizes) for _ in range(size)]
    prompts = [f"p{i:03d}" for i in range(len(tasks))]
    for item, of in (copies or {}).items():
        prompts[item] = prompts[of]
    return World(((0,) * len(tasks), (1,) * len(tasks)), 1, tuple(tasks), tuple(prompts))


def groups_of(plan: SplitPlan, side) -> list[tuple[str, str, list[int]]]:
    return [
        (task.name, prompt, items)
        for task in plan.tasks
        for prompt, items in zip(task.prompts, task.members, strict=True)
        if side[items[0]]
    ]


def parts(plan, reused, trials, share, seed=5):
    """Both kinds of split."""
    return (
        hash_public_part(plan, reused, trials, share=share, seed_base=seed),
        prng_public_part(plan, reused, trials, share=share, seed=seed),
    )


@settings(max_examples=80)
@given(
    world=worlds(tasks=3),
    seed=st.integers(0, 10**6),
    share=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
)
def test_parts_are_the_oracles(world, seed, share):
    try:
        plan = SplitPlan(world.benchmark(), HALF)
    except BadRequest:
        return
    reused = hash_splits(plan, TRIALS, seed_base=seed)
    expected = [
        boards.public_part(groups_of(plan, side), share, seed + trial)
        for trial, side in enumerate(reused.tolist())
    ]
    if None in expected:
        with pytest.raises(BadRequest, match=f"public={share}: "):
            hash_public_part(plan, reused, TRIALS, share=share, seed_base=seed)
        return
    found = hash_public_part(plan, reused, TRIALS, share=share, seed_base=seed)
    assert [set(np.flatnonzero(row).tolist()) for row in found] == expected


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(3, 10), HALF, Fraction(9, 10)])
def test_single_prompts_meet_the_target_exactly(share):
    plan, trials = SplitPlan(plain([20, 30, 40]).benchmark(), HALF), np.arange(20)
    reused = prng_splits(plan, trials, seed=1)
    for public in parts(plan, reused, trials, share):
        # Half to even: 45 reused items give 4, 14, 22, 40.
        assert (public.sum(axis=1) == round(share * 45)).all()
        assert not (public & ~reused).any()


def test_equal_prompts_stay_on_one_side():
    copies = {1: 0, 2: 0, 5: 4, 13: 12, 17: 16}
    plan, trials = SplitPlan(plain([12, 12], copies).benchmark(), HALF), np.arange(60)
    reused = prng_splits(plan, trials, seed=3)
    for share in (Fraction(1, 4), HALF, Fraction(3, 4)):
        for public in parts(plan, reused, trials, share):
            for item, of in copies.items():
                assert np.array_equal(public[:, item], public[:, of])
            # Enough single prompts: every target is reached.
            assert (public.sum(axis=1) == round(share * 12)).all()


def test_an_unreachable_target_is_missed_by_the_least_from_below():
    # Six pairs of equal prompts: 6 items reused, of which an odd number cannot be public.
    plan = SplitPlan(plain([12], {i + 1: i for i in range(0, 12, 2)}).benchmark(), HALF)
    reused = prng_splits(plan, TRIALS, seed=0)
    for public in parts(plan, reused, TRIALS, HALF):
        assert (public.sum(axis=1) == 2).all()
    for public in parts(plan, reused, TRIALS, Fraction(4, 5)):
        assert (public.sum(axis=1) == 4).all()
    # One item would be public, but none comes alone.
    with pytest.raises(BadRequest, match=r"public=1/6: of 6 reused items none would be public"):
        parts(plan, reused, TRIALS, Fraction(1, 6))


@pytest.mark.parametrize(
    ("share", "side"), [("1/100", "public"), ("99/100", "private"), ("1", "private")]
)
def test_an_empty_part_is_refused(share, side):
    plan = SplitPlan(plain([10, 10]).benchmark(), HALF)
    reused = hash_splits(plan, TRIALS, seed_base=0)
    for make, seed in ((hash_public_part, "seed_base"), (prng_public_part, "seed")):
        with pytest.raises(BadRequest, match=f"public={share}: of 10 .* none would be {side}"):
            make(plan, reused, TRIALS, share=Fraction(share), **{seed: 0})


def test_a_part_is_a_matter_of_seed_and_trial_alone():
    plan = SplitPlan(plain([20, 30, 40], {1: 0, 23: 22}).benchmark(), HALF)
    trials, picked = np.arange(12), np.array([7, 2, 11])
    reused = hash_splits(plan, trials, seed_base=4)
    together = parts(plan, reused, trials, HALF)
    alone = parts(plan, reused[picked], picked, HALF)
    other = parts(plan, reused, trials, HALF, seed=6)
    for all_of_them, some, elsewhere in zip(together, alone, other, strict=True):
        assert np.array_equal(all_of_them[picked], some)
        assert len(np.unique(all_of_them, axis=0)) == len(trials)
        assert not (all_of_them == elsewhere).all(axis=1).any()


def test_fewer_reused_items_have_a_part_of_their_own():
    plan = SplitPlan(plain([20, 30, 40], {1: 0, 23: 22}).benchmark(), HALF)
    reused = prng_splits(plan, TRIALS, seed=4)
    (kept,) = reused_subsets(plan, reused, TRIALS, sizes=[20], seed=4)
    for public in parts(plan, kept, TRIALS, HALF):
        assert not (public & ~kept).any()
        assert np.array_equal(public.sum(axis=1), [round(HALF * int(n)) for n in kept.sum(axis=1)])


def test_every_reused_item_is_public_equally_often():
    plan, trials = SplitPlan(plain([40]).benchmark(), HALF), np.arange(2000)
    reused = prng_splits(plan, trials, seed=9)
    public = prng_public_part(plan, reused, trials, share=Fraction(1, 4), seed=9)
    # 5 of 20, for every item where it is reused; five standard errors of a share of 1000.
    often = public.sum(axis=0) / reused.sum(axis=0)
    assert np.abs(often - 0.25).max() < 5 * np.sqrt(0.1875 / 950)
