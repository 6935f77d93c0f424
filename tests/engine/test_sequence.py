"""The sequential kernel against plain loops, against the block kernel, and on known facts."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sequences import Game

from jaxbench.engine import channel as channels
from jaxbench.engine import kernel, sequence
from jaxbench.engine.desk import Delay
from jaxbench.engine.development import Development
from jaxbench.engine.plan import LADDER
from jaxbench.engine.submitters import Flip, Rounds, Vote
from jaxbench.leaderboard.mechanisms.frontier_ladder import FrontierLadder
from jaxbench.leaderboard.mechanisms.ladder import GateLadder, Ladder
from jaxbench.leaderboard.mechanisms.noise import Gaussian
from jaxbench.leaderboard.mechanisms.parameter_free import ParameterFree
from jaxbench.leaderboard.mechanisms.thresholdout import Thresholdout
from oracle import submitters as oracle

BUDGETS = [1, 2, 3, 6, 7, 15]
FLIPPED, LENGTH, SHARE = 2, 4, Fraction(1, 8)
GAIN, CHANGE = Fraction(1, 10), Fraction(2, 5)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def f64(value):
    return jnp.asarray(float(value), dtype=jnp.float64)


def mechanism(name, game):
    """The parts of a chain, and what makes the oracle's from a row and an account."""
    ticks, width = game.ticks, len(game.numbers)
    step = ticks // 10
    grid = np.full((1, 1), float(step))
    if name == "none":
        return (), lambda row, account: oracle.Nothing()
    if name == "ladder":
        return (Ladder(grid, grid),), lambda row, account: oracle.Ladder(step)
    if name == "gate":
        weights = np.ones((1, width))
        made = GateLadder(weights, grid * width, grid)
        return (made,), lambda row, account: oracle.Gate(step)
    if name == "frontier":
        return (FrontierLadder(grid, 32),), lambda row, account: oracle.Frontier(step)
    if name == "parameter_free":
        items = game.per_unit("reused", lambda _: 1)
        strata, of = ((0,), (1,)), items / 2.0
        plain = game.by == "aggregate"
        if plain:
            strata, items = ((0, 1),), items.sum(axis=1, keepdims=True)
            of = items * 0.0 + 1.0
        per_count = ticks / (items * game.den) * (1.0 if plain else 0.5)
        rounded = ticks / items if plain else np.zeros((1, 1))
        part = ParameterFree(items * of / of, per_count, rounded, strata, plain)
        return (part,), lambda row, account: oracle.ParameterFree()
    return noisy(name, game)


def noisy(name, game):
    """Mechanisms with the kernel's draws: the oracle is given them."""
    keys, width = game.keys[3], len(game.numbers)
    size = np.full((1, 1), game.ticks / 12)
    if name == "thresholdout":
        part = Thresholdout(size * 1.5, size / 3, np.full((1, 1), 3.0))
    else:
        part = Gaussian(size, persistent=name == "persistent")

    def drawn(row, number):
        uniforms = channels.uniforms(keys, jnp.full((1, 1), number, jnp.uint32), width, part.slots)
        noise = part.noise(uniforms)
        every = (noise.threshold, noise.comparison, noise.release)
        return [tuple(float(x[row, 0, n]) for x in every) for n in range(width)]

    def by_content(row, counts):
        # Which of the items that the endpoints tell apart go to A.
        table, total = game.tables[4][row], np.zeros(2, dtype=np.uint32)
        for count, item in zip(counts, game.items[row], strict=True):
            if item.a != item.b and item.side in ("reused", "heldout") and count == item.a:
                total = total + table[item.prompt]
        content = jnp.broadcast_to(jnp.asarray(total), (game.rows, 1, 2))
        noise = part.noise(channels.content_uniforms(keys, content, width, part.slots))
        return [float(noise.release[row, 0, n]) for n in range(width)]

    def of(row, account):
        if name == "thresholdout":
            first = drawn(row, channels.ACCOUNTS + account if account else 0)
            return oracle.Thresholdout(game.ticks / 8, 3, first, lambda number: drawn(row, number))
        if name == "persistent":
            return oracle.Noisy(lambda number, counts: by_content(row, counts))
        return oracle.Noisy(lambda number, counts: [z for _, _, z in drawn(row, number)])

    return (part,), of


def submitter(name, game):
    """The kernel's submitter, and what makes the oracle's."""
    keys, prompts = game.keys[2], game.prompts
    if name == "flip":
        flip = Flip(jnp.int32(FLIPPED), keys, prompts, game.mask("reused"), game.first_slots())
        return flip, lambda row: oracle.Flip(game.trial(row), game.hints(row), FLIPPED)
    if name == "rounds":
        rounds = Rounds(jnp.int32(LENGTH), f64(SHARE), keys, prompts)
        return rounds, lambda row: oracle.Rounds(game.trial(row), game.hints(row), LENGTH, SHARE)
    if name == "development":
        starts = [game.start(row) for row in range(game.rows)]
        released = [Fraction(3, 4 + row) for row in range(game.rows)]
        answers = game.slots(lambda item: 2 * item.a, np.int32)
        develop = Development(
            f64(GAIN), f64(CHANGE), jnp.int32(game.den), keys, prompts, answers,
            jnp.asarray([float(x) for x in released]), game.mask("heldout"), game.spans,
        )  # fmt: skip
        return develop, lambda row: oracle.Development(
            game.trial(row), game.hints(row), starts[row], released[row], GAIN, CHANGE
        )
    return Vote(name), lambda row: oracle.Vote(game.trial(row), game.hints(row), name)


