"""One call of the kernel: trials of one or several chunks as its rows, and back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Float64

from jaxbench import attacker
from jaxbench.engine import kernel
from jaxbench.engine.cell import Chunk
from jaxbench.engine.channel import Team
from jaxbench.engine.frame import Frame
from jaxbench.engine.layout import Layout

Rules = TypeVar("Rules")
# Some trials of a chunk (their places in it), and its slots.
Piece = tuple[Chunk, Layout, np.ndarray]


class Found(NamedTuple):
    """What the kernel found, in numpy: counts of the final routers per unit, and the history."""

    counts_reused: Float64[np.ndarray, "rows budgets conditions units"]
    counts_heldout: Float64[np.ndarray, "rows budgets conditions units"]
    best_reused: Float64[np.ndarray, "rows budgets views"]
    best_heldout: Float64[np.ndarray, "rows budgets views"]
    gap: Float64[np.ndarray, "rows budgets views"]
    teams: tuple[Team, ...] = ()

    def at(self, rows: slice) -> "Found":
        """Some of the rows."""
        return jax.tree.map(lambda part: part[rows], self)


def structure(chunk: Chunk) -> object:
    """What two chunks share if they run in one program: everything but the numbers."""
    leaves, tree = jax.tree.flatten(chunk.rules)
    shapes = [np.shape(leaf) for leaf in leaves]
    # Arrays with an axis for rows may have it or not.
    trailing = tuple(shape[1:] if len(shape) == 3 else shape for shape in shapes)
    budgets = chunk.budgets
    mechanisms = [
        (jax.tree.structure(made.mechanism), tuple(map(_kind, jax.tree.leaves(made.mechanism))))
        for made in chunk.made
        if made is not None
    ]
    channelled = tuple(made is not None for made in chunk.made)
    return (
        tree, trailing, channelled, tuple(mechanisms), len(budgets), budgets[-1], chunk.cell.fresh
    )  # fmt: skip


def joint(chunk: Chunk) -> object:
    """What two chunks share, besides, if they run in one call: numbers without an axis of rows."""
    numbers = tuple(float(x) for x in jax.tree.leaves(chunk.rules) if np.ndim(x) == 0)
    shared = tuple(
        np.asarray(leaf).tobytes()
        for made in chunk.made
        if made is not None
        for leaf in jax.tree.leaves(made.mechanism)
        if len(leaf) == 1
    )
    return chunk.budgets, numbers, shared


def _kind(leaf: np.ndarray) -> tuple:
    """The shape of a mechanism's array but for its rows, and whether it has a row per trial."""
    return leaf.shape[1:], len(leaf) == 1


def pieces_of(
    chunks: Sequence[Chunk], layouts: Sequence[Layout], first: int, together: int
) -> list[Piece]:
    """Rows `first` to `first + together` over all chunks; the last row fills up what is missing."""
    ends = np.cumsum([len(chunk.trials) for chunk in chunks])
    rows = np.minimum(np.arange(first, first + together), ends[-1] - 1)
    owner = np.searchsorted(ends, rows, side="right")
    starts = np.concatenate([[0], ends])
    return [
        (chunks[index], layouts[index], rows[owner == index] - starts[index])
        for index in np.unique(owner)
    ]


def run_call(pieces: list[Piece], frame: Frame, shared: attacker.SharedBank | None) -> Found:
    """Call the kernel: final routers in counts, not contrasts."""
    with jax.enable_x64(True):
        arguments, sums = arguments_of(pieces, shared)
        outcomes = kernel.attack_rows(*arguments, **static_of(frame))
        contrasts = np.asarray(outcomes.reused), np.asarray(outcomes.heldout)
        history = (np.asarray(part) for part in outcomes[2:5])
        teams = jax.tree.map(np.asarray, outcomes.teams)
    view_of = list(pieces[0][0].view_of)
    reused = 0.5 * (sums[0][:, view_of] + contrasts[0])
    heldout = 0.5 * (sums[1][:, view_of] + contrasts[1])
    found = Found(reused, heldout, *history, teams=teams)
    return jax.tree.map(lambda part: part.swapaxes(0, 1), found)


def arguments_of(
    pieces: list[Piece], shared: attacker.SharedBank | None
) -> tuple[tuple, tuple[np.ndarray, np.ndarray]]:
    """The kernel's arrays (inside `jax.enable_x64(True)`), and counts of both endpoints together.

    The counts are per row, view and unit, on the reused and on the held-out side.
    """
    budgets = np.array(pieces[0][0].budgets, dtype=np.int32)
    rows = _joined([chunk.rows(layout, here) for chunk, layout, here in pieces])
    fresh = None
    if shared is None:
        fresh = _joined([chunk.fresh_bank(layout, here) for chunk, layout, here in pieces])
    # In one go: every transfer has its price.
    on_device = jax.device_put((rows, fresh, budgets))
    bank = shared if fresh is None else attacker.FreshBank(**on_device[1])
    rules = replace(_joined_rules(pieces), mechanisms=_joined_mechanisms(pieces))
    arguments = (kernel.Rows(**on_device[0]), bank, on_device[2], rules)
    return arguments, (rows["sums_reused"], rows["sums_heldout"])


def static_of(frame: Frame) -> dict:
    """The kernel's arguments that a program is made for."""
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


def _joined_mechanisms(pieces: list[Piece]) -> tuple:
    """The mechanisms of every row; what all trials share is the same in all pieces (`joint`)."""
    every = [chunk.mechanisms(here) for chunk, _, here in pieces]
    shared = [
        jax.tree.map(lambda x: len(x) == 1, tuple(m and m.mechanism for m in chunk.made))
        for chunk, _, _ in pieces
    ]
    return jax.tree.map(
        lambda once, *leaves: leaves[0] if once else np.concatenate(leaves), shared[0], *every
    )


def _joined_rules(pieces: list[Piece]) -> kernel.Rules:
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
    return at_rows(chunk.rules, here, len(chunk.trials)) if chunk.varies else chunk.rules


def at_rows(rules: Rules, here: np.ndarray, trials: int) -> Rules:
    """Rules of some of the `trials`; what is the same in all of them stays."""

    def take(x):
        # Of the rules' arrays only those with a trial axis have three.
        return x[here] if trials > 1 and np.ndim(x) == 3 and len(x) == trials else x

    return jax.tree.map(take, rules)
