"""The endpoint rule in exact fractions, for the few trials that float64 cannot decide."""

from fractions import Fraction
from itertools import combinations

from jaxbench.attacker.public import DECIMALS, PublicProfiles


def choose_exactly(profiles: PublicProfiles, trial: int, cut: int) -> tuple[int, int]:
    """Endpoints (A, B) of one eligible trial (spec: attack, section 3)."""
    board = [
        [Fraction(int(n), int(d)) for n, d in zip(row, profiles.denominators, strict=True)]
        for row in profiles.numerators[trial]
    ]
    models = range(len(board))

    def weighted(weights: tuple[Fraction, ...], model: int) -> Fraction:
        return sum((w * p for w, p in zip(weights, board[model], strict=True)), Fraction(0))

    def dominated(model: int) -> bool:
        mine = board[model]
        return any(
            other != mine and all(q >= p for p, q in zip(mine, other, strict=True))
            for other in board
        )

    def distance(pair: tuple[int, int]) -> Fraction:
        return sum(
            (abs(p - q) for p, q in zip(board[pair[0]], board[pair[1]], strict=True)), Fraction(0)
        )

    frontier = [m for m in models if not dominated(m)]
    frontier.sort(key=lambda m: (-weighted(profiles.overall_weights, m), m))
    # Pairs come in name order and max keeps the first of equals.
    first, second = max(combinations(sorted(frontier[:cut]), 2), key=distance)
    level = [round(1 - weighted(profiles.mean_weights, m), DECIMALS) for m in (first, second)]
    return (first, second) if level[0] >= level[1] else (second, first)
