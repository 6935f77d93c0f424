"""Run the conditions of a chunk whose submissions are taken one by one, a condition at a time."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from jaxbench import attacker, metrics
from jaxbench.attacker.routers import FRESH_BLOCK
from jaxbench.benchmark.scoring import Overall
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine import sequence
from jaxbench.engine.call import Found, at_rows
from jaxbench.engine.cell import Chunk
from jaxbench.engine.channel import Channel
from jaxbench.engine.desk import Delay
from jaxbench.engine.development import Development
from jaxbench.engine.layout import Layout
from jaxbench.engine.submitters import Flip, Rounds, Submitter, Vote
from jaxbench.leaderboard import Release
from jaxbench.options.mechanism import Chosen
from jaxbench.shapes import bucket

# What a call may hold, bytes: a submission's arrays should stay in cache on a CPU.
CALL_BYTES = {"cpu": 16 * 2**20, "gpu": 2 * 2**30}
# Candidates that are drawn at a time.
BLOCK = FRESH_BLOCK
# Submitters that look at items on which the endpoints agree.
EVERY_ITEM = ("flip", "development")
ARITHMETIC = "int64, one submission at a time"


@dataclass(frozen=True)
class _Asked:
    """A condition's chunk, laid out, as far as all calls share it."""

    chunk: Chunk
    layout: Layout
    layout_of: Int[np.ndarray, " trials"]
    sides: tuple[Bool[np.ndarray, "trials items"], ...]
    overalls: tuple[Overall, ...]
    releases: tuple[Release, ...]


