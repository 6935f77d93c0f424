"""Mechanisms for some trials: built from what was asked for, and what genuine rows get of them.

This is the evaluator's half of a channel. Genuine models are teams of one submission each, so that
what is released of them, and with it the endpoints and the board, goes through the mechanism too.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int, UInt32

from jaxbench import attacker, leaderboard
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.units import Units
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine.channel import uniforms
from jaxbench.engine.conditions import Condition
from jaxbench.engine.numbers import noise_margin, ticks_of
from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms import Mechanism, Submission
from jaxbench.leaderboard.mechanisms.boards import ranked_part
from jaxbench.leaderboard.mechanisms.build import build
from jaxbench.leaderboard.mechanisms.chain import MechanismChain
from jaxbench.leaderboard.mechanisms.ticks import Ticks

# Numbers of draws for genuine rows: behind those of all submissions.
GENUINE, GENUINE_START = 2**31, 2**31 + 2**30
# The loss of a row that the board does not show: behind every loss that it shows.
NOT_SHOWN = 2.0**40


@dataclass(frozen=True)
class Read:
    """What a mechanism looks at: items of the reused side, and the genuine rows on them.

    `counts` are those of the genuine rows per unit.
    """

    items: Bool[np.ndarray, "trials items"]
    release: leaderboard.Release
    counts: Float64[np.ndarray, "trials models units"]

    def losses(
        self, per_score: Int[np.ndarray, "#trials numbers"]
    ) -> Float64[np.ndarray, "trials models numbers"]:
        """True losses of the genuine rows, in ticks."""
        of = np.asarray(self.release.chain.denominators, dtype=np.int64)
        return (of[:, None, :] - self.release.chain(self.counts)) * (per_score // of)[:, None, :]


@dataclass(frozen=True)
class Channelled:
    """A mechanism for some trials of one condition, with the genuine rows.

    `reads` is what it looks at; `released` are the genuine rows' losses (or ranks) as the board
    has them, `shown` which rows are there at all, `overall` their released overall. `known` are
    those of a row that is not shown too: who sees all task scores knows its loss. `bound` is the
    largest weight that a candidate can get.
    """

    reads: tuple[Read, ...]
    ticks: Ticks
    mechanism: MechanismChain
    shares: Float64[np.ndarray, "#trials numbers"]
    keys: UInt32[np.ndarray, "trials 2"]
    true: Float64[np.ndarray, "trials models numbers"]
    released: Float64[np.ndarray, "trials models numbers"]
    known: Float64[np.ndarray, "trials models numbers"]
    shown: Bool[np.ndarray, "trials models"]
    overall: Float64[np.ndarray, "trials models"]
    bound: float
    from_board: bool

    def channel(
        self, here: Int[np.ndarray, " rows"], pair: Int[np.ndarray, "rows 2"]
    ) -> dict[str, Any]:
        """The fields of a `Channel` for some of the trials, but for the mechanism, in numpy."""
        rows = len(here)

        def wide(x: np.ndarray) -> np.ndarray:
            return np.broadcast_to(x, (len(self.keys), x.shape[1]))[here]

        fields = {
            "keys": self.keys[here],
            "shares": wide(self.shares),
            "reference": self.known[here[:, None], pair].sum(axis=1).reshape(rows, -1),
            "genuine": self.true[here] if self.from_board else None,
            "so_far": self._so_far()[here] if self.from_board else None,
        }
        for name, read in zip(("", "public_"), self.reads, strict=False):
            of = np.asarray(read.release.chain.denominators, dtype=np.int64)
            fields[f"{name}denominators"] = wide(of.astype(np.float64))
            fields[f"{name}factor"] = wide((self.ticks.per_score // of).astype(np.float64))
        return fields

    def _so_far(self) -> Float64[np.ndarray, "trials 2"]:
        """The smallest true and the smallest released overall loss of the genuine rows.

        What repeats its last release shows that with every submission, and needs no first one.
        """
        best = (self.true * self.shares[:, None, :]).sum(axis=2).min(axis=1)
        repeats = self.mechanism.team_row == "last"
        shown = np.full_like(best, np.inf) if repeats else self.overall.min(axis=1)
        return np.stack([best, shown], axis=1)

    def profiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Released numbers as scores, in ticks: numerators per model, denominators."""
        per_score = self.ticks.per_score
        numerators = per_score[:, None, :] - np.rint(self.released).astype(np.int64)
        return np.where(self.shown[:, :, None], numerators, 0), per_score


