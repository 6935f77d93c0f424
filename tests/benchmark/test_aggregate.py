"""Chains of exact steps: sums, mixes, clips at chance, roundings; and the edge of 2^53."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.aggregate import EXACT, Chain, InexactError
from jaxbench.benchmark.scoring import Overall
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)


def start(*counted) -> Chain:
    return Chain.start(np.array(counted, dtype=np.int64))


def values(chain: Chain, counts) -> list[list[Fraction]]:
    """Exact numbers of one row per trial, after a check of the bounds that the chain gives."""
    numerators = chain(np.array(counts, dtype=np.float64)[:, None, :])[:, 0]
    assert (np.abs(numerators) <= chain.largest).all()
    assert (numerators == np.rint(numerators)).all()
    denominators = np.broadcast_to(chain.denominators, numerators.shape)
    return [
        [Fraction(int(n), int(d)) for n, d in zip(*rows, strict=True)]
        for rows in zip(numerators, denominators, strict=True)
    ]


def test_counts_themselves():
    assert values(start([4, 6]), [[1, 3]]) == [[QUARTER, HALF]]
    # Out of other numbers in every trial; the bound is the largest.
    chain = start([4, 6], [5, 3])
    assert chain.largest.tolist() == [5, 6]
    assert values(chain, [[1, 3], [5, 1]]) == [[QUARTER, HALF], [1, THIRD]]


def test_sums_are_means_over_all_items():
    chain = start([2, 6, 3]).sums([(0, 1), (2,), (0, 1, 2)])
    assert chain.denominators.tolist() == [[8, 3, 11]]
    assert values(chain, [[1, 3, 2]]) == [[HALF, Fraction(2, 3), Fraction(6, 11)]]


def test_sums_that_vary_and_sums_that_do_not():
    varying = start([2, 6], [3, 5])
    assert varying.sums([(0,), (1,)]).denominators.tolist() == [[2, 6], [3, 5]]
    # The two units of one task: together the same in every trial.
    whole = varying.sums([(0, 1)])
    assert whole.denominators.tolist() == [[8]]
    assert values(whole, [[1, 3], [0, 2]]) == [[HALF], [QUARTER]]


def test_mixes_are_weighted_means():
    chain = start([2, 6]).mix([[(0, HALF), (1, HALF)], [(1, QUARTER), (0, 3 * QUARTER)]])
    # (1/2 + 5/6) / 2 = 2/3 and 5/24 + 3/8 = 14/24.
    assert values(chain, [[1, 5]]) == [[Fraction(2, 3), Fraction(7, 12)]]
    assert chain.denominators.tolist() == [[12, 24]]


def test_a_mix_of_scores_out_of_other_numbers_every_trial():
    chain = start([2, 6], [3, 5]).mix([[(0, HALF), (1, HALF)]])
    # Half of 1/2 + 1/6 is 1/3; half of 1/3 + 1/5 is 4/15.
    assert values(chain, [[1, 1], [1, 1]]) == [[THIRD], [Fraction(4, 15)]]
    assert chain.denominators.tolist() == [[12], [30]]


@pytest.mark.parametrize("ticks", [1, 10, 100, 10**5, 10**6])
@pytest.mark.parametrize("sizes", [(7, 5), (21, 17), (147, 49), (3, 8)])
def test_every_rounding_is_exact_in_every_arithmetic(ticks, sizes):
    """numpy, eager jax and a compiled program against fractions, over all counts.

    A compiler that divides by way of the reciprocal is off at exact halves: the mean of two
    ticks is a half as often as not.
    """
    chain = start(sizes).sums([(0,), (1,)]).rounded(ticks)
    chain = chain.mix([[(0, HALF), (1, HALF)]]).rounded(ticks)
    pairs = [(a, b) for a in range(sizes[0] + 1) for b in range(sizes[1] + 1)]
    native = [[round(Fraction(n, d) * ticks) for n, d in zip(p, sizes, strict=True)] for p in pairs]
    expected = [round(Fraction(a + b, 2)) for a, b in native]
    counts = np.array(pairs, dtype=np.float64)[None]
    assert chain(counts)[0, :, 0].tolist() == expected
    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, chain)
        for run in (lambda c, x: c(x, jnp), jax.jit(lambda c, x: c(x, jnp))):
            found = np.asarray(run(on_device, jnp.asarray(counts)))
            assert found[0, :, 0].tolist() == expected


def test_scores_above_chance():
    chain = start([4, 8]).above_chance([QUARTER, Fraction(0)])
    found = [values(chain, [[k, 2 * k]])[0] for k in range(5)]
    # A quarter is chance: 0 below and at it, then thirds up to 1.
    assert [row[0] for row in found] == [0, 0, THIRD, 2 * THIRD, 1]
    assert [row[1] for row in found] == [0, QUARTER, HALF, 3 * QUARTER, 1]
    varying = start([4], [8]).above_chance([Fraction(1, 10)])
    # (1/4 - 1/10) / (9/10) = 1/6 and (1/8 - 1/10) / (9/10) = 1/36.
    assert values(varying, [[1], [1]]) == [[Fraction(1, 6)], [Fraction(1, 36)]]
    assert values(varying, [[0], [0]]) == [[0], [0]]


def test_chance_that_is_no_item():
    # 3 of 10 items at chance 1/3: below it by 1/30.
    chain = start([10]).above_chance([THIRD])
    assert values(chain, [[3]]) == [[0]]
    assert values(chain, [[4]]) == [[Fraction(1, 10)]]


def test_rounding_is_half_to_even():
    chain = start([20]).rounded(10)
    assert chain.denominators.tolist() == [[10]]
    found = [values(chain, [[k]])[0][0] * 10 for k in range(21)]
    assert found == [0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 7, 8, 8, 8, 9, 10, 10]


def test_rounded_twice_is_not_rounded_once():
    # .45 and .65 in tenths are 4 and 6, their mean 5; .25 and .15 are 2 and 2.
    chain = start([20, 20]).rounded(10).mix([[(0, HALF), (1, HALF)]]).rounded(10)
    assert values(chain, [[9, 13]]) == [[HALF]]
    assert values(chain, [[5, 3]]) == [[Fraction(1, 5)]]
    # .15 and .45: 2 and 4 ticks; .35 and .45: 4 and 4.
    assert values(chain, [[7, 9]]) == [[Fraction(2, 5)]]
    # 1 and 2 ticks: a half, to the even 2; 2 and 3: to 2 too.
    assert values(chain, [[2, 4]]) == values(chain, [[4, 6]]) == [[Fraction(1, 5)]]


@settings(max_examples=200)
@given(
    ticks=st.sampled_from([1, 10, 1000, 10**5, 10**9]),
    denominator=st.integers(1, 10**5),
    data=st.data(),
)
def test_every_quotient_is_rounded_as_the_fraction_is(ticks, denominator, data):
    chain = start([denominator]).rounded(ticks)
    # Near halves, where float64 could fall on the wrong side, and anywhere.
    tick = data.draw(st.integers(0, ticks - 1))
    near = (2 * tick + 1) * denominator // (2 * ticks)
    for count in {near, min(near + 1, denominator), data.draw(st.integers(0, denominator))}:
        expected = round(Fraction(count * ticks, denominator))
        assert values(chain, [[count]]) == [[Fraction(expected, ticks)]]


def test_jax_gives_what_numpy_gives():
    chain = start([20, 20], [10, 30]).above_chance([QUARTER, Fraction(0)]).rounded(100)
    chain = chain.mix([[(0, HALF), (1, HALF)]]).rounded(10)
    counts = np.random.default_rng(0).integers(0, 10, (2, 50, 2)).astype(np.float64)
    with jax.enable_x64(True):
        compiled = jax.jit(lambda chain, x: chain(x, jnp))
        found = compiled(jax.tree.map(jnp.asarray, chain), jnp.asarray(counts))
    assert np.array_equal(np.asarray(found), chain(counts))


# --- the edge of 2^53 ---------------------------------------------------------------------------


def test_a_mix_up_to_the_edge():
    # A sum of denominators 2^26 and 2^27 (times a weight of 1/2 each) has the common one 2^28.
    fine = start([2**26, 2**27]).mix([[(0, HALF), (1, HALF)]])
    assert fine.denominators.tolist() == [[2**28]]
    assert start([2**52]).mix([[(0, HALF)]]).denominators.tolist() == [[EXACT]]
    with pytest.raises(InexactError):
        start([2**52]).mix([[(0, QUARTER)]])
    with pytest.raises(InexactError):
        start([2**27 - 1, 2**27]).mix([[(0, HALF), (1, HALF)]])


def test_chance_up_to_the_edge():
    # Scores times the denominator of chance: 2^51 x 4 is the edge.
    start([2**51]).above_chance([QUARTER])
    with pytest.raises(InexactError):
        start([2**51 + 1]).above_chance([QUARTER])


def test_rounding_up_to_the_edge():
    # 4 x ticks x denominator is what a boundary needs: 4 x 2^10 x 2^41.
    start([2**41]).rounded(2**10)
    with pytest.raises(InexactError):
        start([2**41 + 1]).rounded(2**10)


# --- scoring rules ------------------------------------------------------------------------------


def benchmark(sizes: list[int], **facts) -> Benchmark:
    names = [f"t{t:02d}" for t, size in enumerate(sizes) for _ in range(size)]
    return Benchmark.from_scores(
        np.array([[0.0] * len(names), [1.0] * len(names)]), models=["a", "b"],
        items=[f"i{i:04d}" for i in range(len(names))], tasks=names, **facts,
    )  # fmt: skip


def exactly(overall: Overall, counts) -> Fraction:
    """The overall of one row as a fraction; and the float64 that the engine works with is near."""
    (numbers,) = values(overall.chain, [counts])
    exact = sum((w * n for w, n in zip(overall.weights, numbers, strict=True)), Fraction(0))
    found = overall(np.array([[counts]], dtype=np.float64))[0, 0]
    assert abs(found - float(exact)) <= 2**-50
    return exact


def test_unrounded_rules():
    categories = ["P"] * 2 + ["Q"] * 10
    board = benchmark([2, 4, 6], categories=categories)
    units = Units.of(board, subtasks=False, categories=False)
    counted = np.array([[2, 4, 6]])
    # 1/2, 3/4, 1/6.
    expected = {
        "item_mean": Fraction(5, 12),
        "equal_task": (HALF + 3 * QUARTER + Fraction(1, 6)) / 3,
        "equal_category": (HALF + (3 * QUARTER + Fraction(1, 6)) / 2) / 2,
        "mean_win_rate": (HALF + (3 * QUARTER + Fraction(1, 6)) / 2) / 2,
    }
    for rule, score in expected.items():
        overall = scoring.scoring_rule(board, units, rule, counted)
        assert exactly(overall, [1, 3, 1]) == score
        assert overall.total == (rule == "item_mean")
        assert exactly(overall, [2, 4, 6]) == 1
        assert exactly(overall, [0, 0, 0]) == 0


def test_above_chance_over_subtasks_then_tasks():
    # Task 0 has subtasks x (chance 1/4) and y (chance 0); task 1 has one at 1/2.
    board = benchmark(
        [8, 4], subtasks=["x"] * 4 + ["y"] * 4 + ["z"] * 4,
        chances=[QUARTER] * 4 + [Fraction(0)] * 4 + [HALF] * 4,
    )  # fmt: skip
    units = Units.of(board, subtasks=True, categories=False)
    overall = scoring.scoring_rule(board, units, "chance_normalised", np.array([[4, 4, 4]]))
    assert overall.weights == (QUARTER, QUARTER, HALF)
    # x 2/4 -> 1/3, y 1/4, z 3/4 -> 1/2.
    assert exactly(overall, [2, 1, 3]) == (THIRD + QUARTER) / 4 + QUARTER
    # Below chance in x and z: each stands at 0, and does not take from y.
    assert exactly(overall, [0, 4, 1]) == QUARTER
    assert exactly(overall, [4, 4, 4]) == 1
    # Sizes that differ from trial to trial.
    varying = scoring.scoring_rule(
        board, units, "chance_normalised", np.array([[2, 4, 4], [4, 2, 4]])
    )
    found = varying(np.array([[[1, 1, 3]], [[1, 1, 3]]], dtype=np.float64))
    np.testing.assert_allclose(
        found[:, 0], [float((THIRD + QUARTER) / 4 + QUARTER), float(HALF / 4 + QUARTER)],
        rtol=0, atol=1e-15,
    )  # fmt: skip


def test_an_empty_subtask_is_refused_by_name():
    board = benchmark([8], subtasks=["x"] * 4 + ["y"] * 4, chances=[QUARTER] * 8)
    units = Units.of(board, subtasks=True, categories=False)
    with pytest.raises(BadRequest, match="subtask 't00 / y' has no item on one side"):
        scoring.scoring_rule(board, units, "chance_normalised", np.array([[2, 2], [4, 0]]))


def test_released_overalls_round_what_they_average_first():
    board = benchmark([20, 20])
    units = Units.of(board, subtasks=False, categories=False)

    def tenths(rule: str, counts) -> Fraction:
        return exactly(
            scoring.released_overall(board, units, rule, np.array([[20, 20]]), 10), counts
        )

    # .55 and .15: 6 and 2 ticks, 4; by items 14/40 = 3.5 ticks, to the even 4.
    assert tenths("equal_task", [11, 3]) == tenths("item_mean", [11, 3]) == Fraction(4, 10)
    # .25 and .45: 2 and 4 ticks, 3; by items 14/40 again: 4.
    assert tenths("equal_task", [5, 9]) == Fraction(3, 10)
    assert tenths("item_mean", [5, 9]) == Fraction(4, 10)


def test_released_scores_above_chance_round_each_subtask_first():
    board = benchmark([10, 10], chances=[QUARTER] * 10 + [Fraction(0)] * 10)
    units = Units.of(board, subtasks=True, categories=False)
    overall = scoring.released_overall(board, units, "chance_normalised", np.array([[10, 10]]), 10)
    # (.5 - .25) / .75 = 1/3: 3 ticks; .4: 4 ticks; 3.5, to the even 4. Unrounded: 11/30.
    assert exactly(overall, [5, 4]) == Fraction(4, 10)
    # .2 is below chance: none; .5: 5 ticks; 2.5, to the even 2.
    assert exactly(overall, [2, 5]) == Fraction(2, 10)


def test_exact_overalls_are_the_unrounded_ones():
    board = benchmark([2, 4])
    units = Units.of(board, subtasks=False, categories=False)
    for rule in ("item_mean", "equal_task"):
        overall = scoring.released_overall(board, units, rule, np.array([[2, 4]]), None)
        assert exactly(overall, [1, 4]) == {"item_mean": Fraction(5, 6),
                                            "equal_task": Fraction(3, 4)}[rule]  # fmt: skip


def test_too_many_decimals_are_refused_with_a_way_out():
    board = benchmark([4, 4])
    units = Units.of(board, subtasks=False, categories=False)
    counted = np.array([[10**6, 10**6]])
    for rule in ("item_mean", "equal_task"):
        with pytest.raises(BadRequest, match=r"benchmark: .*2\^53.*; ask for fewer decimals"):
            scoring.released_overall(board, units, rule, 4 * counted, 10**9)
        scoring.released_overall(board, units, rule, counted, 10**5)
