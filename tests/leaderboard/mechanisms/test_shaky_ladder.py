"""The Shaky Ladder on written draws, against plain Python."""

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from jaxbench.options.choosing import mechanism
from oracle import mechanisms as oracle
from releasing import chain_of, given, in_chain, noise_of, one_number, play, table, written

LOSSES = (50, 45, 55, 41, 40, 35, 34, 25, 26, 15)
G = (0.02, -0.01, 0.01, 0, 0, 0, -0.03, 0.02, 0, 0, 0)
X = (-0.01, 0.03, -0.14, 0.02, -0.05, 0.01, 0.04, -0.02, 0, -0.03)
Z = (0.01, -0.01, 0.02, 0.005, -0.005, 0.01, 0, -0.01, 0.02, 0.03)
ROWS = 12
whole = st.integers(-30, 30)
losses = st.lists(st.integers(0, 100), min_size=ROWS, max_size=ROWS)
noises = st.lists(whole, min_size=ROWS, max_size=ROWS)
caps = st.sampled_from([1, 2, 3, 5, 40])
steps = st.sampled_from(["0", "0.01", "0.05", "0.2"])
FACTOR = 100


def shaky(sequence, noise, *, clip=False, genuine=None, **values):
    """Releases and acceptances in hundredths of a percent; noise is in these too."""
    chain, ticks = chain_of(given("shaky_ladder", **values), clip=clip)
    assert ticks.per_score.tolist() == [[100 * FACTOR]]
    scaled = one_number(sequence) * FACTOR
    feedback = play(chain, scaled, noise=in_chain(written(*noise)), genuine=genuine)
    return feedback.released.ravel(), feedback.answered.ravel()


def in_ticks(*draws):
    return [np.rint(np.array(d) * 100 * FACTOR) for d in draws]


def test_the_specs_sequence():
    found, accepted = shaky(LOSSES, in_ticks(G, X, Z), step="0.05", scale="0.01", cap=4)
    expected = [0.51, 0.51, 0.57, 0.415, *[0.395] * 6]
    np.testing.assert_array_equal(found / (100 * FACTOR), expected)
    assert np.flatnonzero(accepted).tolist() == [0, 2, 3, 4]


def test_the_specs_sequence_made_monotone():
    found, accepted = shaky(
        LOSSES, in_ticks(G, X, Z), step="0.05", scale="0.01", cap=4, monotone=True
    )
    expected = [0.51, 0.51, 0.51, 0.415, *[0.395] * 6]
    np.testing.assert_array_equal(found / (100 * FACTOR), expected)
    # The third was accepted, and nothing of it is seen.
    assert np.flatnonzero(accepted).tolist() == [0, 3, 4]


@examples(losses, noises, noises, noises, whole, caps, steps, st.booleans())
def test_against_whole_numbers(losses, g, x, z, first, cap, step, monotone):
    thresholds = [FACTOR * v for v in (first, *g)]
    comparisons, releases = ([FACTOR * v for v in row] for row in (x, z))
    found, answered = shaky(
        losses, (thresholds, comparisons, releases),
        step=step, scale="0.01", cap=cap, monotone=monotone,
    )  # fmt: skip
    exact = [FACTOR * loss for loss in losses]
    eta = round(float(step) * 100) * FACTOR
    expected, accepted = oracle.shaky(exact, eta, cap, thresholds, comparisons, releases)
    assert sum(accepted) <= cap
    if monotone:
        shown = oracle.lowest(expected)
        assert found.tolist() == shown
        assert (np.diff(found) <= 0).all()
        own = [a and (t == 0 or shown[t] < shown[t - 1]) for t, a in enumerate(accepted)]
        assert answered.tolist() == own
    else:
        assert found.tolist() == expected
        assert answered.tolist() == accepted
    # Behind the last one that is left nothing changes any more.
    if sum(accepted) == cap:
        last = max(t for t, a in enumerate(accepted) if a)
        assert len(set(found[last:].tolist())) == 1


