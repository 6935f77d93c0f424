"""The parameter-free Ladder, on whole numbers, against fractions."""

from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms import Noise, Submission
from jaxbench.leaderboard.mechanisms.build import Ticks, build
from jaxbench.leaderboard.mechanisms.parameter_free import (
    accepts,
    accepts_weighted,
    parameter_free,
)
from jaxbench.leaderboard.mechanisms.ticks import Strata
from oracle import boards
from releasing import given as declared

BITS = ["11110000", "11100000", "01111000", "11000000", "00000110", "00000001"]
TENTHS = [[2, 4, 6, 8], [1, 3, 5, 8], [1, 3, 5, 7], [0, 2, 4, 6], [0, 2, 4, 5]]

jitted = eqx.filter_jit(parameter_free)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def f64(values):
    return jnp.asarray(values, dtype=jnp.float64)


def test_error_bits_of_the_spec():
    losses = f64([[int(bit) for bit in row] for row in BITS])
    assert parameter_free(losses)[0].tolist() == [4, 4, 4, 2, 2, 2]
    assert parameter_free(losses, divisor_n=True)[0].tolist() == [4, 3, 3, 2, 2, 2]


def test_real_losses_of_the_spec():
    released, accepted = parameter_free(f64(TENTHS), 10)
    assert (released / 4).tolist() == [0.5, 0.5, 0.5, 0.25, 0.25]
    # Acceptance need not show.
    assert accepted.tolist() == [True, True, True, True, False]


def cube(den: int, items: int):
    """Two rows of six submissions."""
    row = st.lists(st.integers(0, den), min_size=items, max_size=items)
    rows = st.lists(row, min_size=6, max_size=6)
    return st.lists(rows, min_size=2, max_size=2)


@settings(max_examples=60)
@given(
    case=st.sampled_from([(1, 6), (1, 9), (3, 4), (10, 5), (1, 1)]).flatmap(
        lambda c: st.tuples(st.just(c), cube(*c))
    ),
    divisor_n=st.booleans(),
)
def test_sequences_are_the_oracles(case, divisor_n):
    (den, items), losses = case
    with jax.enable_x64(True):
        released, accepted = jitted(f64(losses), den, divisor_n=divisor_n)
    for row, mine in enumerate(losses):
        exact = [[Fraction(c, den) for c in one] for one in mine]
        expected, taken = boards.parameter_free(exact, divisor_n)
        assert released[row].tolist() == [r * items for r in expected]
        assert accepted[row].tolist() == taken
    assert (np.diff(released) <= 0).all()


@settings(max_examples=100)
@given(repaired=st.integers(0, 400), broken=st.integers(0, 400))
def test_errors_follow_mcnemar(repaired, broken):
    n, a, b = 1000, broken, repaired
    with jax.enable_x64(True):
        found = accepts(f64(b - a), f64(a - b), f64(a + b), f64(n))
    assert bool(found) == (b > a and (b - a) ** 2 > a + b)


