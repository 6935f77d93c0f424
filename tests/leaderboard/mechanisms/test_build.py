"""From declared values to a chain, and the ticks that it is in."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from jaxbench.engine.conditions import ON_BUDGETS
from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.build import Ticks, refined
from jaxbench.leaderboard.mechanisms.registry import BUILDERS, SCHEDULES, builder_of
from jaxbench.leaderboard.mechanisms.ticks import decimals, shares
from jaxbench.options import chain as order
from jaxbench.options.mechanism import BY_NAME
from releasing import chain_of, given, one_number, play, ticks_of

sizes = st.fractions(min_value=Fraction(1, 200), max_value=1, max_denominator=200)
counts = st.integers(1, 400)


def test_rules_on_budgets_and_items_are_no_steps():
    assert set(ON_BUDGETS) == set(order.SCHEDULES)
    assert set(ON_BUDGETS) | {"public_private"} == SCHEDULES
    assert not SCHEDULES & BUILDERS.keys()
    for name in SCHEDULES:
        assert builder_of(name) is None
    chain, _ = chain_of(
        given("cap", total=3), given("rounding", step="0.1"), given("delay", batch=2),
        given("public_private", public="1/2"), given("visibility", to="everyone"),
        given("refresh", every=4),
    )  # fmt: skip
    assert [type(part).__name__ for part in chain.parts] == ["Rounding", "Visibility"]


@pytest.mark.parametrize(
    ("to", "expected"), [("everyone", [50, 45, 45, 41, 41]), ("submitter", [50, 45, 55, 41, 60])]
)
def test_who_sees_a_number(to, expected):
    chain, _ = chain_of(given("visibility", to=to))
    found = play(chain, one_number([50, 45, 55, 41, 60]))
    assert found.released.ravel().tolist() == expected
    own = [True, True, to == "submitter", True, to == "submitter"]
    assert found.answered.ravel().tolist() == own


@pytest.mark.parametrize("name", ["thresholdout", "subsample", "bootstrap"])
def test_what_looks_at_items_comes_first(name):
    values = {"thresholdout": {"threshold": "0.1", "scale": "0.01"}, "subsample": {"items": 5}}
    mine = given(name, **values.get(name, {}))
    # A rule about budgets in front of it changes no number.
    chain_of(given("cap", total=3), mine)
    with pytest.raises(BadRequest, match=f"mechanism={name}: .* found it after rounding"):
        chain_of(given("cap", total=3), given("rounding", step="0.1"), mine)


@pytest.mark.parametrize(
    ("name", "on"),
    [("shaky_ladder", "gate"), ("frontier_ladder", "overall"), ("thresholdout", "gate")],
)
def test_where_a_mechanism_cannot_act_is_refused(name, on):
    places = " or ".join(BY_NAME[name].places)
    values = {"step": "0.1", "scale": "0.01", "threshold": "0.1"}
    with pytest.raises(BadRequest, match=f"mechanism={name}: on={on}; expected on={places}"):
        chain_of(given(name, **values), denominators=(100, 100), on=on)


@examples(sizes, counts, counts)
def test_ticks_hold_scores_and_sizes_in_whole_numbers(size, first, second):
    chosen = [given("ladder", step=size)]
    ticks = ticks_of(chosen, (first, second))
    per_score = ticks.per_score[0].tolist()
    for n, found in zip((first, second), per_score, strict=True):
        # The least common multiple, by trying.
        expected = next(t for t in range(n, n * 200 + 1, n) if (size * t).denominator == 1)
        assert found == expected
    assert ticks.sized(size).tolist() == [[float(size * t) for t in per_score]]


@examples(sizes, counts)
def test_noise_finds_fine_ticks(size, items):
    for name, parameter in (("gaussian", "sd"), ("laplace", "scale")):
        ticks = ticks_of([given(name, **{parameter: size / 100})], (items,)).per_score[0, 0]
        assert ticks % items == 0
        assert ticks >= 10_000
        assert ticks * size / 100 >= 16
        # A multiple too many of the coarser ticks at most.
        assert ticks < max(10_000, 1600 / size) + 10_000 + items


def test_every_trial_has_ticks_of_its_own():
    denominators = np.array([[4, 6], [10, 9], [4, 6]])
    found = refined([given("rounding", step="1/4")], denominators)
    assert found.tolist() == [[4, 12], [20, 36], [4, 12]]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (given("ladder", step="1/100000000003"), "mechanism=ladder: step=1/100000000003"),
        (given("gaussian", sd="0.00000000000001"), "mechanism=gaussian: sd=0.00000000000001"),
    ],
)
def test_sizes_that_need_too_many_ticks_are_refused(chosen, words):
    with pytest.raises(BadRequest, match=r"ticks per score, which is more than 2\^40") as error:
        ticks_of([chosen], (360,))
    assert str(error.value).startswith(words)


def test_a_gate_needs_an_overall_in_whole_ticks():
    weights = (Fraction(1, 2**21), 1 - Fraction(1, 2**21))
    with pytest.raises(BadRequest, match=r"on=gate: an exact overall .* use on=overall or"):
        chain_of(
            given("ladder", step="1/1048583"), denominators=(7, 11), on="gate", weights=weights
        )


def test_weights_may_differ_between_trials():
    rows = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)))
    ticks = Ticks(np.array([[10, 10]]), np.array([[10, 10]]), rows)
    weights, steps = ticks.overall(Fraction(1, 10))
    # In 20ths and in 30ths of the score.
    assert weights.tolist() == [[1, 1], [1, 2]]
    assert steps.tolist() == [[2], [3]]
    np.testing.assert_allclose(ticks.weight_rows(), [[0.5, 0.5], [1 / 3, 2 / 3]])


@examples(st.integers(1, 60), st.lists(st.integers(1, 40), min_size=3, max_size=3))
def test_shares_are_whole_and_at_least_one(asked, items):
    total = sum(items)
    asked = min(asked, total)
    expected = [max(1, round(Fraction(asked * n, total))) for n in items]
    assert shares(asked, np.array([items])).tolist() == [expected]


def test_shares_are_of_all_reused_items():
    assert shares(10, np.array([[30]]), np.array([60])).tolist() == [[5]]


def test_decimals_of_ladder_jl():
    assert decimals(np.array([[1, 3, 4, 31, 32, 360, 12_000]])).tolist() == [[0, 0, 1, 1, 2, 3, 4]]


@pytest.mark.parametrize(("step", "same"), [("1/10", True), ("1/4", True), ("1/5", False)])
def test_rounding_the_score_breaks_ties_alike_on_an_even_grid(step, same):
    """Where a score of 1 has an even number of steps."""
    chain, ticks = chain_of(given("rounding", step=step), denominators=(200,))
    per_score = int(ticks.per_score[0, 0])
    losses = np.arange(per_score + 1.0)
    of_loss = play(chain, one_number(losses)).released.ravel()
    of_score = per_score - play(chain, one_number(per_score - losses)).released.ravel()
    assert np.array_equal(of_loss, of_score) == same
