"""Public profiles: what an endpoint rule sees of the genuine models."""

from fractions import Fraction

import numpy as np
from jaxtyping import Float64, Int

from jaxbench import attacker, leaderboard
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.units import Units

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
) -> attacker.PublicProfiles:
    """Profiles made of the public counts per unit.

    **Arguments:** `seen`: the numbers that the endpoint rule compares; `overall`: terms of the
    released overall; `tasks`: the numbers seen are task scores; `rule`: the scoring rule.
    """
    numbers = seen.denominators.shape[1]
    even = (Fraction(1, numbers),) * numbers
    in_categories = scoring.mean_weights(benchmark) if tasks else even
    return attacker.PublicProfiles(
        np.rint(seen(counts)).astype(np.int64),
        np.asarray(seen.denominators),
        *overall,
        mean_weights=in_categories,
        share_weights=in_categories if rule == "equal_category" else even,
    )


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
