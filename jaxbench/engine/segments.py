"""Slots of a kernel: where every unit lies, and what is computed on stretches of them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float64, Num

from jaxbench.attacker import decoder
from jaxbench.benchmark.scoring import Overall
from jaxbench.leaderboard import Release, evaluate


class Segment(NamedTuple):
    """Neighbouring units that lie in one coordinate under every condition."""

    slots: slice
    units: tuple[int, ...]
    coordinates: tuple[int, ...]


def unit_slots(release: Release, sizes: tuple[int, ...]) -> list[slice]:
    """Slots of every unit, laid out in the order of the coordinates of a release."""
    order = [unit for units in release.units for unit in units]
    stops = list(accumulate(sizes[unit] for unit in order))
    starts = [stop - sizes[unit] for stop, unit in zip(stops, order, strict=True)]
    spans = dict(zip(order, map(slice, starts, stops), strict=True))
    return [spans[unit] for unit in range(len(sizes))]


def segments_of(releases: Sequence[Release], units: Sequence[slice]) -> list[Segment]:
    """The longest stretches of units that no condition cuts, in the order of their slots."""
    owners = [release.coordinate_of_unit() for release in releases]
    order = sorted(range(len(units)), key=lambda unit: units[unit].start)
    runs: list[list[int]] = []
    for unit in order:
        if runs and all(owner[runs[-1][-1]] == owner[unit] for owner in owners):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return [
        Segment(
            slots=slice(units[run[0]].start, units[run[-1]].stop),
            units=tuple(run),
            coordinates=tuple(int(owner[run[0]]) for owner in owners),
        )
        for run in runs
    ]


def static_votes(
    segment: Segment, static: Sequence[Float64[Array, "rows _"]]
) -> Float64[Array, "rows conditions slots"]:
    """The vote of the router for budget 1: the endpoint with the better released coordinate."""
    better = [jnp.sign(s[:, c]) for s, c in zip(static, segment.coordinates, strict=True)]
    return decoder.static_votes(jnp.stack(better, axis=1), segment.slots.stop - segment.slots.start)


def contrasts_of(
    differences: Num[Array, "rows views slots"],
    signs: Sequence[Array],
    segments: Sequence[Segment],
    units: Sequence[slice] | None,
) -> list[Num[Array, "rows views candidates"]]:
    """Contrasts of a block of candidates per unit, or in one sum where no units are asked for."""
    if units is None:
        parts = [
            evaluate.candidate_contrasts(differences[:, :, segment.slots], sign)
            for sign, segment in zip(signs, segments, strict=True)
        ]
        # Whole numbers in a checked range: any order of addition gives the same sum.
        return [sum(parts[1:], start=parts[0])]
    found: dict[int, Array] = {}
    for sign, segment in zip(signs, segments, strict=True):
        for unit in segment.units:
            span, start = units[unit], segment.slots.start
            mine = evaluate.slots_of(sign, slice(span.start - start, span.stop - start))
            found[unit] = evaluate.candidate_contrasts(differences[:, :, span], mine)
    return [found[unit] for unit in range(len(units))]


def scores_of(
    overalls: Sequence[Overall],
    contrasts: Sequence[Array],
    sums: Float64[Array, "rows views units"],
) -> Float64[Array, "rows views candidates"]:
    """Overall scores of a block of candidates under every view."""
    return jnp.stack(
        [
            evaluate.candidate_scores(overall, [c[:, view] for c in contrasts], sums[:, view])
            for view, overall in enumerate(overalls)
        ],
        axis=1,
    )