@dataclass
class SequenceRunner:
    """Runs single conditions; keeps the sizes that programs are made for.

    `call_bytes` bounds the memory of a call (None: what is fastest).
    """

    call_bytes: int | None = None
    _sizes: dict[object, np.ndarray] = field(default_factory=dict)

    def run(self, chunk: Chunk, bank: int) -> Found:
        """What comes of the one condition of a chunk under a bank."""
        asked = self._lay_out(chunk)
        number = len(chunk.trials)
        together = self._together(asked, number)
        shared = None if chunk.cell.fresh else chunk.cell.banks.bank(asked.layout, bank)
        calls = []
        for first in range(0, number, together):
            # The last row fills up what is missing.
            here = np.minimum(np.arange(first, first + together), number - 1)
            with jax.enable_x64(True):
                calls.append(_call(asked, here, shared))
        found = jax.tree.map(lambda *parts: np.concatenate(parts)[:number], *calls)
        return found if len(calls) > 1 else jax.tree.map(lambda x: x[:number], calls[0])

    def _lay_out(self, chunk: Chunk) -> _Asked:
        evaluator = chunk.cell.evaluator
        units, condition = evaluator.units, chunk.conditions[0]
        active, layout_of = chunk.active, chunk.layout_of_trial
        if condition.submitter.name in EVERY_ITEM:
            active = np.ones((1, active.shape[1]), dtype=bool)
            layout_of = np.zeros(len(chunk.trials), dtype=np.int64)
        needed = [int(active[:, units.of_item == u].sum(axis=1).max()) for u in range(units.count)]
        key = condition.submitter.name in EVERY_ITEM, units.of_item.tobytes()
        sizes = np.maximum([bucket(n) for n in needed], self._sizes.get(key, 0))
        self._sizes[key] = sizes
        order = [u for part in chunk.releases[0].units for u in part]
        layout = Layout.of(units.of_item, order, active, sizes.tolist())
        tally, made = chunk.tally(0), chunk.made[0]
        assert made is not None
        sides = [tally.split.reused, tally.split.heldout]
        overalls = [tally.reused, tally.heldout]
        if condition.side.public is not None:
            private = chunk.private
            sides.append(private.split.reused)
            overalls.append(private.reused)
        if len(made.reads) > 1:
            sides += [read.items for read in made.reads]
        releases = tuple(read.release for read in made.reads)
        return _Asked(chunk, layout, layout_of, tuple(sides), tuple(overalls), releases)

    def _together(self, asked: _Asked, number: int) -> int:
        """Trials of a call."""
        backend = jax.default_backend()
        most = CALL_BYTES.get(backend, CALL_BYTES["cpu"])
        if self.call_bytes is not None:
            most = min(most, self.call_bytes)
        slots, sides = asked.layout.items.shape[1], len(asked.sides)
        # Signs of a block, differences, votes and answers, and what a mechanism remembers.
        row = slots * (BLOCK + 8 * sides + 40) + 8 * 16 * len(asked.chunk.budgets)
        return max(1, min(bucket(number), most // row))


def _call(asked: _Asked, here: Int[np.ndarray, " rows"], shared) -> Found:
    """One call of the kernel (inside `jax.enable_x64(True)`)."""
    chunk, layout = asked.chunk, asked.layout
    condition, made, evaluator = chunk.conditions[0], chunk.made[0], chunk.cell.evaluator
    assert made is not None
    trials, own_layout = len(chunk.trials), asked.layout_of[here]
    answers = condition.submitter.name == "development"
    pairs = chunk.pairs[here][:, 0]
    counts = evaluator.benchmark.counts
    a, b = counts[pairs[:, 0]], counts[pairs[:, 1]]
    apart = np.ones_like(a) if answers else a - b

    def per_slot(values: np.ndarray) -> np.ndarray:
        return layout.gather(values, own_layout)

    differences = np.stack(
        [per_slot(np.where(s[here], apart, 0).astype(np.int32)) for s in asked.sides], axis=1
    )
    sums = np.zeros((len(here), len(asked.sides), evaluator.units.count))
    if not answers:
        both = np.stack([np.where(side[here], a + b, 0) for side in asked.sides], axis=1)
        for unit in range(evaluator.units.count):
            sums[:, :, unit] = both[:, :, evaluator.units.of_item == unit].sum(axis=2)
    prompts = per_slot(np.broadcast_to(chunk.cell.prompts, (len(here), len(chunk.cell.prompts))))
    history = metrics.genuine_history(chunk.tally(0).genuine)
    losses = made.released[here[:, None], pairs]
    rows: dict[str, Any] = {
        "differences": differences,
        "sums": sums,
        "best_reused": history.best_reused[here],
        "best_heldout": history.best_heldout[here],
        "gap": history.gap[here],
        "static": losses[:, 1] - losses[:, 0],
    }
    rules = sequence.Rules(
        tuple(at_rows(r.bare(), here, trials) for r in asked.releases),
        tuple(at_rows(o.bare(), here, trials) for o in asked.overalls),
        jnp.asarray(condition.decoder == "aware"),
        (0,) if len(made.reads) == 1 else (len(asked.sides) - 2, len(asked.sides) - 1),
    )
    fields: dict[str, Any] = made.channel(here, pairs) | {"prompts": prompts}
    fresh = chunk.fresh_bank(layout, here, own_layout) if shared is None else None
    budgets = np.array(chunk.budgets, dtype=np.int32)
    submitter = _submitter(asked, here, prompts)
    rows, rules, fields, fresh, budgets, mechanism = jax.tree.map(
        jnp.asarray, (rows, rules, fields, fresh, budgets, made.mechanism.at(here))
    )
    delay = condition.part("delay")
    cap = condition.part("cap")
    finals = condition.part("public_private")
    outcomes = sequence.attack_in_order(
        sequence.Rows(**rows),
        shared if fresh is None else attacker.FreshBank(**fresh),
        budgets,
        rules,
        Channel(mechanism=mechanism, **fields),
        submitter,
        None
        if condition.batch == 1 or delay is None
        else Delay(jnp.int32(condition.batch), delay["kind"] == "best"),
        spans=_spans(layout, asked.releases[0]),
        block=chunk.cell.block if shared is not None else BLOCK,
        accounts=1 if cap is None else _whole(cap, "accounts"),
        finals=0 if finals is None else _whole(finals, "finals"),
    )
    reused, heldout = (
        0.5 * (sums[None, :, side] + np.asarray(x))
        for side, x in enumerate((outcomes.reused, outcomes.heldout))
    )
    found = Found(
        reused[:, :, None],
        heldout[:, :, None],
        *(np.asarray(x)[:, :, None] for x in outcomes[2:5]),
        teams=(jax.tree.map(np.asarray, outcomes.team),),
    )
    return jax.tree.map(lambda part: part.swapaxes(0, 1), found)


def _submitter(
    asked: _Asked,
    here: Int[np.ndarray, " rows"],
    prompts: np.ndarray,
) -> Submitter:
    """The submitter of a condition."""
    chunk, condition = asked.chunk, asked.chunk.conditions[0]
    chosen, seed = condition.submitter, chunk.cell.evaluator.request.seed
    if chosen.name not in ("flip", "rounds", "development"):
        return Vote(chunk.cell.votes)
    stream = Stream.DEVELOPMENT if chosen.name == "development" else Stream.SUBMITTER
    (every,) = trial_keys(seed, (stream,), chunk.trials)
    facts: dict[str, Any] = {"keys": np.asarray(every)[here], "prompts": prompts}
    own_layout = asked.layout_of[here]

    def on(side: int) -> np.ndarray:
        return asked.layout.gather(asked.sides[side][here], own_layout)

    def made(kind: type[Submitter], **more: Any) -> Submitter:
        return kind(**jax.tree.map(jnp.asarray, facts), **more)

    if chosen.name == "flip":
        reused = on(sequence.REUSED)
        facts |= {"reused": reused, "first": _first_of_prompts(prompts, reused)}
        return made(Flip, items=jnp.int32(_whole(chosen, "items")))
    if chosen.name == "rounds":
        facts["share"] = np.float64(_share(chosen, "share"))
        return made(Rounds, length=jnp.int32(_whole(chosen, "length")))
    channelled, benchmark = chunk.made[0], chunk.cell.evaluator.benchmark
    assert channelled is not None
    best = channelled.overall[here].argmin(axis=1)
    counts = benchmark.counts[best].astype(np.int32)
    facts |= {
        "gain": np.float64(_share(chosen, "gain")),
        "change": np.float64(_share(chosen, "change")),
        "denominator": np.int32(benchmark.denominator),
        "start_answers": asked.layout.gather(2 * counts, own_layout),
        "start_released": channelled.overall[here, best],
        "heldout": on(sequence.HELDOUT),
    }
    return made(Development, spans=_spans(asked.layout, asked.releases[0]))


def _first_of_prompts(
    prompts: np.ndarray, among: Bool[np.ndarray, "rows slots"]
) -> Bool[np.ndarray, "rows slots"]:
    """The first slot of every prompt among some slots."""
    first = np.zeros(among.shape, dtype=bool)
    for row, mask in enumerate(among):
        slots = np.flatnonzero(mask)
        _, at = np.unique(prompts[row, slots], return_index=True)
        first[row, slots[at]] = True
    return first


def _spans(layout: Layout, release: Release) -> tuple[tuple[int, int], ...]:
    """First slot of every unit, and that behind its last."""
    spans: dict[int, tuple[int, int]] = {}
    start = 0
    for unit in (u for part in release.units for u in part):
        spans[unit] = start, start + layout.sizes[unit]
        start += layout.sizes[unit]
    return tuple(spans[unit] for unit in range(len(layout.sizes)))


def _whole(chosen: Chosen, name: str) -> int:
    value = chosen[name]
    assert isinstance(value, int)
    return value


def _share(chosen: Chosen, name: str) -> float:
    value = chosen[name]
    assert isinstance(value, Fraction)
    return float(value)
