"""What the reduced simulator is fed: a benchmark's trials as numbers."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float64, Int

from jaxbench.benchmark.scoring import Overall
from jaxbench.benchmark.units import Units
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine.reduced import ReducedRows, Shape
from jaxbench.engine.routed_right import sum_of_signs


class Differing(NamedTuple):
    """Items on which the endpoints differ per trial and unit, and who leads on them.

    `lead_*` are counts of A less those of B; `step` is the size of every difference, in counts
    (1 where there is none).
    """

    reused: Int[np.ndarray, "trials units"]
    heldout: Int[np.ndarray, "trials units"]
    lead_reused: Int[np.ndarray, "trials units"]
    lead_heldout: Int[np.ndarray, "trials units"]
    step: Int[np.ndarray, " trials"]


def count_differing(
    counts: Int[np.ndarray, "models items"],
    a: Int[np.ndarray, " trials"],
    b: Int[np.ndarray, " trials"],
    reused: Bool[np.ndarray, "trials items"],
    heldout: Bool[np.ndarray, "trials items"],
    units: Units,
) -> Differing:
    """Count the items on which the endpoints of every trial differ, per unit and side.

    An item may stand on neither side.
    """
    differences = counts[a] - counts[b]
    apart = differences != 0
    shape = len(a), units.count
    public, private, lead, behind = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    for unit in range(units.count):
        members = np.flatnonzero(units.of_item == unit)
        here, differ = differences[:, members], apart[:, members]
        known, hidden = reused[:, members], heldout[:, members]
        public[:, unit] = (differ & known).sum(axis=1)
        private[:, unit] = (differ & hidden).sum(axis=1)
        lead[:, unit] = np.where(known, here, 0).sum(axis=1)
        behind[:, unit] = np.where(hidden, here, 0).sum(axis=1)
    step = np.maximum(np.abs(differences).max(axis=1), 1)
    return Differing(public, private, lead, behind, step)


def count_weights(rule: Overall, units: int) -> Float64[np.ndarray, " trials"] | None:
    """What a count is worth in every trial (or in all), or None where that differs by unit."""
    steps = rule.chain.steps
    if any(step.offsets is not None or step.ticks is not None for step in steps):
        return None
    worth = rule(np.eye(units)[None])
    even = np.allclose(worth, worth[:, :1], rtol=1e-12, atol=0.0)
    return worth[:, 0] if even else None


def make_rows(
    differing: Differing,
    shape: Shape,
    units: int,
    reused: Overall,
    heldout: Overall,
    *,
    seed: int,
    trials: Int[np.ndarray, " trials"],
    sums_reused: Float64[np.ndarray, "trials units"],
    sums_heldout: Float64[np.ndarray, "trials units"],
    static: Float64[np.ndarray, "trials coordinates"],
    best_reused: Float64[np.ndarray, " trials"],
    best_heldout: Float64[np.ndarray, " trials"],
    gap: Float64[np.ndarray, " trials"],
) -> ReducedRows:
    """The rows of some trials; call inside `jax.enable_x64(True)`.

    **Arguments:** `units`: how many; `reused`, `heldout`: overall scores (as numpy arrays);
    `sums_*`: counts of A plus those of B; `static`: released numerators of A less those of B;
    `best_*`, `gap`: history of the genuine models.
    """
    streams = (
        Stream.REDUCED_SIGN, Stream.REDUCED_TIE, Stream.REDUCED_NORMAL, Stream.REDUCED_RECORD
    )  # fmt: skip
    public, private = differing.reused.astype(np.int32), differing.heldout.astype(np.int32)
    leads = differing.lead_reused.astype(np.float64), differing.lead_heldout.astype(np.float64)
    weights = [count_weights(r, units) if shape.records else None for r in (reused, heldout)]
    per_row = [np.broadcast_to(1.0 if w is None else w, len(trials)) for w in weights]
    values = sum(shape.slots) + 2 if shape.records else 0
    arrays = (
        public, private, *leads, differing.step.astype(np.float64), sums_reused, sums_heldout,
        static, best_reused, best_heldout, gap, *per_row,
        binomial_tails(differing.reused.sum(axis=1), values),
        binomial_tails(differing.heldout.sum(axis=1), values),
    )  # fmt: skip
    return ReducedRows(*trial_keys(seed, streams, trials), *(jnp.asarray(x) for x in arrays))


def binomial_tails(
    sizes: Int[np.ndarray, " rows"], values: int
) -> Float64[np.ndarray, "rows values"]:
    """P(Bin(size, 1/2) >= x) for x = 0, 1, ..., `values - 1`."""
    distinct, of_row = np.unique(sizes, return_inverse=True)
    tails = np.zeros((len(distinct), values))
    if values:
        for tail, size in zip(tails, distinct.tolist(), strict=True):
            signs, chances = sum_of_signs(size)
            first = round((size + signs[0]) / 2)
            tail[first : first + len(signs)] = np.cumsum(chances[::-1])[::-1]
            tail[: first + 1] = 1.0
    return tails[of_row]
