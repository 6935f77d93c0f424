"""What an attack costs in truth: expected scores on fresh items, which only a synthetic world has.

A final router of k >= 2 submissions sends a fresh prompt to either endpoint with probability one
half, whatever it saw: the prompt's signs are in no vote (spec: lifespan, exact law, item 4). So its
expected score there is the mean of its endpoints'. The static router (k = 1) sends every item of a
coordinate to the endpoint that is publicly better at it, and can generalise.
"""

import numpy as np
import pandas as pd

from jaxbench.engine import ChunkOutcome
from jaxbench.synthetic import World

COLUMNS = ("no_attack_true_pp", "selected_true_pp", "true_loss_pp")


def add_truth(frame: pd.DataFrame, outcome: ChunkOutcome, world: World) -> pd.DataFrame:
    """The columns of the truth behind a table of trials, in percentage points.

    `true_loss_pp` is the expected score on fresh items of the pick before the attack less that of
    the pick after; empty where the table's `selection_loss_pp` is.
    """
    request = outcome.cell.evaluator.request
    models = world.true_scores(request.scoring)
    weights = world.task_weights(request.scoring)
    budgets = (0, *request.budgets)
    trials = len(outcome.trials)
    a, b = outcome.endpoints.a, outcome.endpoints.b
    router = np.repeat((0.5 * (models[a] + models[b]))[:, None], len(budgets), axis=1)
    if 1 in budgets:
        units = outcome.cell.evaluator.units
        # A tied task takes every item's tie sign, which is a fair coin.
        side = np.stack(
            [outcome.static_side[:, list(task)].mean(axis=1) for task in units.tasks], axis=1
        )
        static = 0.5 * ((1.0 + side) * world.truth[a] + (1.0 - side) * world.truth[b])
        router[:, budgets.index(1)] = static @ weights
    before = models[outcome.measured.winner]
    columns = [outcome.cell.evaluator.budgets.index(k) for k in request.budgets]
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
