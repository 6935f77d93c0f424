"""Every distinct way to shuffle labels within groups, where there are few enough to list."""

from functools import cache
from math import factorial, prod

import numpy as np
from jaxtyping import Int, Shaped

from jaxbench.errors import BadRequest


def relabellings(
    labels: Shaped[np.ndarray, " slots"], groups: Int[np.ndarray, " slots"], *, most: int = 100_000
) -> Shaped[np.ndarray, "relabellings slots"] | None:
    """All distinct labellings that permuting within groups reaches, or None if `most` or more.

    The labels as they are are among them. With these the test is exact (`statistics_of`,
    `exact_p`); else draw permutations (spec: drift, section 3.4).

    **Errors:** `BadRequest` unless every label has a group.
    """
    if groups.shape != labels.shape:
        raise BadRequest(f"{labels.size} labels in {groups.size} groups; expected one group each")
    kinds, codes = np.unique(labels, return_inverse=True)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    counts = [_count(codes[slots]) for slots in members]
    total = prod(counts)
    if total >= most:
        return None
    ways = np.unravel_index(np.arange(total), counts) if counts else ()
    found = np.empty((total, len(codes)), dtype=np.int64)
    for slots, way in zip(members, ways, strict=True):
        found[:, slots] = _arrangements(tuple(np.bincount(codes[slots]).tolist()))[way]
    return kinds[found]


def _count(codes: np.ndarray) -> int:
    """How many distinct orders there are."""
    return factorial(len(codes)) // prod(map(factorial, np.bincount(codes).tolist()))


def _arrangements(numbers: tuple[int, ...]) -> Int[np.ndarray, "ways slots"]:
    """Every order of `numbers[c]` copies of each code c."""

    @cache
    def rest(numbers: tuple[int, ...]) -> np.ndarray:
        if not any(numbers):
            return np.zeros((1, 0), dtype=np.int64)
        parts = []
        for code, number in enumerate(numbers):
            if number:
                fewer = rest((*numbers[:code], number - 1, *numbers[code + 1 :]))
                first = np.full((len(fewer), 1), code, dtype=np.int64)
                parts.append(np.concatenate([first, fewer], axis=1))
        return np.concatenate(parts)

    return rest(numbers)
