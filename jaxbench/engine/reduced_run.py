"""Run chunks through the reduced simulator: one condition after the other, in calls that fit."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from jaxbench import metrics
from jaxbench.benchmark.scoring import Overall
from jaxbench.engine import plan, reduced
from jaxbench.engine.cell import Chunk
from jaxbench.engine.frame import Frame
from jaxbench.engine.programs import Programs
from jaxbench.engine.reduced_inputs import Differing, count_differing, count_weights, make_rows
from jaxbench.leaderboard import Release
from jaxbench.metrics.trial import History
from jaxbench.shapes import bucket

# What `ChunkOutcome.arithmetic` says.
ARITHMETIC = "reduced: signs of 63 candidates, normals for later ones"


class Numbers(NamedTuple):
    """The trials of a chunk under one condition, as the reduced simulator sees them."""

    differing: Differing
    sums_reused: Float64[np.ndarray, "trials units"]
    sums_heldout: Float64[np.ndarray, "trials units"]
    static: Float64[np.ndarray, "trials coordinates"]
    history: History


class Found(NamedTuple):
    """Counts of the final routers per unit, and the history, of one condition."""

    counts_reused: Float64[np.ndarray, "rows budgets units"]
    counts_heldout: Float64[np.ndarray, "rows budgets units"]
    best_reused: Float64[np.ndarray, "rows budgets"]
    best_heldout: Float64[np.ndarray, "rows budgets"]
    gap: Float64[np.ndarray, "rows budgets"]


@dataclass
class ReducedRunner:
    """Keeps what the programs of the reduced simulator are made for; see `run.Runner`.

    A trial's numbers depend on its seeds alone, whatever the chunk, the call or the padding.
    """

    call_bytes: int | None = None
    programs: Programs | None = None
    _most_rows: dict[object, int] = field(default_factory=dict)
    _frames: dict[object, Frame] = field(default_factory=dict)

    def conditions(self, chunk: Chunk, sizes: plan.Shape) -> list[Found]:
        """What is found under every condition.

        **Arguments:** `sizes`: of the cell; slots are filled in here.
        """
        count = len(chunk.cell.evaluator.conditions)
        return [self._condition(chunk, condition, sizes) for condition in range(count)]

    def _condition(self, chunk: Chunk, condition: int, sizes: plan.Shape) -> Found:
        tally, release = chunk.tally(condition), chunk.releases[condition]
        rules = tally.reused.bare(), tally.heldout.bare()
        numbers = numbers_of(chunk, condition)
        key = _structure(chunk, release, rules)
        if key not in self._frames:
            candidates = chunk.cell.evaluator.budgets[-1] - 1
            self._frames[key] = Frame(candidates, reduced.BLOCK)
        differing = numbers.differing
        needed = (differing.reused + differing.heldout).max(axis=0)
        self._frames[key].grow(needed, (0, 0, 0))
        shape = reduced.Shape(
            coordinates=release.units,
            slots=tuple(self._frames[key].sizes.tolist()),
            records=draws_records(sizes.units, *rules),
        )
        sizes = replace(sizes, slots=sum(shape.slots))
        number, first = len(chunk.trials), 0
        found = []
        while first < number:
            together = self._fitting(chunk, numbers, rules, shape, sizes, key)
            # The last row fills up what is missing.
            here = np.minimum(np.arange(first, first + together), number - 1)
            found.append(_call(chunk, numbers, rules, shape, here))
            first += together
        return Found(*(np.concatenate(part)[:number] for part in zip(*found, strict=True)))

    def _fitting(
        self, chunk: Chunk, numbers: Numbers, rules: tuple[Overall, Overall],
        shape: reduced.Shape, sizes: plan.Shape, key: object,
    ) -> int:  # fmt: skip
        """Rows of a call whose program keeps to `call_bytes`."""
        number = len(chunk.trials)
        while True:
            together = sizes.rows_per_call(number, self.call_bytes)
            together = min(together, self._most_rows.get(key, together))
            if self.programs is None:
                return together
            here = np.minimum(np.arange(together), number - 1)
            with jax.enable_x64(True):
                arguments = _arguments(chunk, numbers, rules, shape, here)
                program = self.programs.compiled_reduced(arguments, shape)
            if self.call_bytes is None or program.bytes <= self.call_bytes:
                return together
            if together <= bucket(1):
                return together
            self._most_rows[key] = max(bucket(1), bucket(together // 2))


def numbers_of(chunk: Chunk, condition: int) -> Numbers:
    """A chunk's trials in numbers: all that the reduced simulator sees of items."""
    evaluator, tally = chunk.cell.evaluator, chunk.tally(condition)
    pair, board, split = chunk.endpoints[condition], tally.board, tally.split
    rows = np.arange(len(chunk.trials))
    public, private = (
        np.stack([side[rows, pair.a], side[rows, pair.b]], axis=1).astype(np.float64)
        for side in (board.reused, board.heldout)
    )
    released = chunk.releases[condition].chain(public)
    return Numbers(
        count_differing(
            evaluator.benchmark.counts, pair.a, pair.b, split.reused, split.heldout,
            evaluator.units,
        ),
        public.sum(axis=1),
        private.sum(axis=1),
        released[:, 0] - released[:, 1],
        metrics.genuine_history(tally.genuine),
    )  # fmt: skip


