"""What theory says about an attack's mechanism at the size of that attack."""

import numpy as np

from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.split import SplitPlan
from jaxbench.leaderboard import Interface, task_parts
from jaxbench.leaderboard.promise_words import Size
from jaxbench.leaderboard.promises import chain_promises
from jaxbench.options import AttackRequest
from jaxbench.options.mechanism_names import spec_of

PLAIN = "formulas take a released number for a plain mean of items"


def promised(benchmark: Benchmark, request: AttackRequest) -> list[str]:
    """The sentences for a request's mechanism; none without one.

    **Arguments:** `benchmark`: with small tasks pooled, as the attack splits it.

    Where interfaces differ in what theory says, each sentence names its own.
    """
    if not request.mechanism:
        return []
    plan = SplitPlan(benchmark, request.holdout_fraction)
    found = {
        word: chain_promises(request.mechanism, _size(benchmark, request, plan, word))
        for word in request.interface
    }
    first, *others = found.values()
    if all(other == first for other in others):
        sentences = list(first)
    else:
        sentences = [f"interface {word}: {s}" for word, told in found.items() for s in told]
    if request.scoring != "item_mean":
        sentences.append(f"{PLAIN}; under scoring={request.scoring} tasks weigh theirs otherwise")
    return sentences


def _size(benchmark: Benchmark, request: AttackRequest, plan: SplitPlan, word: str) -> Size:
    """The size as formulas need it: of the released number with the fewest reused items."""
    # Every split holds out as many items of a task; of an item category it is so on average.
    kept = {t.name: 1.0 - t.target / sum(t.sizes) for t in plan.tasks}
    reused = np.array([kept[task] for task in benchmark.item_tasks])
    items = [round(float(reused[of].sum())) for of in _numbers(benchmark, request, word)]
    whole = float(reused.sum())
    share = 1.0 if request.reused_items is None else request.reused_items / whole
    fewest = max(1, round(share * min(items)))
    largest = max(size for task in plan.tasks for size in task.sizes)
    return Size(
        items=fewest,
        budget=max(request.budgets),
        sensitivity=min(1.0, largest / fewest) if largest > 1 else None,
        numbers=len(items),
        on=request.on,
        state=request.state,
    )


def _numbers(benchmark: Benchmark, request: AttackRequest, word: str) -> list[np.ndarray]:
    """Which items every number is made of that the mechanism acts on, as masks."""
    interface = Interface.parse(word)
    remembers = any(spec_of(part.name).places for part in request.mechanism)
    if interface.ranked or interface.kind == "aggregate" or (remembers and request.on == "overall"):
        return [np.ones(len(benchmark.items), dtype=bool)]
    if interface.kind == "category" and benchmark.categories is not None:
        names = np.array(benchmark.categories)
        return [names == name for name in sorted(set(benchmark.categories))]
    parts = task_parts(benchmark, interface, request.group_seed)
    return [np.isin(benchmark.task_index, part) for part in parts]
