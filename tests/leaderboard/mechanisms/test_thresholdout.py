"""Thresholdout on written draws, against plain Python."""

from fractions import Fraction
from math import inf

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from jaxbench.leaderboard.mechanisms import Submission
from oracle import mechanisms as oracle
from releasing import chain_of, given, in_chain, noise_of, one_number, play, table, written

PUBLIC = (50, 46, 40, 52, 44, 48, 50, 39)
HELD = (52, 45, 55, 50, 30, 49, 62, 20)
G = (0.01, 0, 0, -0.02, 0, 0.005, 0, 0, 0)
X = (0, 0.02, -0.01, -0.07, 0.03, 0.01, 0.02, 0)
Z = (0.01, 0, -0.02, 0.01, 0.015, 0, -0.01, 0.01)
STOP = None
FACTOR, ROWS = 100, 12
losses = st.lists(st.integers(0, 100), min_size=ROWS, max_size=ROWS)
noises = st.lists(st.integers(-30, 30), min_size=ROWS, max_size=ROWS)


def thresholdout(public, held, noise, *, clip=False, **values):
    """What is released in hundredths of a percent, None where nothing is; and what was asked."""
    chain, ticks = chain_of(given("thresholdout", scale="0.01", **values), clip=clip)
    assert ticks.per_score.tolist() == [[100 * FACTOR]]
    feedback = play(
        chain, one_number(held) * FACTOR, public=one_number(public) * FACTOR,
        noise=in_chain(written(*noise)),
    )  # fmt: skip
    released, visible = feedback.released.ravel(), feedback.visible.ravel()
    assert np.isfinite(released[visible]).all()
    assert np.isposinf(released[~visible]).all()
    found = [x if seen else STOP for x, seen in zip(released.tolist(), visible, strict=True)]
    return found, feedback.answered.ravel().tolist()


def in_ticks(*draws):
    return [np.rint(np.array(d) * 100 * FACTOR) for d in draws]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (2, [5000, 4600, 5300, 5100, STOP, STOP, STOP, STOP]),
        (3, [5000, 4600, 5300, 5100, 3150, STOP, STOP, STOP]),
    ],
)
def test_the_specs_sequence(answers, expected):
    found, asked = thresholdout(PUBLIC, HELD, in_ticks(G, X, Z), threshold="0.06", answers=answers)
    assert found == expected
    assert np.flatnonzero(asked).tolist() == [2, 3, 4][:answers]


@examples(
    losses, losses, noises, noises, noises, st.integers(-30, 30),
    st.sampled_from([None, 1, 2, 5]), st.sampled_from(["0", "0.05", "0.2"]),
)  # fmt: skip
def test_against_whole_numbers(public, held, g, x, z, first, answers, threshold):
    draws = [[FACTOR * v for v in row] for row in ((first, *g), x, z)]
    found, asked = thresholdout(public, held, draws, threshold=threshold, answers=answers)
    expected, holdout = oracle.thresholdout(
        [FACTOR * a for a in public], [FACTOR * h for h in held],
        Fraction(threshold) * 100 * FACTOR, inf if answers is None else answers, *draws,
    )  # fmt: skip
    assert found == expected
    assert asked == holdout
    if answers is None:
        assert STOP not in found
    else:
        assert sum(asked) <= answers
    # Where the rest is not asked nothing depends on it.
    assert all(
        f in (FACTOR * a, STOP) for f, a, own in zip(found, public, asked, strict=True) if not own
    )


@pytest.mark.parametrize(
    ("rule", "draw", "times"),
    [
        ("laplace", oracle.laplace, (2, 4, 1)),
        ("science", oracle.normal, (2, 4, 1)),
        # The threshold is not redrawn; what moves it is fresh for every submission.
        ("supplement", oracle.normal, (0, 1, 1)),
    ],
)
def test_the_three_noise_rules(rule, draw, times):
    chain, _ = chain_of(given("thresholdout", threshold="0.06", scale="0.02", noise=rule))
    (part,) = chain.parts
    assert part.slots == (0, 1, 2)
    uniforms = table(5, part.slots, 1)
    first, rows = noise_of(part, uniforms)
    for slot, (name, size) in enumerate(
        zip(("threshold", "comparison", "release"), times, strict=True)
    ):
        drawn = np.ravel([getattr(first, name), *getattr(rows, name)])
        expected = [draw(u, size * 200.0) for u in uniforms[:, 0, 0, slot]]
        np.testing.assert_allclose(drawn, expected, rtol=1e-9, atol=1e-12)


def test_only_an_answer_is_clipped():
    noise = [0] * 4, [0] * 3, [20_000, -20_000, 20_000]
    values = {"threshold": "0.06", "answers": 5}
    found, _ = thresholdout([50, 50, 50], [90, 10, 52], noise, clip=True, **values)
    assert found == [100 * FACTOR, 0, 50 * FACTOR]
    found, _ = thresholdout([50, 50, 50], [90, 10, 52], noise, **values)
    assert found == [29_000, -19_000, 50 * FACTOR]


def test_a_difference_equal_to_the_threshold_passes():
    none = [0] * 3
    found, asked = thresholdout([50, 50, 50], [56, 44, 57], ([0, *none], none, none),
                                threshold="0.06")  # fmt: skip
    assert asked == [False, False, True]
    assert found == [5000, 5000, 5700]


def test_it_needs_a_public_part():
    chain, _ = chain_of(given("thresholdout", threshold="0.06", scale="0.01"))
    with jax.enable_x64(True):
        first, row = noise_of(chain, table(1, chain.slots, 1))
        row = jax.tree.map(lambda x: x[0], row)
        with pytest.raises(ValueError, match="needs losses on a public part"):
            chain.step(chain.start(first), Submission(jnp.zeros((1, 1))), row)