def channelled(
    benchmark: Benchmark,
    units: Units,
    condition: Condition,
    release: leaderboard.Release,
    reads: tuple[Read, ...],
    *,
    counted: Int[np.ndarray, "#trials units"],
    trials: Int[np.ndarray, " trials"],
    rule: str,
    seed: int,
    capacity: int,
) -> Channelled:
    """Build a condition's mechanism for some trials and pass the genuine rows through it.

    **Arguments:** `release`: of the numbers that it acts on, on the reused side; `reads`: what it
    looks at, that side itself or, where a mechanism compares two parts, the rest and the public
    one; `counted`: what units are counted out of on the reused side; `rule`: the scoring rule;
    `capacity`: submissions of a trial at most.

    **Errors:** `BadRequest` where the mechanism cannot act on these numbers.
    """
    per_part = [np.asarray(x.release.chain.denominators, dtype=np.int64) for x in reads]
    ticks = ticks_of(benchmark, units, condition, release, counted, rule, *per_part)
    chain, per_score = condition.on_numbers, ticks.per_score
    from_board = condition.state == "global"
    # A memory that starts from the board holds the genuine rows too.
    room = capacity + len(benchmark.models) if from_board else capacity
    built = build(chain, ticks, on=condition.on, clip=condition.clip, capacity=room)
    true, *public = [x.losses(per_score) for x in reads]
    (keys,) = (np.asarray(k) for k in trial_keys(seed, (Stream.MECHANISM,), trials))
    shares = np.array(ticks.weight_rows(), dtype=np.float64) / per_score
    losses = true[:, :, 0]
    with jax.enable_x64(True):
        released, visible = _first_submissions(built, keys, true, *public)
        if condition.parsed.ranked:
            losses = np.where(visible, released, NOT_SHOWN)[:, :, 0]
            last = ranked_part(condition.parsed, losses, ticks, capacity)
            if built.compares_items and not last.stateless:
                raise BadRequest(
                    f"interface={condition.interface} with mechanism={condition.mechanism_name}: "
                    "the board remembers submissions, and so does the mechanism, which compares "
                    "items with its own last one; use interface=rank or bucket:B"
                )
            built = MechanismChain((*built.parts, last))
            released, visible = _ranked_rows(condition, built, keys, true, losses, *public)
            # What is released within the best K is a loss; all else is a number as it is.
            shares = shares if condition.parsed.kind == "top" else np.ones((1, 1))
    shown = np.asarray(visible.all(axis=2))
    known = np.where(shown[:, :, None], released, losses[:, :, None])
    released = np.where(shown[:, :, None], released, NOT_SHOWN)
    # Ranks say less than the losses that they are made of, and those order the board.
    placed = losses[:, :, None] if condition.parsed.kind == "rank" else released
    wide = np.broadcast_to(shares, (len(true), shares.shape[1]))
    board = np.where(shown, (placed * wide[:, None, :]).sum(axis=2), NOT_SHOWN)
    largest = max(
        float(np.abs(known).max(initial=1.0)),
        float(capacity + len(benchmark.models)) if condition.parsed.ranked else 1.0,
        float(per_score.max()) * (1.0 + noise_margin(condition)),
    )
    return Channelled(
        reads=reads,
        ticks=ticks,
        mechanism=jax.tree.map(np.asarray, built),
        shares=shares,
        keys=keys,
        true=true,
        released=released,
        known=known,
        shown=shown,
        overall=board,
        bound=4.0 * largest,
        from_board=from_board,
    )


def board_profiles(
    made: Channelled, benchmark: Benchmark, rule: str, *, tasks: bool
) -> attacker.PublicProfiles:
    """What the endpoint rule sees: the released numbers of the genuine rows that are shown."""
    numerators, per_score = made.profiles()
    numbers = numerators.shape[2]
    even = (Fraction(1, numbers),) * numbers
    in_categories = scoring.mean_weights(benchmark) if tasks else even
    weights = tuple(w for w in made.ticks.weights if isinstance(w, Fraction))
    overall = numerators, per_score
    if not weights:
        # A number weighs as its reused items do, and trials have different ones.
        items = made.ticks.items
        overall = numerators * items[:, None, :], per_score * items.sum(axis=1, keepdims=True)
        weights = (Fraction(1),) * numbers
    return attacker.PublicProfiles(
        numerators,
        per_score,
        *overall,
        overall_weights=weights,
        mean_weights=in_categories,
        share_weights=in_categories if rule == "equal_category" else even,
        shown=None if made.shown.all() else made.shown,
    )


@eqx.filter_jit
def _submit_once(
    mechanism: Mechanism, keys: Array, losses: Array, public: Array | None
) -> tuple[Array, Array]:
    """Every genuine row as the only submission of its own team."""
    models, numbers = losses.shape[1:]
    index = jnp.arange(models, dtype=jnp.uint32)[None, :]

    def noise(first):
        drawn = uniforms(keys, index + jnp.uint32(first), numbers, mechanism.slots)
        return mechanism.noise(drawn)

    state = mechanism.start(noise(GENUINE_START))
    _, feedback = mechanism.step(state, Submission(losses, public), noise(GENUINE))
    return feedback.released, feedback.visible


def _first_submissions(
    mechanism: MechanismChain,
    keys: np.ndarray,
    losses: np.ndarray,
    public: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """What is released of the genuine rows, as submissions of teams of their own."""
    if not mechanism.parts:
        return losses, np.ones(losses.shape, dtype=bool)
    released, visible = _submit_once(
        mechanism,
        jnp.asarray(keys),
        jnp.asarray(losses),
        None if public is None else jnp.asarray(public),
    )
    return np.asarray(released), np.asarray(visible)


def _ranked_rows(
    condition: Condition,
    mechanism: MechanismChain,
    keys: np.ndarray,
    true: np.ndarray,
    losses: np.ndarray,
    *public: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """What a board of places, not of scores, shows of the genuine rows."""
    if condition.parsed.kind != "top":
        return _first_submissions(mechanism, keys, true, *public)
    # The first K by loss, then by name, are what the board starts with.
    order = np.argsort(losses, axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")
    return losses[:, :, None], np.asarray(place < condition.parsed.size)[:, :, None]
