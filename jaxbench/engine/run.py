"""Run cells: chunks of trials through the kernel, several cells in one call where shapes allow.

Nothing here changes an outcome: a trial's numbers depend on its seeds alone, so chunks, calls and
what runs beside a trial are free to follow memory and speed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from jaxbench import attacker, metrics
from jaxbench.engine import kernel, plan
from jaxbench.engine.cell import Cell, Chunk
from jaxbench.engine.evaluator import Condition
from jaxbench.engine.frame import Frame
from jaxbench.engine.layout import Layout
from jaxbench.engine.programs import Programs
from jaxbench.engine.reduced_run import ARITHMETIC, ReducedRunner
from jaxbench.shapes import bucket

# How many times its rows a call may be filled up to, in place of compiling another program.
SPARE = 4


@dataclass(frozen=True)
class ChunkOutcome:
    """Some trials of one condition under one bank: everything the tables are made of.

    `counts_reused` and `counts_heldout` are those of the final routers, `(trials, budgets, units)`
    in whole numbers. `static_side` is where the static router sends every unit, `(trials, units)`:
    1 to endpoint A, -1 to B, 0 where they are publicly equal and every item takes its tie sign.
    """

    cell: Cell
    condition: Condition
    bank: int
    arithmetic: str
    trials: np.ndarray
    endpoints: attacker.Endpoints
    measured: metrics.TrialMetrics
    router: metrics.RouterScores
    counts_reused: np.ndarray
    counts_heldout: np.ndarray
    static_side: np.ndarray


@dataclass(frozen=True)
class Work:
    """Some trials of a cell that are wanted, in one chunk; the last `padding` are only filler."""

    cell: Cell
    trials: np.ndarray
    padding: int = 0


class Found(NamedTuple):
    """What the kernel found, in numpy: counts of the final routers per unit, and the history."""

    counts_reused: Float64[np.ndarray, "rows budgets conditions units"]
    counts_heldout: Float64[np.ndarray, "rows budgets conditions units"]
    best_reused: Float64[np.ndarray, "rows budgets views"]
    best_heldout: Float64[np.ndarray, "rows budgets views"]
    gap: Float64[np.ndarray, "rows budgets views"]

    def at(self, rows: slice) -> "Found":
        """Some of the rows."""
        return Found(*(part[rows] for part in self))


@dataclass
class Runner:
    """Runs work of many cells; keeps what their programs are made for.

    `call_bytes` bounds the memory of a kernel call, `host_bytes` that of the chunks that wait for
    one (None: what is fastest). The first guess is from the shapes; a program that turns out to
    need more is asked for with fewer rows. `programs` compiles ahead of calls, where that bound or
    a record of compiles is wanted.
    """

    call_bytes: int | None = None
    host_bytes: int | None = None
    programs: Programs | None = None
    _most_rows: dict[object, int] = field(default_factory=dict)
    _rows: dict[object, int] = field(default_factory=dict)
    _frames: dict[object, Frame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reduced = ReducedRunner(self.call_bytes, self.programs)

    def run(self, work: Iterable[Work]) -> Iterator[ChunkOutcome]:
        """The outcomes of every condition and bank, piece of work by piece of work.

        Neighbouring pieces share kernel calls where their programs and budgets are the same and
        they have fresh routers, for as long as one call and one chunk could hold them all.
        """
        pending: list[tuple[Work, Chunk]] = []
        rows, before = 0, None
        for piece in work:
            chunk = piece.cell.chunk(piece.trials)
            if piece.cell.reduced:
                if pending:
                    yield from self._flush(pending)
                    pending, rows = [], 0
                yield from self._run_reduced(piece, chunk)
                continue
            key, joint = _structure(chunk), _joint(chunk)
            alike = (key, joint) == before
            if pending and not (alike and self._room(chunk, key, rows + len(chunk.trials))):
                yield from self._flush(pending)
                pending, rows = [], 0
            self._grow(chunk, key)
            pending.append((piece, chunk))
            rows, before = rows + len(chunk.trials), (key, joint)
            if not self._room(chunk, key, rows + 1):
                yield from self._flush(pending)
                pending, rows = [], 0
        if pending:
            yield from self._flush(pending)

    def rows_per_call(self, chunk: Chunk, key: object, rows: int) -> int:
        """Trials of one kernel call, of `rows` that are to run."""
        together = self._shape(chunk, key).rows_per_call(rows, self.call_bytes)
        together = min(together, self._most_rows.get(key, together))
        # A few rows more are cheaper than a program of their own.
        before = self._rows.get(key, 0)
        return before if together <= before <= SPARE * together else together

    def _run_reduced(self, piece: Work, chunk: Chunk) -> Iterator[ChunkOutcome]:
        """The same for `simulator=reduced`, which takes one condition at a time."""
        every = self._reduced.conditions(chunk, shape_of(chunk.cell, 0, len(chunk.views)))
        # Conditions of one view have the same history.
        views = [every[chunk.view_of.index(view)] for view in range(len(chunk.views))]
        found = Found(
            np.stack([one.counts_reused for one in every], axis=2),
            np.stack([one.counts_heldout for one in every], axis=2),
            np.stack([one.best_reused for one in views], axis=2),
            np.stack([one.best_heldout for one in views], axis=2),
            np.stack([one.gap for one in views], axis=2),
        )
        yield from _outcomes(piece, chunk, 0, ARITHMETIC, found)

    def _shape(self, chunk: Chunk, key: object) -> plan.Shape:
        return shape_of(chunk.cell, self._frames[key].slots, len(chunk.views))

    def _room(self, chunk: Chunk, key: object, rows: int) -> bool:
        """Whether so many rows like those of a chunk, from several cells, make one call."""
        if not chunk.cell.fresh:
            # Banks are of one cell and of one chunk's items.
            return False
        shape = self._shape(chunk, key)
        most = min(shape.most_rows(self.call_bytes), self._most_rows.get(key, rows))
        return rows <= most and shape.trials_per_chunk(rows, self.host_bytes) >= rows

    def _grow(self, chunk: Chunk, key: object) -> None:
        """Make room for a chunk in the frame of its structure."""
        cell = chunk.cell
        if key not in self._frames:
            candidates = cell.evaluator.budgets[-1] - 1
            self._frames[key] = Frame(candidates, cell.block)
        active, units = chunk.active, cell.evaluator.units
        needed = [active[:, units.of_item == u].sum(axis=1).max() for u in range(units.count)]
        self._frames[key].grow(np.array(needed), chunk.largest_contrasts())

    def _flush(self, pending: list[tuple[Work, Chunk]]) -> Iterator[ChunkOutcome]:
        key = _structure(pending[0][1])
        frame = self._frames[key]
        chunks = [chunk for _, chunk in pending]
        layouts = [chunk.layout(frame) for chunk in chunks]
        rows = sum(len(chunk.trials) for chunk in chunks)
        cell = chunks[0].cell
        banks = 1 if cell.fresh else cell.evaluator.request.banks
        for bank in range(banks):
            shared = None if cell.fresh else cell.banks.bank(layouts[0], bank)
            together = self._rows[key] = self._fitting(chunks, layouts, key, shared)
            calls = [
                _call(_pieces(chunks, layouts, first, together), frame, shared)
                for first in range(0, rows, together)
            ]
            found = Found(*(np.concatenate(part) for part in zip(*calls, strict=True)))
            first = 0
            for piece, chunk in pending:
                mine = slice(first, first + len(chunk.trials))
                first = mine.stop
                name = frame.arithmetic.name
                yield from _outcomes(piece, chunk, bank, name, found.at(mine))

    def _fitting(
        self,
        chunks: list[Chunk],
        layouts: list[Layout],
        key: object,
        shared: attacker.SharedBank | None,
    ) -> int:
        """Rows of a call whose program keeps to `call_bytes`."""
        rows = sum(len(chunk.trials) for chunk in chunks)
        while True:
            together = self.rows_per_call(chunks[0], key, rows)
            if self.programs is None:
                return together
            frame = self._frames[key]
            with jax.enable_x64(True):
                pieces = _pieces(chunks, layouts, 0, together)
                arguments, _ = _arguments(pieces, shared)
                program = self.programs.compiled(arguments, _static(frame))
            if self.call_bytes is None or program.bytes <= self.call_bytes:
                return together
            if together <= bucket(1):
                return together
            self._most_rows[key] = max(bucket(1), bucket(together // 2))
            self._rows.pop(key, None)


def shape_of(cell: Cell, slots: int, views: int) -> plan.Shape:
    """The sizes of a cell that memory depends on."""
    evaluator = cell.evaluator
    return plan.Shape(
        slots=slots,
        units=evaluator.units.count,
        budgets=len(evaluator.budgets),
        conditions=len(evaluator.conditions),
        views=views,
        items=len(evaluator.benchmark.items),
        models=len(evaluator.benchmark.models),
        block=cell.block,
        fresh=cell.fresh,
        backend=jax.default_backend(),
        reduced=cell.reduced,
    )


def chunked(cell: Cell, first: int, last: int, host_bytes: int | None = None) -> Iterator[Work]:
    """Trials `first` to `last - 1` of a cell, equally many at a time.

    The last chunk repeats its last trial rather than be of a shape of its own.
    """
    conditions = cell.evaluator.conditions
    views = len({(c.rule, c.interface, c.precision, c.reused_items) for c in conditions})
    shape = shape_of(cell, 0, views)
    together = shape.trials_per_chunk(last - first, host_bytes)
    for start in range(first, last, together):
        trials = np.minimum(np.arange(start, start + together), last - 1)
        yield Work(cell, trials, padding=max(0, start + together - last))


def run_cell(
    cell: Cell,
    progress: Callable[[int, int], None] | None = None,
    *,
    runner: Runner | None = None,
    host_bytes: int | None = None,
) -> Iterator[ChunkOutcome]:
    """Run one cell over all its trials and banks.

    **Arguments:** `progress`: called with trials done and trials in all; `runner`, `host_bytes`:
    how memory is used.
    """
    request = cell.evaluator.request
    total = request.trials * len(cell.evaluator.conditions) * request.banks
    done = 0
    for outcome in (runner or Runner()).run(chunked(cell, 0, request.trials, host_bytes)):
        yield outcome
        done += len(outcome.trials)
        if progress:
            progress(done, total)


def _structure(chunk: Chunk) -> object:
    """What two chunks share if they run in one program: everything but the numbers."""
    evaluator = chunk.cell.evaluator
    leaves, tree = jax.tree.flatten(chunk.rules)
    shapes = [np.shape(leaf) for leaf in leaves]
    # Arrays with an axis for rows may have it or not.
    trailing = tuple(shape[1:] if len(shape) == 3 else shape for shape in shapes)
    return tree, trailing, len(evaluator.budgets), evaluator.budgets[-1], chunk.cell.fresh


def _joint(chunk: Chunk) -> object:
    """What two chunks share, besides, if they run in one call: numbers without an axis of rows."""
    numbers = tuple(float(x) for x in jax.tree.leaves(chunk.rules) if np.ndim(x) == 0)
    return chunk.cell.evaluator.budgets, numbers


def _pieces(
    chunks: Sequence[Chunk], layouts: Sequence[Layout], first: int, together: int
) -> list[tuple[Chunk, Layout, np.ndarray]]:
    """Rows `first` to `first + together` over all chunks; the last row fills up what is missing."""
    ends = np.cumsum([len(chunk.trials) for chunk in chunks])
    rows = np.minimum(np.arange(first, first + together), ends[-1] - 1)
    owner = np.searchsorted(ends, rows, side="right")
    starts = np.concatenate([[0], ends])
    return [
        (chunks[index], layouts[index], rows[owner == index] - starts[index])
        for index in np.unique(owner)
    ]


def _call(
    pieces: list[tuple[Chunk, Layout, np.ndarray]],
    frame: Frame,
    shared: attacker.SharedBank | None,
) -> Found:
    """One call of the kernel, back in numpy: final routers in counts, not contrasts."""
    with jax.enable_x64(True):
        arguments, sums = _arguments(pieces, shared)
        outcomes = kernel.attack_rows(*arguments, **_static(frame))
        contrasts = np.asarray(outcomes.reused), np.asarray(outcomes.heldout)
        history = (np.asarray(part) for part in outcomes[2:5])
    view_of = list(pieces[0][0].view_of)
    reused = 0.5 * (sums[0][:, view_of] + contrasts[0])
    heldout = 0.5 * (sums[1][:, view_of] + contrasts[1])
    return Found(*(part.swapaxes(0, 1) for part in (reused, heldout, *history)))


def _arguments(
    pieces: list[tuple[Chunk, Layout, np.ndarray]], shared: attacker.SharedBank | None
) -> tuple[tuple, tuple[np.ndarray, np.ndarray]]:
    """The kernel's arrays, and counts of both endpoints together per row, view and unit."""
    budgets = pieces[0][0].cell.evaluator.budgets
    rows = _joined([chunk.rows(layout, here) for chunk, layout, here in pieces])
    bank = shared
    if bank is None:
        banks = [chunk.fresh_bank(layout, here) for chunk, layout, here in pieces]
        bank = attacker.FreshBank(**jax.tree.map(jnp.asarray, _joined(banks)))
    arguments = (
        kernel.Rows(**jax.tree.map(jnp.asarray, rows)),
        bank,
        jnp.asarray(budgets, dtype=jnp.int32),
        jax.tree.map(jnp.asarray, _joined_rules(pieces)),
    )
    return arguments, (rows["sums_reused"], rows["sums_heldout"])


