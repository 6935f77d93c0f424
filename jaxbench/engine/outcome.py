"""What came of some trials of one condition: events, metrics and counts."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float64

from jaxbench import attacker, metrics
from jaxbench.engine.call import Found
from jaxbench.engine.cell import Cell, Chunk
from jaxbench.engine.channel import Team
from jaxbench.engine.conditions import Condition


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
    keep = slice(0, kept)
    teams = iter(found.teams)
    for index, condition in enumerate(chunk.conditions):
        view, tally, made = chunk.view_of[index], chunk.tally(index), chunk.made[index]
        routed, seen = _columns(chunk, condition)
        counts_reused = found.counts_reused[:, routed, index]
        counts_heldout = found.counts_heldout[:, routed, index]
        reused, heldout = tally.reused(counts_reused), tally.heldout(counts_heldout)
        history = [part[:, seen, view] for part in found[2:5]]
        if made is None:
            rate = np.broadcast_to(_scored(chunk, condition), reused.shape)
            # Nothing stands between a score and its release.
            router = metrics.RouterScores(
                *(reused, heldout, *history),
                row_reused=reused,
                row_heldout=heldout,
                release_rate=rate,
                board_error=np.zeros_like(reused),
            )
            ranking = chunk.cell.evaluator.ranking(
                tally, condition, counts_reused, counts_heldout, router
            )
        else:
            team = jax.tree.map(lambda x, seen=seen: x[:, seen], next(teams))
            router = _released_router(chunk, condition, [reused, heldout, *history], team)
            public, standing = 1.0 - made.overall, np.asarray(team.standing)
            if made.from_board and made.mechanism.team_row == "last":
                # One sequence of releases: whoever set the last one is first.
                standing = np.where(np.isfinite(standing), -np.inf, standing)
            if condition.side.public is not None:
                # Final entries are ranked by what was never released.
                public = chunk.private.genuine.reused
            ranking = (
                metrics.by_score(public, 1.0 - standing),
                metrics.by_score(tally.genuine.heldout, router.row_heldout),
            )
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


def _columns(chunk: Chunk, condition: Condition) -> tuple[list[int], list[int]]:
    """The columns of every reported budget: of its final router, and of what came before it."""
    evaluator = chunk.cell.evaluator
    place = chunk.budgets.index
    return (
        [place(condition.decoded(k)) for k in evaluator.budgets],
        [place(condition.effective(k)) for k in evaluator.budgets],
    )


def _scored(chunk: Chunk, condition: Condition) -> Float64[np.ndarray, "1 budgets"]:
    """The share of the submissions of every budget that are scored."""
    return np.array([[condition.scored(k) / k for k in chunk.cell.evaluator.budgets]])


def _released_router(
    chunk: Chunk, condition: Condition, own: list[np.ndarray], team: Team
) -> metrics.RouterScores:
    """Final routers behind a mechanism: the board shows what it let through.

    **Arguments:** `own`: the routers' scores on both sides, and the history; `team`: the board's
    row, `(trials, budgets)`.
    """
    budgets = chunk.cell.evaluator.budgets
    effective = np.array([[condition.effective(k) for k in budgets]])
    told_of = np.array([[condition.told_of(k) for k in budgets]])
    standing, answers, error = map(np.asarray, (team.standing, team.answers, team.error))
    shown = np.isfinite(standing)
    # A team that the board does not show is nobody's pick: its row stands for the final router.
    row_reused, row_heldout = (
        np.where(shown, row, mine)
        for row, mine in zip((team.reused, team.heldout), own, strict=False)
    )
    # Places are no scores: how far they are from those nobody can say.
    places = condition.parsed.ranked and condition.parsed.kind != "top"
    return metrics.RouterScores(
        *own,
        row_reused=row_reused,
        row_heldout=row_heldout,
        release_rate=answers / effective * told_of * _scored(chunk, condition),
        board_error=np.full_like(error, np.nan) if places else error,
    )
