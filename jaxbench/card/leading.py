"""What first place hangs on, and which models no other beats everywhere."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from jaxbench import attacker
from jaxbench.attacker import ENDPOINT_RULES
from jaxbench.benchmark import Benchmark
from jaxbench.card.scores import Scores
from jaxbench.engine import MOST_UNITS, whole_profiles


class Deciding(NamedTuple):
    """The fewest items that decide first place, and the model that would be level without them."""

    items: int
    rival: int


def deciding_items(scores: Scores, order: list[int]) -> Deciding | None:
    """How few items' differences have to vanish before a rival is level with the first or above.

    Under `item_mean` that is leaving these items out. The items on which the first is furthest
    ahead are the fewest. 0 where first place is shared; None without a rival. Of several such
    rivals, the best.
    """
    if len(order) < 2:
        return None
    first, *rivals = order
    counts, totals = scores.benchmark.counts, scores.totals
    found = []
    for rival in rivals:
        ahead = (counts[first] - counts[rival]) * scores.weights
        gained = np.cumsum(np.sort(ahead[ahead > 0])[::-1])
        behind = totals[first] - totals[rival]
        found.append(Deciding(int((gained < behind).sum()) + (behind > 0), rival))
    return min(found, key=lambda one: one.items)


def frontier(task_counts: Int[np.ndarray, "models tasks"]) -> Bool[np.ndarray, " models"]:
    """Who is on the Pareto frontier: no other is as good on every task and better on one."""
    return np.array(
        [
            not ((task_counts >= mine).all(axis=1) & (task_counts > mine).any(axis=1)).any()
            for mine in task_counts
        ]
    )


def endpoints(benchmark: Benchmark, rule: str) -> dict[str, tuple[int, int] | None] | None:
    """The two models that every endpoint rule would mix if all items were public.

    None where an attack takes no benchmark like this one: one model, or more than 256 tasks.
    """
    if len(benchmark.models) < 2 or len(benchmark.tasks) > MOST_UNITS:
        return None
    profiles = whole_profiles(benchmark, rule)
    found: dict[str, tuple[int, int] | None] = {}
    for name in ENDPOINT_RULES:
        pair = attacker.choose_endpoints(profiles, name)
        found[name] = (int(pair.a[0]), int(pair.b[0])) if pair.eligible[0] else None
    return found