def draws_records(units: int, *rules: Overall) -> bool:
    """Whether a candidate's scores are one binomial on each side, in every trial there is.

    That has to be so whatever the trials: where weights vary between them every candidate is drawn.
    """
    return all(
        len(rule.coefficients) == 1 and count_weights(rule, units) is not None for rule in rules
    )


def _structure(chunk: Chunk, release: Release, rules: tuple[Overall, Overall]) -> object:
    """What has to be equal for two chunks to run in one program."""
    leaves, tree = jax.tree.flatten(rules)
    trailing = tuple(
        np.shape(leaf)[1:] if np.ndim(leaf) == 3 else np.shape(leaf) for leaf in leaves
    )
    budgets = chunk.cell.evaluator.budgets
    return release.units, tree, trailing, len(budgets), budgets[-1]


def _call(
    chunk: Chunk,
    numbers: Numbers,
    rules: tuple[Overall, Overall],
    shape: reduced.Shape,
    here: np.ndarray,
) -> Found:
    """One call, back in numpy: final routers in counts, not contrasts."""
    with jax.enable_x64(True):
        arguments = _arguments(chunk, numbers, rules, shape, here)
        outcomes = reduced.reduced_rows(*arguments, shape=shape)
        contrasts, history = outcomes[:2], outcomes[2:]
        sums = numbers.sums_reused[here], numbers.sums_heldout[here]
        counts = [
            0.5 * (both[:, None, :] + np.asarray(side).swapaxes(0, 1))
            for both, side in zip(sums, contrasts, strict=True)
        ]
        return Found(*counts, *(np.asarray(part).T for part in history))


def _arguments(
    chunk: Chunk,
    numbers: Numbers,
    rules: tuple[Overall, Overall],
    shape: reduced.Shape,
    here: np.ndarray,
) -> tuple:
    """The arrays of a call (inside `jax.enable_x64(True)`)."""
    evaluator, number = chunk.cell.evaluator, len(chunk.trials)

    def take(x):
        # Of the rules' arrays only those with a trial axis have three.
        return x[here] if np.ndim(x) == 3 and len(x) == number > 1 else x

    reused, heldout = jax.tree.map(take, rules)
    mine = jax.tree.map(lambda x: x[here], numbers)
    rows = make_rows(
        mine.differing, shape, evaluator.units.count, reused, heldout,
        seed=evaluator.request.seed, trials=chunk.trials[here],
        sums_reused=mine.sums_reused, sums_heldout=mine.sums_heldout, static=mine.static,
        best_reused=mine.history.best_reused, best_heldout=mine.history.best_heldout,
        gap=mine.history.gap,
    )  # fmt: skip
    budgets = jnp.asarray(evaluator.budgets, dtype=jnp.int32)
    return rows, budgets, *jax.tree.map(jnp.asarray, (reused, heldout))
