"""The sequential kernel against plain loops, against the block kernel, and on known facts."""

from fractions import Fraction
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbench import attacker
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.scoring import Overall
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine import channel as channels
from jaxbench.engine import kernel, sequence
from jaxbench.engine.desk import Delay
from jaxbench.engine.development import Development
from jaxbench.engine.plan import LADDER
from jaxbench.engine.submitters import Flip, Rounds, Vote
from jaxbench.leaderboard import Release
from jaxbench.leaderboard.mechanisms.chain import MechanismChain
from jaxbench.leaderboard.mechanisms.frontier_ladder import FrontierLadder
from jaxbench.leaderboard.mechanisms.ladder import GateLadder, Ladder
from jaxbench.leaderboard.mechanisms.noise import Gaussian
from jaxbench.leaderboard.mechanisms.parameter_free import ParameterFree
from jaxbench.leaderboard.mechanisms.thresholdout import Thresholdout
from oracle import submitters as oracle
from sequences import LONGEST, Game

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
        strata = ((0,), (1,))
        plain = game.by == "aggregate"
        if plain:
            strata, items = ((0, 1),), items.sum(axis=1, keepdims=True)
        per_count = ticks / (items * game.den) * (1.0 if plain else 0.5)
        rounded = ticks / items if plain else np.zeros((1, 1))
        part = ParameterFree(items * 1.0, per_count, rounded, strata, plain)
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

    starts = [channels.ACCOUNTS + account for account in range(4)]
    numbers = jnp.asarray([[*range(LONGEST), *starts]], dtype=jnp.uint32)
    noise = part.noise(channels.uniforms(keys, numbers, width, part.slots))
    every = [np.asarray(x) for x in (noise.threshold, noise.comparison, noise.release)]

    def drawn(row, number):
        return [tuple(float(x[row, number, n]) for x in every) for n in range(width)]

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
            first = drawn(row, LONGEST + account if account else 0)
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