@examples(losses, caps, steps)
def test_without_noise_it_is_the_ladder_that_does_not_round(losses, cap, step):
    chain, ticks = chain_of(given("shaky_ladder", step=step, scale="0", cap=cap))
    factor = ticks.per_score[0, 0] // 100
    found = play(chain, one_number(losses) * factor)
    ladder, _ = chain_of(given("ladder", step=step, round="false"))
    expected = play(ladder, one_number(losses))
    open_ = np.cumsum(expected.answered.ravel()) <= cap
    assert (found.released / factor)[open_].tolist() == expected.released[open_].tolist()
    assert found.answered[open_].tolist() == expected.answered[open_].tolist()
    assert found.answered.sum() == min(cap, expected.answered.sum())


def test_its_noise_is_two_four_and_one_times_b():
    chain, _ = chain_of(given("shaky_ladder", step="0.1", scale="0.01"))
    (shaky,) = chain.parts
    assert shaky.slots == (0, 1, 2)
    uniforms = table(5, shaky.slots, 1)
    (first, rows) = noise_of(shaky, uniforms)
    for part, times in (("threshold", 2), ("comparison", 4), ("release", 1)):
        drawn = [getattr(first, part), *getattr(rows, part)]
        u = uniforms[:, 0, 0, ("threshold", "comparison", "release").index(part)]
        expected = [oracle.laplace(v, times * 0.01 * 10_000) for v in u]
        np.testing.assert_allclose(np.ravel(drawn), expected, rtol=1e-12)


def test_the_cap_is_that_many_releases_in_a_score():
    (chosen,) = mechanism({"name": "shaky_ladder", "step": "0.3", "scale": "0.01"})
    assert chosen["cap"] == 4
    with pytest.raises(BadRequest, match=r"step=0 needs cap"):
        mechanism({"name": "shaky_ladder", "step": 0, "scale": "0.01"})
    # Built from its declaration alone it has the same one.
    chain, _ = chain_of(given("shaky_ladder", step="0.3", scale="0"))
    found = play(chain, one_number([9900, 6800, 3700, 600, 0, 0]))
    assert found.answered.sum() == 4


def test_a_clipped_release_is_a_score_but_the_state_is_not():
    thresholds, none = [0] * 4, [0] * 3
    far = [-6000, 0, 0]
    values = {"step": "0.1", "scale": "0.01", "cap": 3}
    noise = thresholds, none, far
    plain, _ = shaky([50, 40, 30], noise, **values)
    assert plain.tolist() == [-1000] * 3
    found, accepted = shaky([50, 40, 30], noise, clip=True, **values)
    assert found.tolist() == [0] * 3
    assert accepted.tolist() == [True, False, False]


def test_on_a_board_it_starts_from_the_best_genuine_row():
    genuine = np.array([[[6100.0], [4400.0], [5500.0]]])
    none = [0] * 10
    values = {"step": "0.1", "scale": "0.01", "cap": 9}
    found, accepted = shaky(LOSSES, ([0, *none], none, none), genuine=genuine, **values)
    # R_0 = [44] = 40; the first below 30 is 25, and 15 is not below 15.
    assert found.tolist() == [4000] * 7 + [2500] * 3
    assert np.flatnonzero(accepted).tolist() == [7]
    # The first draw of all moves the first comparison.
    moved, _ = shaky(LOSSES, ([600, *none], none, none), genuine=genuine, **values)
    assert moved.tolist() == [4000] * 5 + [3500] * 4 + [1500]


def test_coordinates_count_their_acceptances_alone():
    chain, _ = chain_of(
        given("shaky_ladder", step="0.1", scale="0", cap=2), denominators=(100, 100),
        on="coordinates",
    )  # fmt: skip
    profiles = np.array([(60, 40), (30, 39), (10, 20), (0, 5)], float)[:, None] * FACTOR
    found = play(chain, profiles).released[:, 0] / FACTOR
    assert found.tolist() == [[60, 40], [30, 40], [30, 20], [30, 20]]
