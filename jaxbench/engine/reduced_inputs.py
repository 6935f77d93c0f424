"""What the reduced simulator is fed: its range, and a benchmark's trials as numbers."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float64, Int

from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.scoring import Overall
from jaxbench.benchmark.units import Units
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine.reduced import ReducedRows, Shape
from jaxbench.engine.routed_right import sum_of_signs
from jaxbench.errors import BadRequest
from jaxbench.leaderboard import Release
from jaxbench.shapes import bucket

# Votes of a block of candidates stay exact in float32 (64 x items < 2^24), and items fit counters.
MOST_IN_COORDINATE = 2**18
USE_FULL = "use simulator=full"


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
    units: Units,
) -> Differing:
    """Count the items on which the endpoints of every trial differ, per unit and side."""
    differences = counts[a] - counts[b]
    apart = differences != 0
    shape = len(a), units.count
    public, total, lead, both = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    for unit in range(units.count):
        members = np.flatnonzero(units.of_item == unit)
        here, known = differences[:, members], reused[:, members]
        public[:, unit] = (apart[:, members] & known).sum(axis=1)
        total[:, unit] = apart[:, members].sum(axis=1)
        lead[:, unit] = np.where(known, here, 0).sum(axis=1)
        both[:, unit] = here.sum(axis=1)
    return Differing(
        public, total - public, lead, both - lead, np.maximum(np.abs(differences).max(axis=1), 1)
    )


def reduced_shape(
    counts: Int[np.ndarray, "models items"],
    pairs: Int[np.ndarray, "pairs 2"],
    units: Units,
    release: Release,
    *rules: Overall,
) -> Shape:
    """The shape that holds every split of every pair, padded to buckets.

    **Arguments:** `rules`: the overall score on the reused and the held-out side.
    """
    apart = counts[pairs[:, 0]] != counts[pairs[:, 1]]
    most = [apart[:, units.of_item == u].sum(axis=1).max(initial=0) for u in range(units.count)]
    return Shape(
        coordinates=release.units,
        slots=tuple(bucket(int(n)) for n in most),
        records=all(count_weights(rule, units.count) is not None for rule in rules),
    )


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


def check_reduced(
    benchmark: Benchmark,
    pairs: Int[np.ndarray, "pairs 2"],
    units: Units,
    release: Release,
    *,
    interface: str,
    routers: str,
) -> None:
    """Refuse what the reduced simulator has no law for, before anything is compiled.

    **Arguments:** `pairs`: every pair of endpoints that some trial has (models by number);
    `release`: what `interface` releases (of any trial).

    **Errors:** `BadRequest` that says what is outside the range.
    """
    if routers != "prng":
        raise BadRequest(
            f"simulator=reduced with routers={routers}: it draws routers afresh in every trial; "
            f"use routers=prng, or {USE_FULL}"
        )
    if not release.linear:
        raise BadRequest(
            f"simulator=reduced with interface={interface}: it needs released numbers that are "
            "exact sums over items (precision=exact; no clipping at chance within one number); "
            f"{USE_FULL}"
        )
    basis = release.chain(np.eye(units.count)[None])
    for a, b in pairs:
        apart = np.abs(benchmark.counts[a] - benchmark.counts[b])
        _check_pair(benchmark, (int(a), int(b)), apart, units, release, basis, interface)


def _check_pair(benchmark, pair, apart, units, release, basis, interface) -> None:
    models = " and ".join(benchmark.models[m] for m in pair)
    active = np.flatnonzero(apart)
    if not len(active):
        return
    uneven = active[apart[active] != apart[active[0]]]
    if len(uneven):
        one, other = benchmark.items[active[0]], benchmark.items[uneven[0]]
        of = benchmark.denominator
        raise BadRequest(
            f"simulator=reduced needs scores of 0 and 1: {models} differ by "
            f"{apart[active[0]] / of:g} on item {one!r} and by {apart[uneven[0]] / of:g} on "
            f"{other!r}; {USE_FULL}"
        )
    prompts, first, times = np.unique(
        benchmark.prompt_index[active], return_index=True, return_counts=True
    )
    if len(prompts) < len(active):
        item = benchmark.items[active[first[np.argmax(times)]]]
        raise BadRequest(
            f"simulator=reduced needs a prompt of its own for every item: the prompt of item "
            f"{item!r} stands on {times.max()} items on which {models} differ; {USE_FULL}"
        )
    unit = units.of_item[active]
    for c, members in enumerate(release.units):
        held = [u for u in members if (unit == u).any()]
        weights = basis[:, held, c]
        if (weights != weights[:, :1]).any() or (weights == 0).any():
            names = sorted({benchmark.tasks[benchmark.task_index[active[unit == u][0]]]
                            for u in held})  # fmt: skip
            raise BadRequest(
                f"simulator=reduced with interface={interface}: one released number weighs the "
                f"items of {', '.join(names)} differently; use interface=task, or {USE_FULL}"
            )
        if np.isin(unit, members).sum() > MOST_IN_COORDINATE:
            raise BadRequest(
                f"simulator=reduced: {models} differ on more than {MOST_IN_COORDINATE:,} items of "
                f"one released number; {USE_FULL}"
            )