def attack(
    game, parts, player, *, aware=True, delay=None, budgets=BUDGETS, block=64, bank=None, **static
):
    answers = isinstance(player, Development)
    found = sequence.attack_in_order(
        game.rows_of(answers=answers),
        None if answers else bank or game.bank,
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
                assert found.routes[b, row][game.places].tolist() == expected["to_a"], told
            for name, value in expected["team"].items():
                if value is not None:
                    mine = float(getattr(found.team, name)[b, row])
                    assert mine == pytest.approx(float(value), abs=1e-12), f"{told}: {name}"


SUBMITTERS = ["linear", "sign", "majority", "flip", "rounds", "development"]
ADAPTIVE = ["linear", "flip", "rounds", "development"]
COMMON = ["none", "ladder", "gate", "frontier", "gaussian"]


def grid(names, fast, *axes):
    """All combinations; those that are not among the fast ones take long together."""
    every = [
        pytest.param(*case, marks=() if case in fast else pytest.mark.wide)
        for case in product(*axes)
    ]
    assert set(fast) <= set(product(*axes))
    return pytest.mark.parametrize(names, every)


@grid(
    "player, name",
    [("linear", "gaussian"), ("sign", "none"), ("majority", "ladder"), ("flip", "ladder"),
     ("rounds", "gate"), ("development", "frontier")],
    SUBMITTERS, COMMON,
)  # fmt: skip
def test_every_submitter_is_the_oracles(player, name):
    for seed in (1, 2):
        check(Game(seed=seed), name, player)


@grid("player,", [("linear",), ("flip",)], SUBMITTERS)
def test_thresholdout_reads_two_parts(player):
    check(Game(mode="parts", seed=3), "thresholdout", player)


@grid("player, by", [("flip", "aggregate"), ("linear", "mean")], SUBMITTERS, ["aggregate", "mean"])
def test_the_parameter_free_ladder_looks_at_items(player, by):
    for seed in (4, 5):
        check(Game(by=by, den=2 if by == "mean" else 1, seed=seed), "parameter_free", player)


@grid("player, best", [("rounds", False), ("flip", True)], ["majority", *ADAPTIVE], [False, True])
def test_late_feedback(player, best):
    for seed, name in ((6, "none"), (7, "frontier")):
        for wait in (1, 3):
            check(Game(seed=seed), name, player, wait=wait, best=best)


@grid("player,", [("flip",)], ADAPTIVE)
def test_accounts_have_a_state_and_a_row_each(player):
    check(Game(seed=8), "ladder", player, accounts=3)
    check(Game(mode="parts", seed=9), "thresholdout", player, accounts=2)
    check(Game(by="aggregate", den=1, seed=9), "parameter_free", player, accounts=2)


@grid("player,", [("linear",)], ["linear", "flip", "development"])
def test_final_entries_are_ranked_on_the_private_part(player):
    check(Game(mode="private", seed=10), "none", player, finals=2)
    check(Game(mode="private", seed=11), "ladder", player, finals=2, accounts=2)


@grid("player,", [("linear",)], ["linear", "flip", "rounds"])
def test_the_naive_takes_every_number_for_its_own(player):
    check(Game(seed=12), "ladder", player, aware=False)
    check(Game(mode="parts", seed=12), "thresholdout", player, aware=False)


@grid("player,", [("flip",)], ["linear", "flip"])
def test_the_same_submission_gets_the_same_noise(player):
    check(Game(seed=13), "persistent", player)


@pytest.mark.parametrize("kind", ["linear", "sign", "majority"])
def test_without_a_mechanism_the_vote_is_the_block_kernels(kind):
    for by in ("unit", "aggregate", "mean"):
        game = Game(by=by, seed=14, rows=6)
        budgets = [1, 2, 5, 64, 65, 66, 200]
        mine = attack(game, (), Vote(kind), budgets=budgets)
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
                (None,),
            ),
            game.bank,
            jnp.asarray(budgets, dtype=jnp.int32),
            kernel.Rules(
                rules.releases, rules.overalls[:1], rules.overalls[1:], (None,), view_of=(0,),
                decoders=("aware",), submitter=kind,
            ),
            sizes=tuple(b - a for a, b in game.spans),
            arithmetic=LADDER[2],
            block=64,
            keep_routes=True,
        )  # fmt: skip
        for name in ("reused", "heldout", "best_reused", "best_heldout", "gap", "routes"):
            other = np.squeeze(np.asarray(getattr(theirs, name)), axis=2)
            np.testing.assert_array_equal(getattr(mine, name), other)


def test_padding_rows_and_blocks_change_nothing():
    budgets = [1, 5, 60, 90]
    for name, player in (("ladder", "flip"), ("persistent", "rounds")):
        results = []
        for game in (Game(seed=15), Game(seed=15, padding=5), Game(seed=15, rows=2)):
            parts, _ = mechanism(name, game)
            results.append(attack(game, parts, submitter(player, game)[0], budgets=budgets))
        whole, padded, fewer = (r._replace(routes=None) for r in results)
        jax.tree.map(np.testing.assert_array_equal, whole, padded)
        jax.tree.map(lambda x, y: np.testing.assert_array_equal(x[:, :2], y), whole, fewer)
    game = Game(seed=16)
    shared = attacker.SharedBank(
        jnp.asarray(np.random.default_rng(0).choice([-1, 1], (15, 128)).astype(np.int8)),
        jnp.ones(15, dtype=jnp.int8),
    )
    found = [
        attack(game, (), Vote(), budgets=budgets, bank=shared, block=block) for block in (16, 128)
    ]
    for other in found[1:]:
        jax.tree.map(np.testing.assert_array_equal, found[0], other)