def attack(game, parts, player, *, aware=True, delay=None, budgets=BUDGETS, block=64, **static):
    answers = isinstance(player, Development)
    found = sequence.attack_in_order(
        game.rows_of(answers=answers),
        None if answers else game.bank,
        jnp.asarray(budgets, dtype=jnp.int32),
        game.rules(aware=aware),
        game.channel(*parts),
        player,
        delay,
        spans=game.spans,
        block=block,
        keep_routes=not answers,
        **static,
    )
    return jax.tree.map(np.asarray, found)


def check(game, mechanism_name, submitter_name, *, wait=0, best=False, aware=True, **static):
    parts, mechanism_of = mechanism(mechanism_name, game)
    player, make = submitter(submitter_name, game)
    delay = Delay(jnp.int32(wait), best) if wait else None
    found = attack(game, parts, player, delay=delay, aware=aware, **static)
    rows = game.rows_of(answers=submitter_name == "development")
    for row in range(game.rows):
        for b, budget in enumerate(BUDGETS):
            expected = oracle.play(
                game.trial(row), make(row), game.hints(row),
                lambda account, row=row: mechanism_of(row, account), budget,
                history=game.histories[row], wait=wait or 1, best=best, aware=aware, **static,
            )  # fmt: skip
            told = f"row {row}, budget {budget}"
            for side, name in enumerate(("reused", "heldout")):
                contrasts = getattr(found, name)[b, row]
                counts = (np.asarray(rows.sums)[row, side] + contrasts) / 2
                assert counts.tolist() == expected["counts"][name], told
            for name in ("best_reused", "best_heldout", "gap"):
                assert getattr(found, name)[b, row] == pytest.approx(float(expected[name])), told
            if expected["to_a"] is not None:
                places = [
                    j
                    for (start, _), n in zip(game.spans, (8, 7), strict=True)
                    for j in range(start, start + n)
                ]
                assert found.routes[b, row][places].tolist() == expected["to_a"], told
            for name, value in expected["team"].items():
                if value is not None:
                    mine = float(getattr(found.team, name)[b, row])
                    assert mine == pytest.approx(float(value), abs=1e-12), f"{told}: {name}"


SUBMITTERS = ["linear", "sign", "majority", "flip", "rounds", "development"]
COMMON = ["none", "ladder", "gate", "frontier", "gaussian"]


@pytest.mark.parametrize("name", COMMON)
@pytest.mark.parametrize("player", SUBMITTERS)
def test_every_submitter_is_the_oracles(player, name):
    for seed in (1, 2):
        check(Game(seed=seed), name, player)


@pytest.mark.parametrize("player", SUBMITTERS)
def test_thresholdout_reads_two_parts(player):
    check(Game(mode="parts", seed=3), "thresholdout", player)


@pytest.mark.parametrize("by", ["aggregate", "mean"])
@pytest.mark.parametrize("player", SUBMITTERS)
def test_the_parameter_free_ladder_looks_at_items(player, by):
    for seed in (4, 5):
        check(Game(by=by, den=2 if by == "mean" else 1, seed=seed), "parameter_free", player)


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("player", ["linear", "majority", "flip", "rounds", "development"])
def test_late_feedback(player, best):
    for seed, name in ((6, "none"), (7, "frontier")):
        for wait in (1, 3):
            check(Game(seed=seed), name, player, wait=wait, best=best)


@pytest.mark.parametrize("player", ["linear", "flip", "rounds", "development"])
def test_accounts_have_a_state_and_a_row_each(player):
    check(Game(seed=8), "ladder", player, accounts=3)
    check(Game(mode="parts", seed=9), "thresholdout", player, accounts=2)
    check(Game(by="aggregate", den=1, seed=9), "parameter_free", player, accounts=2)


@pytest.mark.parametrize("player", ["linear", "flip", "development"])
def test_final_entries_are_ranked_on_the_private_part(player):
    check(Game(mode="private", seed=10), "none", player, finals=2)
    check(Game(mode="private", seed=11), "ladder", player, finals=2, accounts=2)


@pytest.mark.parametrize("player", ["linear", "flip", "rounds"])
def test_the_naive_takes_every_number_for_its_own(player):
    check(Game(seed=12), "ladder", player, aware=False)
    check(Game(mode="parts", seed=12), "thresholdout", player, aware=False)


@pytest.mark.parametrize("player", ["linear", "flip"])
def test_the_same_submission_gets_the_same_noise(player):
    check(Game(seed=13), "persistent", player)


def test_without_a_mechanism_the_vote_is_the_block_kernels():
    for by in ("unit", "aggregate", "mean"):
        game = Game(by=by, seed=14, rows=6)
        budgets = [1, 2, 5, 64, 65, 66, 200]
        mine = attack(game, (), Vote(), budgets=budgets)
        rows, rules = game.rows_of(), game.rules()
        released = [
            game.release("reused").chain(game.per_unit("reused", of).astype(float)[:, None])[:, 0]
            for of in (lambda i: i.a, lambda i: i.b)
        ]
        theirs = kernel.attack_rows(
            kernel.Rows(
                rows.differences[:, :1], rows.differences[:, 1:], rows.sums[:, :1],
                rows.sums[:, 1:], rows.best_reused[:, None], rows.best_heldout[:, None],
                rows.gap[:, None], (rows.static,), (jnp.asarray(released[0] + released[1]),),
            ),
            game.bank,
            jnp.asarray(budgets, dtype=jnp.int32),
            kernel.Rules(rules.releases, rules.overalls[:1], rules.overalls[1:], (0,)),
            sizes=tuple(b - a for a, b in game.spans),
            arithmetic=LADDER[2],
            block=64,
            keep_routes=True,
        )  # fmt: skip
        for name in ("reused", "heldout", "best_reused", "best_heldout", "gap", "routes"):
            other = np.squeeze(np.asarray(getattr(theirs, name)), axis=2)
            np.testing.assert_array_equal(getattr(mine, name), other)
