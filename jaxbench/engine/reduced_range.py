"""What `simulator=reduced` has a law for, told from the request and the benchmark alone.

Whether it can serve never depends on a seed, a trial, or who the endpoints turn out to be: what
would be outside its range for some pair of models is refused from the start.
"""

import numpy as np

from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest
from jaxbench.leaderboard import Release

# Votes of a block of candidates stay exact in float32 (64 x items < 2^24), and items fit counters.
MOST_IN_COORDINATE = 2**18
USE_FULL = "use simulator=full"


def check_benchmark(benchmark: Benchmark) -> None:
    """Refuse outcomes that the reduced simulator has no law for.

    **Errors:** `BadRequest` unless every score is 0 or 1 and every item has a prompt of its own.
    """
    of = benchmark.denominator
    if of != 1:
        found = f"those of {benchmark.name} are multiples of 1/{of}"
        models, items = np.nonzero((benchmark.counts != 0) & (benchmark.counts != of))
        if len(models):
            score = benchmark.counts[models[0], items[0]] / of
            model, item = benchmark.models[models[0]], benchmark.items[items[0]]
            found = f"{model} has {score:g} on item {item!r}"
        raise BadRequest(f"simulator=reduced needs scores of 0 and 1: {found}; {USE_FULL}")
    times = np.bincount(benchmark.prompt_index)
    if times.max() > 1:
        item = benchmark.items[int(np.flatnonzero(benchmark.prompt_index == times.argmax())[0])]
        raise BadRequest(
            f"simulator=reduced needs a prompt of its own for every item: the prompt of item "
            f"{item!r} stands on {times.max()} items; {USE_FULL}"
        )


def check_release(benchmark: Benchmark, units: Units, release: Release, interface: str) -> None:
    """Refuse released numbers that the reduced simulator has no law for.

    **Errors:** `BadRequest` unless every one is an exact sum over its items, all weighed alike.
    """
    if not release.linear:
        raise BadRequest(
            f"simulator=reduced with interface={interface}: it needs released numbers that are "
            "exact sums over items (precision=exact; no clipping at chance within one number); "
            f"{USE_FULL}"
        )
    basis = release.chain(np.eye(units.count)[None])
    sizes = np.bincount(units.of_item, minlength=units.count)
    for c, members in enumerate(release.units):
        weights = basis[:, list(members), c]
        if (weights != weights[:, :1]).any() or (weights == 0).any():
            inside = np.isin(units.of_item, members)
            names = [benchmark.tasks[t] for t in np.unique(benchmark.task_index[inside])]
            shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
            raise BadRequest(
                f"simulator=reduced with interface={interface}: one released number weighs the "
                f"items of {shown} differently; use interface=task, or {USE_FULL}"
            )
        if sizes[list(members)].sum() > MOST_IN_COORDINATE:
            raise BadRequest(
                f"simulator=reduced with interface={interface}: one released number is made of "
                f"more than {MOST_IN_COORDINATE:,} items; {USE_FULL}"
            )