def test_parameters_are_data():
    game = Game(seed=17)
    keys, prompts = game.keys[2], game.prompts
    mask, first = game.mask("reused"), game.first_slots()
    parts, _ = mechanism("ladder", game)
    develop, _ = submitter("development", game)

    def run_all(items, length, share, gain, change, batch, budgets):
        delay = Delay(jnp.int32(batch))
        flip = Flip(jnp.int32(items), keys, prompts, mask, first)
        rounds = Rounds(jnp.int32(length), f64(share), keys, prompts)
        other = eqx.tree_at(lambda d: (d.gain, d.change), develop, (f64(gain), f64(change)))
        for one in (flip, rounds, other):
            attack(game, parts, one, delay=delay, budgets=budgets)

    run_all(1, 4, 0.125, 0.1, 0.4, 1, [1, 4, 9])
    before = sequence.attack_in_order._cache_size()
    for items in (2, 3, 40):
        run_all(items, 2 + items, 0.5 / items, 0.01 * items, 0.02 * items, items, [2, 3, 5 * items])
    assert sequence.attack_in_order._cache_size() == before


def flips(parts, items, *, slots=1000, rows=20, budget=2000):
    """Item error after flips of balanced items, per row."""
    rng = np.random.default_rng(0)
    apart = rng.choice([-1, 1], (rows, slots)).astype(np.int32)
    counted = np.array([[slots]])
    start = Chain.start(counted).sums([range(1)])
    overall = Overall.of(start, [Fraction(1)], total=True).bare()
    keys = trial_keys(1, (Stream.ROUTER, Stream.TIE, Stream.SUBMITTER, Stream.MECHANISM),
                      np.arange(rows))  # fmt: skip
    prompts = jnp.broadcast_to(jnp.arange(slots, dtype=jnp.uint32), (rows, slots))
    every, zero = jnp.ones((rows, slots), dtype=bool), jnp.zeros(rows, dtype=jnp.float64)
    one = jnp.ones((rows, 1), dtype=jnp.float64)
    found = sequence.attack_in_order(
        sequence.Rows(
            jnp.asarray(np.stack([apart, 0 * apart], axis=1)),
            jnp.full((rows, 2, 1), float(slots), dtype=jnp.float64), zero, zero, zero, 0 * one,
        ),
        attacker.FreshBank(keys[0], keys[1], prompts),
        jnp.asarray([budget], dtype=jnp.int32),
        sequence.Rules(
            (Release(start.bare(), ((0,),), plain=True, linear=True),), (overall,) * 2,
            jnp.array(True),
        ),
        channels.Channel(
            MechanismChain(parts), keys[3], one * slots, one, one / slots, one * slots
        ),
        Flip(jnp.int32(items), keys[2], prompts, every, every),
        spans=((0, slots),),
        block=64,
    )  # fmt: skip
    return 0.5 - np.asarray(found.reused)[0, :, 0] / (2 * slots)


def test_flips_of_one_item_beat_a_ladder_without_a_step():
    """About .069 (spec of the mechanisms); a trial's error has a standard deviation of .008."""
    none = np.zeros((1, 1))
    assert flips((Ladder(none, none),), 1).mean() == pytest.approx(0.069, abs=0.006)


def test_flips_of_two_items_beat_the_parameter_free_ladder():
    """About .166; standard deviation of a trial .013."""
    one = np.ones((1, 1))
    part = ParameterFree(1000 * one, one, one, ((0,),), True)
    assert flips((part,), 2).mean() == pytest.approx(0.166, abs=0.010)


def test_what_a_mechanism_needs_is_asked_for():
    game = Game(by="aggregate", den=1, seed=18)
    parts, _ = mechanism("parameter_free", game)
    step = np.ones((1, 1))
    with pytest.raises(ValueError, match="only be followed by stateless"):
        attack(game, (*parts, Ladder(step, step)), Vote())
    channel = game.channel(*parts)
    line = channels.start(channel)
    entry = channels.Entry(channel.reference, channel.reference[:, 0], channel.reference[:, 0])
    with pytest.raises(ValueError, match="comes without sums"):
        channels.submit(channel, line, entry, jnp.int32(1))
