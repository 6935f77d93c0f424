"""Public profiles: what an endpoint rule sees of the genuine models."""

from fractions import Fraction
from math import lcm

import numpy as np
from jaxtyping import Float64, Int

from jaxbench import attacker, leaderboard
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest

# Whole numbers up to this are exact in float64.
LARGEST = 2**53
# Numerators, denominators and weights of the terms of a released overall score.
Terms = tuple[
    Int[np.ndarray, "trials models terms"],
    Int[np.ndarray, "#trials terms"],
    tuple[Fraction, ...],
]


def public_profiles(
    benchmark: Benchmark,
    counts: Float64[np.ndarray, "trials models units"],
    seen: Chain,
    overall: Terms,
    *,
    tasks: bool,
    rule: str,
    extra_overall: bool = False,
) -> attacker.PublicProfiles:
    """Profiles made of the public counts per unit.

    **Arguments:** `seen`: the numbers that the endpoint rule compares; `overall`: terms of the
    released overall; `tasks`: the numbers seen are task scores; `rule`: the scoring rule;
    `extra_overall`: the released overall is one more number, with the weight of any other.

    **Errors:** `BadRequest` where the overall cannot be written as one exact number.
    """
    numbers = seen.denominators.shape[1] + extra_overall
    even = (Fraction(1, numbers),) * numbers
    mean = shares = even
    if tasks and not extra_overall:
        mean = scoring.mean_weights(benchmark)
        shares = mean if rule == "equal_category" else even
    numerators = np.rint(seen(counts)).astype(np.int64)
    denominators = np.asarray(seen.denominators)
    if extra_overall:
        one, of = _as_one(overall)
        rows = max(len(denominators), len(of))
        denominators = np.concatenate(
            [np.broadcast_to(x, (rows, x.shape[1])) for x in (denominators, of)], axis=1
        )
        numerators = np.concatenate([numerators, one], axis=2)
    return attacker.PublicProfiles(
        numerators, denominators, *overall, mean_weights=mean, share_weights=shares
    )


def _as_one(
    overall: Terms,
) -> tuple[Int[np.ndarray, "trials models 1"], Int[np.ndarray, "#trials 1"]]:
    """The released overall as one numerator and one denominator."""
    numerators, denominators, weights = overall
    parts = [[w / int(d) for w, d in zip(weights, row, strict=True)] for row in denominators]
    common = [lcm(*(part.denominator for part in row)) for row in parts]
    if max(common) > LARGEST:
        raise BadRequest(
            "extra_overall: the exact overall has no common denominator below 2^53; expected a "
            "released precision (precision=5)"
        )
    factors = np.array(
        [[int(part * of) for part in row] for row, of in zip(parts, common, strict=True)],
        dtype=np.int64,
    )
    one = (numerators * factors[:, None, :]).sum(axis=2, keepdims=True)
    return one, np.array(common, dtype=np.int64)[:, None]


def terms(overall: scoring.Overall, counts: Float64[np.ndarray, "trials models units"]) -> Terms:
    """The terms of an overall score that each row has on its own."""
    return (
        np.rint(overall.chain(counts)).astype(np.int64),
        np.asarray(overall.chain.denominators),
        overall.weights,
    )


def whole_profiles(benchmark: Benchmark, rule: str) -> attacker.PublicProfiles:
    """Exact task profiles with every item public, as one board.

    **Arguments:** `rule`: `item_mean`, `equal_task` or `equal_category`.

    **Errors:** `BadRequest` where the benchmark lacks the categories that the rule needs.
    """
    units = Units.of(benchmark, subtasks=False, categories=False)
    every = np.ones((1, len(benchmark.items)), dtype=bool)
    counted = units.sizes(every[0])[None] * benchmark.denominator
    counts = leaderboard.tally(benchmark, units, every, ~every).reused.astype(np.float64)
    return public_profiles(
        benchmark,
        counts,
        leaderboard.task_scores(units, counted, None),
        terms(scoring.scoring_rule(benchmark, units, rule, counted), counts),
        tasks=True,
        rule=rule,
    )
