"""The endpoint rules in exact fractions, for the few trials that float64 cannot decide."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from jaxbench.attacker.public import DECIMALS, PublicProfiles
from jaxbench.attacker.rules import EndpointRule


def choose_exactly(
    profiles: PublicProfiles, trial: int, rule: EndpointRule
) -> tuple[int, int] | None:
    """Endpoints (A, B) of one trial, or None where it is ineligible (spec: attack, section 3)."""
    board = _scores(profiles.numerators[trial], profiles.denominators, trial)
    terms = _scores(profiles.overall_numerators[trial], profiles.overall_denominators, trial)
    overall = [_weighted(profiles.overall_weights, row) for row in terms]

    def dominated(model: int, pool: Sequence[int]) -> bool:
        mine = board[model]
        return any(
            board[other] != mine and all(q >= p for p, q in zip(mine, board[other], strict=True))
            for other in pool
        )

    def distance(pair: tuple[int, int]) -> Fraction:
        apart = [abs(p - q) for p, q in zip(board[pair[0]], board[pair[1]], strict=True)]
        return _weighted(profiles.share_weights, apart) if rule.shares else sum(apart, Fraction(0))

    pool = list(range(len(board)))
    if profiles.shown is not None:
        pool = [m for m in pool if profiles.shown[trial, m]]
    if not rule.leaders:
        best = min(_loss(overall[m]) for m in pool)
        pool = [m for m in pool if _loss(overall[m]) > best]
    if rule.frontier:
        pool = [m for m in pool if not dominated(m, pool)]
    pool.sort(key=lambda m: (-overall[m], m))
    kept = sorted(pool[: rule.cut])
    if len(kept) < 2:
        return None
    # Pairs come in name order and max keeps the first of equals.
    first, second = max(combinations(kept, 2), key=distance)
    if rule.shares:
        levels = [-overall[first], -overall[second]]
    else:
        levels = [_loss(_weighted(profiles.mean_weights, board[m])) for m in (first, second)]
    return (first, second) if levels[0] >= levels[1] else (second, first)


def _scores(numerators, denominators, trial: int) -> list[list[Fraction]]:
    of = denominators[trial if len(denominators) > 1 else 0]
    return [[Fraction(int(n), int(d)) for n, d in zip(row, of, strict=True)] for row in numerators]


def _weighted(weights: Sequence[Fraction], scores: Sequence[Fraction]) -> Fraction:
    return sum((w * p for w, p in zip(weights, scores, strict=True)), Fraction(0))


def _loss(score: Fraction) -> Fraction:
    return round(1 - score, DECIMALS)
