"""Outcomes as tables of trials."""

import pandas as pd

from jaxbench import metrics
from jaxbench.engine.outcome import ChunkOutcome


def trial_table(outcome: ChunkOutcome) -> pd.DataFrame:
    """One row per trial and reported budget, budget 0 (no attack) first (`metrics.trial_table`)."""
    evaluator, pair = outcome.cell.evaluator, outcome.endpoints
    return metrics.trial_table(
        outcome.measured,
        outcome.router,
        models=evaluator.benchmark.models,
        budgets=evaluator.budgets,
        keep=evaluator.request.budgets,
        endpoints=(pair.a, pair.b),
        eligible=pair.eligible,
        trial=outcome.trials,
    )
