"""Run cells: chunks of trials through the kernel, several cells in one call where shapes allow.

Nothing here changes an outcome: a trial's numbers depend on its seeds alone, so chunks, calls and
what runs beside a trial are free to follow memory and speed.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from jaxbench.engine import call, plan, sequence_run
from jaxbench.engine.call import Found, Piece
from jaxbench.engine.cell import Cell, Chunk
from jaxbench.engine.frame import Frame
from jaxbench.engine.layout import Layout
from jaxbench.engine.outcome import ChunkOutcome, outcomes_of
from jaxbench.engine.programs import Programs
from jaxbench.engine.reduced_run import ARITHMETIC, ReducedRunner
from jaxbench.engine.sequence_run import SequenceRunner
from jaxbench.shapes import bucket

# How many times its rows a call may be filled up to, in place of compiling another program.
SPARE = 4


@dataclass(frozen=True)
class Work:
    """Some trials of a cell that are wanted, in one chunk; the last `padding` are only filler."""

    cell: Cell
    trials: np.ndarray
    padding: int = 0


@dataclass
class Runner:
    """Runs work of many cells; keeps what their programs are made for.

    `call_bytes` bounds the memory of a kernel call, `host_bytes` that of the chunks that wait for
    one (None: what is fastest). The first guess is from the shapes; a program that turns out to
    need more is asked for with fewer rows. `programs` compiles ahead of calls, where that bound or
    a record of compiles is wanted. With fresh routers `workers` calls run at a time, since the
    products of one are too thin for many cores.
    """

    call_bytes: int | None = None
    host_bytes: int | None = None
    programs: Programs | None = None
    workers: int = field(default_factory=lambda: plan.workers(jax.default_backend()))
    _most_rows: dict[object, int] = field(default_factory=dict)
    _rows: dict[object, int] = field(default_factory=dict)
    _frames: dict[object, Frame] = field(default_factory=dict)
    _compiled: set[object] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._reduced = ReducedRunner(self.call_bytes, self.programs)
        self._sequence = SequenceRunner(self.call_bytes)

    def run(self, work: Iterable[Work]) -> Iterator[ChunkOutcome]:
        """The outcomes of every condition and bank, piece of work by piece of work.

        Neighbouring pieces share kernel calls where their programs and budgets are the same and
        they have fresh routers, for as long as one call and one chunk could hold them all. Work is
        taken one step ahead: while its outcomes are looked at, the next calls run.
        """
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="kernel")
        before: Iterator[ChunkOutcome] = iter(())
        try:
            for started in self._started(work, pool):
                yield from before
                before = started
            yield from before
        finally:
            pool.shutdown(cancel_futures=True)

    def rows_per_call(self, chunk: Chunk, key: object, rows: int) -> int:
        """Trials of one kernel call, of `rows` that are to run."""
        together = self._shape(chunk, key).rows_per_call(rows, self.call_bytes)
        together = min(together, self._most_rows.get(key, together))
        # A few rows more are cheaper than a program of their own.
        before = self._rows.get(key, 0)
        return before if together <= before <= SPARE * together else together

    def _started(
        self, work: Iterable[Work], pool: ThreadPoolExecutor
    ) -> Iterator[Iterator[ChunkOutcome]]:
        """The outcomes of pieces that share calls, which are under way."""
        pending: list[tuple[Work, Chunk]] = []
        rows, before = 0, None
        for piece in work:
            if piece.cell.in_sequence:
                if pending:
                    # Outcomes come piece by piece, in the order of the work.
                    yield self._flush(pending, pool)
                    pending, rows = [], 0
                yield self._run_in_sequence(piece)
            for conditions in piece.cell.in_blocks:
                chunk = piece.cell.chunk(piece.trials, conditions)
                if piece.cell.reduced:
                    if pending:
                        yield self._flush(pending, pool)
                        pending, rows = [], 0
                    yield self._run_reduced(piece, chunk)
                    continue
                key, joint = call.structure(chunk), call.joint(chunk)
                alike = (key, joint) == before
                if pending and not (alike and self._room(chunk, key, rows + len(chunk.trials))):
                    yield self._flush(pending, pool)
                    pending, rows = [], 0
                self._grow(chunk, key)
                pending.append((piece, chunk))
                rows, before = rows + len(chunk.trials), (key, joint)
                if not self._room(chunk, key, rows + 1):
                    yield self._flush(pending, pool)
                    pending, rows = [], 0
        if pending:
            yield self._flush(pending, pool)

    def _run_in_sequence(self, piece: Work) -> Iterator[ChunkOutcome]:
        """The outcomes of conditions whose submissions are taken one by one."""
        cell, kept = piece.cell, len(piece.trials) - piece.padding
        for condition in cell.in_sequence:
            chunk = cell.chunk(piece.trials, (condition,))
            for bank in range(cell.evaluator.request.banks):
                found = self._sequence.run(chunk, bank)
                yield from outcomes_of(chunk, kept, bank, sequence_run.ARITHMETIC, found)

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
        kept = len(piece.trials) - piece.padding
        yield from outcomes_of(chunk, kept, 0, ARITHMETIC, found)

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
            candidates = cell.evaluator.budgets_run[-1] - 1
            self._frames[key] = Frame(candidates, cell.block)
        active, units = chunk.active, cell.evaluator.units
        needed = [active[:, units.of_item == u].sum(axis=1).max() for u in range(units.count)]
        self._frames[key].grow(np.array(needed), chunk.bounds())

    def _flush(
        self, pending: list[tuple[Work, Chunk]], pool: ThreadPoolExecutor
    ) -> Iterator[ChunkOutcome]:
        """Start the calls of some pieces."""
        key = call.structure(pending[0][1])
        # As it is now: the next chunk may make it grow.
        frame = replace(self._frames[key])
        chunks = [chunk for _, chunk in pending]
        layouts = [chunk.layout(frame) for chunk in chunks]
        cell = chunks[0].cell
        together = self._rows[key] = self._fitting(chunks, layouts, key, frame)
        rows = sum(len(chunk.trials) for chunk in chunks)
        calls = [
            call.pieces_of(chunks, layouts, first, together) for first in range(0, rows, together)
        ]
        if not cell.fresh:
            return _collect(pending, frame, _bank_by_bank(calls, layouts[0], frame))
        program = key, tuple(frame.sizes.tolist()), frame.arithmetic, together
        futures = []
        for pieces in calls:
            futures.append(pool.submit(call.run_call, pieces, frame, None))
            if program not in self._compiled:
                # Alone, so that a new program is compiled once.
                wait(futures)
                self._compiled.add(program)
        return _collect(pending, frame, iter([(future.result() for future in futures)]))

    def _fitting(
        self,
        chunks: list[Chunk],
        layouts: list[Layout],
        key: object,
        frame: Frame,
    ) -> int:
        """Rows of a call whose program keeps to `call_bytes`."""
        rows = sum(len(chunk.trials) for chunk in chunks)
        if self.programs is None:
            return self.rows_per_call(chunks[0], key, rows)
        cell = chunks[0].cell
        shared = None if cell.fresh else cell.banks.bank(layouts[0], 0)
        while True:
            together = self.rows_per_call(chunks[0], key, rows)
            with jax.enable_x64(True):
                pieces = call.pieces_of(chunks, layouts, 0, together)
                arguments, _ = call.arguments_of(pieces, shared)
                program = self.programs.compiled(arguments, call.static_of(frame))
            fits = self.call_bytes is None or program.bytes <= self.call_bytes
            if fits or together <= bucket(1):
                return together
            self._most_rows[key] = max(bucket(1), bucket(together // 2))
            self._rows.pop(key, None)


def shape_of(cell: Cell, slots: int, views: int) -> plan.Shape:
    """The sizes of a cell that memory depends on."""
    evaluator = cell.evaluator
    return plan.Shape(
        slots=slots,
        units=evaluator.units.count,
        budgets=len(evaluator.budgets_run),
        conditions=max([1, *map(len, cell.in_blocks)]),
        views=views,
        items=len(evaluator.benchmark.items),
        models=len(evaluator.benchmark.models),
        block=cell.block,
        fresh=cell.fresh,
        backend=jax.default_backend(),
        reduced=cell.reduced,
        channelled=max([0, *(sum(c.channelled for c in g) for g in cell.in_blocks)]),
    )


def chunked(cell: Cell, first: int, last: int, host_bytes: int | None = None) -> Iterator[Work]:
    """Trials `first` to `last - 1` of a cell, equally many at a time.

    The last chunk repeats its last trial rather than be of a shape of its own.
    """
    shape = shape_of(cell, 0, cell.most_views)
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


def _bank_by_bank(calls: list[list[Piece]], layout: Layout, frame: Frame) -> Iterator[list[Found]]:
    """What the calls find under every shared bank; one bank is held at a time."""
    cell = calls[0][0][0].cell
    for bank in range(cell.evaluator.request.banks):
        shared = cell.banks.bank(layout, bank)
        yield [call.run_call(pieces, frame, shared) for pieces in calls]


def _collect(
    pending: list[tuple[Work, Chunk]], frame: Frame, banks: Iterator[Iterable[Found]]
) -> Iterator[ChunkOutcome]:
    """The outcomes of some pieces of work, bank by bank."""
    for bank, calls in enumerate(banks):
        found = jax.tree.map(lambda *parts: np.concatenate(parts), *calls)
        first = 0
        for piece, chunk in pending:
            mine = slice(first, first + len(chunk.trials))
            first = mine.stop
            kept = len(piece.trials) - piece.padding
            yield from outcomes_of(chunk, kept, bank, frame.arithmetic.name, found.at(mine))
