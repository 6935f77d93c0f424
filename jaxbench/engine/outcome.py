"""What came of some trials of one condition: events, metrics and counts."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np

from jaxbench import attacker, metrics
from jaxbench.engine.call import Found
from jaxbench.engine.cell import Cell, Chunk
from jaxbench.engine.evaluator import Condition


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


def outcomes_of(
    chunk: Chunk, kept: int, bank: int, arithmetic: str, found: Found
) -> Iterator[ChunkOutcome]:
    """The outcomes of every condition in the first `kept` trials of a chunk."""
    evaluator = chunk.cell.evaluator
    keep = slice(0, kept)
    for index, condition in enumerate(evaluator.conditions):
        view, tally = chunk.view_of[index], chunk.tally(index)
        counts_reused = found.counts_reused[:, :, index]
        counts_heldout = found.counts_heldout[:, :, index]
        reused = tally.reused(counts_reused)
        router = metrics.RouterScores(
            reused,
            tally.heldout(counts_heldout),
            *(history[:, :, view] for history in found[2:]),
            # Nothing stands between a score and its release.
            release_rate=np.ones_like(reused),
            board_error=np.zeros_like(reused),
        )
        ranking = evaluator.ranking(tally, condition, counts_reused, counts_heldout, router)
        measured = metrics.trial_metrics(tally.genuine, router, *ranking)
        yield ChunkOutcome(
            cell=chunk.cell,
            condition=condition,
            bank=bank,
            arithmetic=arithmetic,
            trials=chunk.trials[keep],
            endpoints=jax.tree.map(lambda x: x[keep], chunk.endpoints[index]),
            measured=jax.tree.map(lambda x: x[keep], measured),
            router=jax.tree.map(lambda x: x[keep], router),
            counts_reused=counts_reused[keep],
            counts_heldout=counts_heldout[keep],
            static_side=chunk.static_side(index)[keep],
        )
