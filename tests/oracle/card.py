"""A benchmark's card in exact fractions, written from what `jaxbench describe` promises."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

from .scoring import overall
from .split import OracleBenchmark


def scores(bench: OracleBenchmark, rule: str) -> list[Fraction]:
    every = [True] * len(bench.items)
    return [overall(bench, list(row), every, rule) for row in bench.scores]


def parts(bench: OracleBenchmark, rule: str) -> list[Fraction]:
    """What a score of 1 on every item adds to the overall score."""
    every = [True] * len(bench.items)
    one = range(len(bench.items))
    return [overall(bench, [Fraction(int(i == j)) for j in one], every, rule) for i in one]


def pair_p(bench: OracleBenchmark, rule: str, a: int, b: int) -> Fraction:
    """How seldom one random sign per prompt carries the difference as far as it is."""
    by_prompt: Counter[str] = Counter()
    weights = parts(bench, rule)
    for i, item in enumerate(bench.items):
        by_prompt[item.prompt_hash] += weights[i] * (bench.scores[a][i] - bench.scores[b][i])
    chances: dict[Fraction, Fraction] = {Fraction(0): Fraction(1)}
    for difference in by_prompt.values():
        moved: dict[Fraction, Fraction] = {}
        for value, chance in chances.items():
            for sign in (1, -1):
                key = value + sign * difference
                moved[key] = moved.get(key, Fraction(0)) + chance / 2
        chances = moved
    reached = abs(sum(by_prompt.values()))
    return sum((c for value, c in chances.items() if abs(value) >= reached), Fraction(0))


def holm(p: dict[tuple[int, int], Fraction]) -> dict[tuple[int, int], Fraction]:
    adjusted, highest = {}, Fraction(0)
    for step, pair in enumerate(sorted(p, key=lambda pair: p[pair])):
        highest = max(highest, min(Fraction(1), p[pair] * (len(p) - step)))
        adjusted[pair] = highest
    return adjusted


def deciding(bench: OracleBenchmark, rule: str) -> int | None:
    """The fewest items whose differences, put to 0, leave the first level or behind."""
    score = scores(bench, rule)
    if len(score) < 2:
        return None
    first = max(range(len(score)), key=lambda m: (score[m], -m))
    weights = parts(bench, rule)
    for count in range(len(bench.items) + 1):
        for m in range(len(score)):
            if m == first:
                continue
            gaps = [
                w * (p - q)
                for w, p, q in zip(weights, bench.scores[first], bench.scores[m], strict=True)
            ]
            for left_out in combinations(range(len(gaps)), count):
                if sum(gaps) - sum((gaps[i] for i in left_out), Fraction(0)) <= 0:
                    return count
    raise AssertionError("without any difference all are level")
