"""What an attack costs in truth: expected scores on fresh items, which only a synthetic world has.

A final router of k >= 2 submissions sends a fresh prompt to either endpoint with probability one
half, whatever it saw: the prompt's signs are in no vote (spec: lifespan, exact law, item 4). So its
expected score there is the mean of its endpoints'. The static router (k = 1) sends every item of a
coordinate to the endpoint that is publicly better at it, and can generalise. Where a mechanism
shows an earlier router of the team, that one's is the same mean.
"""

import numpy as np
import pandas as pd

from jaxbench.benchmark.scoring import task_weights
from jaxbench.engine import ChunkOutcome, Evaluator
from jaxbench.synthetic import World
from jaxbench.synthetic.worlds import SCORING

COLUMNS = ("no_attack_true_pp", "selected_true_pp", "true_loss_pp")


def add_truth(frame: pd.DataFrame, outcome: ChunkOutcome, world: World) -> pd.DataFrame:
    """The columns of the truth behind a table of trials, in percentage points.

    `true_loss_pp` is the expected score on fresh items of the pick before the attack less that of
    the pick after; empty where the table's `selection_loss_pp` is.
    """
    evaluator = outcome.cell.evaluator
    request = evaluator.request
    weights, unit_of = _tasks(world, evaluator)
    models = world.truth @ weights
    budgets = (0, *request.budgets)
    trials = len(outcome.trials)
    a, b = outcome.endpoints.a, outcome.endpoints.b
    router = np.repeat((0.5 * (models[a] + models[b]))[:, None], len(budgets), axis=1)
    # A tied task takes every item's tie sign, which is a fair coin.
    side = outcome.static_side[:, unit_of]
    static = 0.5 * ((1.0 + side) * world.truth[a] + (1.0 - side) * world.truth[b])
    for column, budget in enumerate(budgets):
        if budget and outcome.condition.is_static(budget):
            router[:, column] = static @ weights
    if outcome.condition.submitter.name == "development":
        # A model of its own, which no world knows.
        router = np.full_like(router, np.nan)
    before = models[outcome.measured.winner]
    columns = [evaluator.budgets.index(k) for k in request.budgets]
    selected = outcome.measured.selected[:, columns]
    after = np.where(selected < 0, router[:, 1:], models[np.maximum(selected, 0)])
    after = np.concatenate([before[:, None], after], axis=1)
    empty = frame["selection_loss_pp"].isna().to_numpy().reshape(trials, len(budgets))
    found = {
        "no_attack_true_pp": np.repeat(before[:, None], len(budgets), axis=1),
        "selected_true_pp": np.where(empty, np.nan, after),
        "true_loss_pp": np.where(empty, np.nan, before[:, None] - after),
    }
    added = pd.DataFrame({k: 100.0 * v.ravel() for k, v in found.items()}, index=frame.index)
    return pd.concat([frame, added], axis=1)


def _tasks(world: World, evaluator: Evaluator) -> tuple[np.ndarray, np.ndarray]:
    """The weight of every task of a world in the overall score, and the unit that it is in.

    Small tasks may be pooled, and then share the weight of the pooled task by their items. A mean
    win rate is no mean of scores: its truth is not known.
    """
    benchmark, scoring = evaluator.benchmark, evaluator.request.scoring
    sizes, pooled = world.benchmark.task_sizes, benchmark.task_sizes
    if scoring == "item_mean":
        whole = pooled / len(benchmark.items)
    elif scoring in SCORING:
        whole = np.array([float(w) for w in task_weights(benchmark, scoring)])
    else:
        whole = np.full(len(pooled), np.nan)
    place = {item: i for i, item in enumerate(benchmark.items)}
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # A world's items stand task by task, and no task is cut into units.
    where = np.array([place[world.benchmark.items[i]] for i in first])
    task = benchmark.task_index[where]
    return whole[task] * sizes / pooled[task], evaluator.units.of_item[where]
