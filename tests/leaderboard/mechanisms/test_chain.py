"""Mechanisms one after the other."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbench.leaderboard.mechanisms import Submission
from jaxbench.leaderboard.mechanisms.base import no_noise
from jaxbench.leaderboard.mechanisms.chain import MechanismChain
from jaxbench.leaderboard.mechanisms.ranks import Rank, RankAll
from jaxbench.leaderboard.mechanisms.top_k import TopK, smallest
from oracle import boards
from oracle import mechanisms as oracle
from releasing import chain_of, given, in_chain, noise_of, one_number, play, table, written

SEQUENCE = (50, 45, 55, 41, 40, 35, 34, 25, 26, 15)
NONE = [0] * 10


def f64(values):
    with jax.enable_x64(True):
        return jnp.asarray(values, dtype=jnp.float64)


def test_without_parts_every_loss_is_released():
    chain = MechanismChain(())
    assert chain.stateless
    assert (chain.slots, chain.team_row) == ((), "own")
    feedback = play(chain, one_number(SEQUENCE))
    assert feedback.released.ravel().tolist() == list(SEQUENCE)
    assert feedback.visible.all()
    assert feedback.answered.all()


def test_parts_act_left_to_right():
    first, _ = chain_of(given("rounding", step="0.1"), given("ladder", step="0.03"))
    found = play(first, one_number(SEQUENCE)).released.ravel()
    # 50 40 60 40 40 40 30 20 30 20 after rounding.
    on_grid = [oracle.to_grid(x, 10) for x in SEQUENCE]
    assert found.tolist() == oracle.ladder(on_grid, 3, 3)[0]
    other, _ = chain_of(given("ladder", step="0.03"), given("rounding", step="0.1"))
    found = play(other, one_number(SEQUENCE)).released.ravel()
    steps = oracle.ladder(SEQUENCE, 3, 3)[0]
    assert found.tolist() == [oracle.to_grid(x, 10) for x in steps]


def test_noise_then_rounding():
    chain, ticks = chain_of(given("laplace", scale="0.01"), given("rounding", step="0.1"))
    factor = int(ticks.per_score[0, 0]) // 100
    z = [6, -6, 0, 4, 0, 0, 1, 0.5, -1.5, -11]
    drawn = written([0, *NONE], NONE, np.array(z) * factor)
    noise = in_chain(drawn, written([0, *NONE], NONE, NONE))
    found = play(chain, one_number(SEQUENCE) * factor, noise=noise).released.ravel()
    exact = [(Fraction(x) + Fraction(e)) * factor for x, e in zip(SEQUENCE, z, strict=True)]
    assert found.tolist() == [oracle.to_grid(x, 10 * factor) for x in exact]


@pytest.mark.parametrize(("clip", "expected"), [(True, [90, 0]), (False, [120, -30])])
def test_clipping_comes_behind_the_noise_and_before_rounding(clip, expected):
    chain, ticks = chain_of(
        given("laplace", scale="0.01"), given("rounding", step="0.3"), clip=clip
    )
    factor = ticks.per_score[0, 0] // 100
    noise = in_chain(
        written([0, 0, 0], [0, 0], np.array([30, -30]) * factor), written([0, 0, 0], [0, 0], [0, 0])
    )
    found = play(chain, one_number([95, 5]) * factor, noise=noise).released.ravel()
    assert (found / factor).tolist() == expected


def test_slots_and_draws_go_to_their_parts():
    chain, _ = chain_of(
        given("rounding", step="0.1"), given("gaussian", sd="0.01"),
        given("shaky_ladder", step="0.1", scale="0.02"),
    )  # fmt: skip
    assert chain.slots == (5, 6, 7, 8)
    uniforms = table(3, chain.slots, 2)
    _, (rounding, gaussian, shaky) = noise_of(chain, uniforms)
    assert not np.asarray(rounding.release).any()
    for part, noise, mine in ((1, gaussian, uniforms[..., :1]), (2, shaky, uniforms[..., 1:])):
        _, alone = noise_of(chain.parts[part], mine)
        assert np.array_equal(noise.release, alone.release)
        assert np.array_equal(noise.comparison, alone.comparison)


@pytest.mark.parametrize(
    ("names", "stateless", "row"),
    [
        (["rounding"], True, "own"),
        (["rounding", "ladder"], False, "last"),
        (["ladder", "rounding"], False, "last"),
        (["ladder", "visibility"], False, "best"),
        (["rounding", "visibility"], True, "best"),
    ],
)
def test_what_a_chain_is(names, stateless, row):
    values = {"visibility": {"to": "submitter"}}
    chain, _ = chain_of(*(given(name, **values.get(name, {"step": "0.1"})) for name in names))
    assert (chain.stateless, chain.team_row) == (stateless, row)


def test_releases_are_whole_ticks_halves_to_even():
    chain, ticks = chain_of(given("laplace", scale="0.01"))
    halves = [0.5, 1.5, 2.5, -0.5, 0.25, 0.75, -1.5, 0, 0, 0]
    noise = in_chain(written([0, *NONE], NONE, halves))
    found = play(chain, one_number([100] * 10), noise=noise).released.ravel()
    assert found.tolist() == [100, 102, 102, 100, 100, 101, 98, 100, 100, 100]
    assert ticks.per_score.tolist() == [[10_000]]


def stopped(*behind, clip):
    """Thresholdout that stops after its first answer, and what stands behind it."""
    chain, ticks = chain_of(
        given("thresholdout", threshold="0", scale="0.01", answers=1), *behind, clip=clip
    )
    factor = ticks.per_score[0, 0] // 100
    noise = in_chain(*[written([0, *NONE], NONE, NONE)] * len(chain.parts))
    public = one_number([50, 45, 60, *[10] * 7])
    held = one_number([50, 45, 55, *[10] * 7])
    return play(chain, held * factor, public=public * factor, noise=noise)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize(
    "behind",
    [[], [("rounding", {"step": "0.1"})], [("laplace", {"scale": "0.01"})],
     [("gaussian", {"sd": "0.01"}), ("rounding", {"step": "0.1", "mode": "floor"})],
     [("visibility", {"to": "everyone"})]],
)  # fmt: skip
def test_what_is_hidden_is_never_finite(behind, clip):
    feedback = stopped(*(given(name, **values) for name, values in behind), clip=clip)
    assert feedback.visible.ravel().tolist() == [True] * 3 + [False] * 7
    assert np.isfinite(feedback.released[:3]).all()
    assert np.isposinf(feedback.released[3:]).all()
    assert not feedback.answered[3:].any()


@pytest.mark.parametrize("clip", [False, True])
def test_what_is_hidden_takes_no_place_on_a_board(clip):
    """Clipped noise makes a number of what is hidden, which a board of all would keep."""
    stop, ticks = chain_of(
        given("thresholdout", threshold="0", scale="0.01", answers=1),
        given("laplace", scale="0.01"), clip=clip,
    )  # fmt: skip
    everyone = RankAll(f64([[40.0]]), 4)
    chain = MechanismChain((*stop.parts, everyone))
    with jax.enable_x64(True):
        none = (no_noise(f64([[0.0]])),) * 3
        state = chain.start(none)
        for _ in range(3):
            state, feedback = chain.step(state, Submission(f64([[70.0]]), f64([[10.0]])), none)
    assert not feedback.visible.any()
    assert ticks.per_score.tolist() == [[10_000]]
    assert state[-1].losses.tolist() == [[70, np.inf, np.inf, np.inf]]


def test_a_board_starts_from_its_rows_as_stateless_parts_release_them():
    chain, _ = chain_of(
        given("rounding", step="0.1"), given("ladder", step="0", round="false"),
        given("visibility", to="everyone"),
    )  # fmt: skip
    genuine = [[[44.0], [61.0]]]
    feedback = play(chain, one_number(SEQUENCE), genuine=genuine)
    # R_0 = 40, which only 30 and 20 beat.
    assert feedback.released.ravel().tolist() == [40] * 6 + [30, 20, 20, 20]
    # R_0 is the board's; what a team sees of it first counts as its own to itself alone.
    assert np.flatnonzero(feedback.answered.ravel()).tolist() == [6, 7]


@pytest.mark.parametrize("kind", ["top", "all", "genuine"])
def test_a_board_of_places_stands_behind_a_ladder_of_the_whole_board(kind):
    genuine = np.array([[[30.0], [40.0], [40.0], [55.0], [60.0]]])
    losses = [45, 25, 58, 24, 20, 40]
    pool = f64(np.sort(genuine[..., 0]))
    last = {"top": TopK(smallest(pool, 3)), "all": RankAll(pool, 6), "genuine": Rank(pool)}[kind]
    ladder, _ = chain_of(given("ladder", step="0"))
    chain = MechanismChain((*ladder.parts, last))
    feedback = play(chain, one_number(losses), genuine=genuine)
    released = oracle.ladder(losses, 0, 0, best=30)[0]
    models = genuine[0, :, 0].tolist()
    if kind == "top":
        seen = boards.top_k(models, released, 3)
        assert feedback.visible.ravel().tolist() == [s is not None for s in seen]
        assert feedback.released.ravel().tolist() == [np.inf if s is None else s[0] for s in seen]
    else:
        rule = boards.rank_all if kind == "all" else boards.rank
        assert feedback.released.ravel().tolist() == rule(models, released)