@settings(max_examples=200)
@given(data=st.data(), divisor_n=st.booleans())
def test_decisions_are_exact_up_to_the_bound(data, divisor_n):
    """Close calls with sums near 2^53, where products of n with them are past it."""
    n = data.draw(st.integers(2, 10**6))
    largest = int((2**53 - 1) ** 0.5)
    total = -data.draw(st.integers(1, largest))
    gain = data.draw(st.integers(max(1, -total - 50), min(largest, -total + 50)))
    near = data.draw(st.sampled_from([gain * gain, (gain * gain * (n - 1) + total * total) // n]))
    squares = max(0, near + data.draw(st.integers(-2, 2)))
    # In Python's whole numbers, as the module's docstring derives it.
    left = gain * gain * (n if divisor_n else n - 1)
    expected = left > n * squares - total * total
    if squares >= 2**53:
        return
    with jax.enable_x64(True):
        found = accepts(f64(gain), f64(total), f64(squares), f64(n), divisor_n=divisor_n)
    assert bool(found) == expected


def test_one_lone_repaired_item_is_an_equality():
    lone = f64(1), f64(-1), f64(1), f64(8)
    assert not accepts(*lone)
    assert accepts(*lone, divisor_n=True)


def test_the_first_submission_is_accepted_whatever_it_is():
    assert accepts(f64(np.inf), f64(8), f64(8), f64(8))
    assert accepts(f64(np.inf), f64(1), f64(1), f64(1))
    assert not accepts(f64(1), f64(-1), f64(1), f64(1))
    ones = f64([[8.0]])
    assert accepts_weighted(f64([np.inf]), ones, ones, f64([[8.0]]), f64([[1.0]]))


SIZES = (1, 3, 5)


@settings(max_examples=100)
@given(
    differences=st.tuples(*(st.lists(st.integers(-2, 2), min_size=n, max_size=n) for n in SIZES)),
    weights=st.tuples(*(st.integers(1, 4) for _ in SIZES)),
    off=st.integers(-3, 3),
)
def test_weighted_decisions_are_the_oracles(differences, weights, off):
    den = 2
    share = [Fraction(w, sum(weights)) for w in weights]
    parts = [[Fraction(c, den) for c in d] for d in differences]
    # Ticks: a common multiple of what any count is worth.
    ticks = sum(weights) * den * 15
    worth = [ticks * w / (n * den) for w, n in zip(share, SIZES, strict=True)]
    assert all(w.denominator == 1 for w in worth)
    gain = -sum(w * sum(d) for w, d in zip(worth, differences, strict=True)) + off
    expected = boards.accepted_weighted(gain / ticks, parts, share)
    with jax.enable_x64(True):
        found = accepts_weighted(
            f64([int(gain)]),
            f64([[sum(d) for d in differences]]),
            f64([[sum(c * c for c in d) for d in differences]]),
            f64([SIZES]),
            f64([[int(w) for w in worth]]),
        )
    assert bool(found[0]) == expected


def test_one_task_is_the_plain_rule():
    """And its equality is an equality: one lone repaired item of any number."""
    for n in range(2, 60):
        one = f64([[1.0]])
        lone = f64([1.0]), -one, one, f64([[n]]), one
        assert not accepts_weighted(*lone)[0]
        assert accepts_weighted(*lone, divisor_n=True)[0]


def test_rows_do_not_meet():
    rng = np.random.default_rng(1)
    losses = f64(rng.integers(0, 2, (3, 12, 20)))
    together = parameter_free(losses)
    for row in range(3):
        alone = parameter_free(losses[row])
        assert np.array_equal(alone[0], together[0][row])
        assert np.array_equal(alone[1], together[1][row])
    # And what is cut off the end changes nothing before it.
    assert np.array_equal(parameter_free(losses[:, :5])[0], together[0][:, :5])


def items_of(number, den=1, *, ticks=None, mean=True):
    """Ticks of one overall over some items, which are one stratum."""
    per_score = np.array([[ticks or number * den]])
    strata = Strata(np.array([[number]]), (Fraction(1),), den, ((0,),), mean)
    return Ticks(per_score, np.array([[number]]), (Fraction(1),), strata=strata)


def played(chain, losses):
    """Releases of a chain that is given the sums of item losses, in ticks."""
    none = f64([[0.0]])
    noise = tuple(Noise(none, none, none) for _ in chain.parts)
    state, best, found = chain.start(noise), f64(losses[0]) * 0, []
    step = eqx.filter_jit(chain.step)
    for row in f64(losses):
        apart = row - best
        total, squares = jnp.sum(apart), jnp.sum(apart * apart)
        loss = chain.parts[0].per_count[0, 0] * jnp.sum(row)
        sums = (jnp.reshape(x, (1, 1)) for x in (total, squares))
        state, told = step(state, Submission(jnp.reshape(loss, (1, 1)), None, *sums), noise)
        best = row if bool(told.answered[0, 0]) else best
        found.append((float(told.released[0, 0]), bool(told.answered[0, 0])))
    return found


def built(*chosen, ticks):
    return build(chosen, ticks, on="overall", clip=False, capacity=9)


def test_the_mechanism_is_the_rule():
    free = declared("parameter_free")
    bits = [[int(bit) for bit in row] for row in BITS]
    found = played(built(free, ticks=items_of(8)), bits)
    assert [released for released, _ in found] == [4, 4, 4, 2, 2, 2]
    chain = built(free, ticks=items_of(4, 10, ticks=80))
    assert chain.parts[0].plain
    found = played(chain, TENTHS)
    assert found == [(40, True), (40, True), (40, True), (20, True), (20, False)]


def test_a_rounded_overall_is_compared_in_its_own_ticks():
    part = built(declared("parameter_free"), ticks=items_of(8, ticks=100, mean=False)).parts[0]
    assert not part.plain
    assert part.per_count.tolist() == [[12.5]]
    assert part.grid.tolist() == [[0]]


@pytest.mark.parametrize("behind", ["ladder", "shaky_ladder"])
def test_what_remembers_cannot_follow_it(behind):
    other = declared(behind, step="0.125", scale="0.125")
    with pytest.raises(BadRequest, match=f"{behind}: it remembers"):
        built(declared("parameter_free"), other, ticks=items_of(8))


def test_it_comes_first_and_rounding_may_follow():
    free, grid = declared("parameter_free"), declared("rounding", step="0.25")
    found = played(built(free, grid, ticks=items_of(8)), [[1] * 3 + [0] * 5])
    assert found == [(4, True)]
    with pytest.raises(BadRequest, match="first in the chain"):
        built(grid, free, ticks=items_of(8))


def test_it_needs_a_mean_over_items():
    plain = Ticks(np.array([[8]]), np.array([[8]]), (Fraction(1),))
    with pytest.raises(BadRequest, match="weighted mean over items"):
        built(declared("parameter_free"), ticks=plain)