def _static(frame: Frame) -> dict[str, object]:
    return {
        "sizes": tuple(frame.sizes.tolist()),
        "arithmetic": frame.arithmetic,
        "block": frame.block,
    }


def _joined(parts: list):
    """Arrays of several pieces, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _joined_rules(pieces: list[tuple[Chunk, Layout, np.ndarray]]) -> kernel.Rules:
    """The rules of every row; what is the same in all of them is given once."""
    every = [_rules_at(chunk, here) for chunk, _, here in pieces]
    if len(every) == 1:
        return every[0]
    counts = [len(here) for _, _, here in pieces]

    def join(*leaves):
        once = np.ndim(leaves[0]) < 3 or len(leaves[0]) == 1
        if once and all(np.array_equal(leaves[0], leaf) for leaf in leaves[1:]):
            return leaves[0]
        # A matrix that differs between cells gets the axis of rows that it may have.
        tall = [leaf if np.ndim(leaf) == 3 else leaf[None] for leaf in leaves]
        return np.concatenate(
            [np.broadcast_to(x, (n, *x.shape[1:])) for x, n in zip(tall, counts, strict=True)]
        )

    return jax.tree.map(join, *every)


def _rules_at(chunk: Chunk, here: np.ndarray) -> kernel.Rules:
    trials = len(chunk.trials)
    if trials == 1:
        return chunk.rules

    def take(x):
        # Of the rules' arrays only those with a trial axis have three.
        return x[here] if np.ndim(x) == 3 and len(x) == trials else x

    return jax.tree.map(take, chunk.rules)


def _outcomes(
    piece: Work, chunk: Chunk, bank: int, arithmetic: str, found: Found
) -> Iterator[ChunkOutcome]:
    """The metrics of every condition, without the filler."""
    evaluator = chunk.cell.evaluator
    keep = slice(0, len(piece.trials) - piece.padding)
    for index, condition in enumerate(evaluator.conditions):
        view, tally = chunk.view_of[index], chunk.tally(index)
        counts_reused = found.counts_reused[:, :, index]
        counts_heldout = found.counts_heldout[:, :, index]
        router = metrics.RouterScores(
            tally.reused(counts_reused),
            tally.heldout(counts_heldout),
            *(history[:, :, view] for history in found[2:]),
        )
        ranking = evaluator.ranking(tally, condition, counts_reused, counts_heldout, router)
        measured = metrics.trial_metrics(tally.genuine, router, *ranking)
        pair = chunk.endpoints[index]
        yield ChunkOutcome(
            cell=chunk.cell,
            condition=condition,
            bank=bank,
            arithmetic=arithmetic,
            trials=piece.trials[keep],
            endpoints=jax.tree.map(lambda x: x[keep], pair),
            measured=jax.tree.map(lambda x: x[keep], measured),
            router=jax.tree.map(lambda x: x[keep], router),
            counts_reused=counts_reused[keep],
            counts_heldout=counts_heldout[keep],
            static_side=chunk.static_side(index)[keep],
        )
