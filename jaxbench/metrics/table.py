"""Trials as columns: the table behind `trials.parquet` and `summary.csv`.

Column names, units and which rows are filled: spec of the outputs, `jaxbench attack`.
"""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from jaxbench.benchmark import FINAL_ROUTER
from jaxbench.metrics.trial import RouterScores, TrialMetrics


def trial_table(
    metrics: TrialMetrics,
    router: RouterScores,
    *,
    models: tuple[str, ...],
    budgets: tuple[int, ...],
    keep: tuple[int, ...],
    endpoints: tuple[np.ndarray, np.ndarray],
    eligible: Bool[np.ndarray, " trials"],
    trial: Int[np.ndarray, " trials"],
) -> pd.DataFrame:
    """One row per trial and budget, budget 0 (no attack) first.

    **Arguments:** `budgets`: those of the metrics' columns, the first of which is 1 (the static
    router, which `loss_vs_static_pp` needs); `keep`: those that are reported; `endpoints`: model
    indices A and B per trial; `trial`: the trials' numbers.
    """
    columns = [budgets.index(k) for k in keep]
    # The final router is the last name, which is the -1 of `selected`.
    names = pd.array([*models, FINAL_ROUTER], dtype="str")
    trials, width = len(trial), len(keep) + 1
    filled = np.repeat(eligible[:, None], width, axis=1)
    filled[:, 0] = True
    attacked = filled.copy()
    attacked[:, 0] = False

    def percent(values: np.ndarray) -> np.ndarray:
        return 100.0 * values

    def every(values: np.ndarray) -> np.ndarray:
        return np.repeat(values[:, None], width, axis=1)

    def named(index: np.ndarray, where: np.ndarray) -> pd.api.extensions.ExtensionArray:
        """Names by model index; none where not filled."""
        chosen = np.where(where, index % len(names), -1)
        return names.take(chosen.ravel(), allow_fill=True)

    def per_budget(none: object, values: np.ndarray, where: np.ndarray = filled) -> np.ndarray:
        """Values of the reported budgets behind their value without attack; NaN if not filled."""
        first = np.broadcast_to(np.asarray(none, dtype=np.float64), (trials,))[:, None]
        table = np.concatenate([first, values[:, columns].astype(np.float64)], axis=1)
        return np.where(where, table, np.nan)

    no_attack_reused = percent(metrics.no_attack_reused)
    no_attack_heldout = percent(metrics.no_attack_heldout)
    loss = percent(metrics.selection_loss)
    table = {
        "trial": every(trial),
        "budget": np.broadcast_to(np.array([0, *keep]), (trials, width)),
        "eligible": every(eligible),
        "endpoint_a": named(every(endpoints[0]), every(eligible)),
        "endpoint_b": named(every(endpoints[1]), every(eligible)),
        "no_attack_model": named(every(metrics.winner), every(np.ones(trials, dtype=bool))),
        "selected_model": named(
            np.concatenate([metrics.winner[:, None], metrics.selected[:, columns]], axis=1), filled
        ),
        "selection_loss_pp": per_budget(0.0, loss),
        "score_gap_pp": per_budget(percent(metrics.genuine_gap), percent(metrics.score_gap)),
        "genuine_gap_pp": percent(every(metrics.genuine_gap)),
        "false_winner": per_budget(0.0, metrics.false_winner),
        "selected_router": per_budget(0.0, metrics.selected < 0),
        "rank_drop": per_budget(0.0, metrics.rank_drop),
        "no_attack_reused_pp": every(no_attack_reused),
        "no_attack_heldout_pp": every(no_attack_heldout),
        "selected_reused_pp": per_budget(no_attack_reused, percent(metrics.selected_reused)),
        "selected_heldout_pp": per_budget(no_attack_heldout, percent(metrics.selected_heldout)),
        "router_reused_pp": per_budget(np.nan, percent(router.reused), attacked),
        "router_heldout_pp": per_budget(np.nan, percent(router.heldout), attacked),
        "loss_vs_static_pp": per_budget(0.0, loss - loss[:, :1]),
        "pair_order_kept": every(metrics.pair_order_kept),
        "release_rate": per_budget(np.nan, router.release_rate, attacked),
        "board_error_pp": per_budget(np.nan, percent(router.board_error), attacked),
        "heldout_regret_pp": per_budget(np.nan, percent(metrics.heldout_regret), attacked),
        "rank_reused": per_budget(np.nan, metrics.rank_reused, attacked),
        "rank_heldout": per_budget(np.nan, metrics.rank_heldout, attacked),
    }
    return pd.DataFrame({name: values.ravel() for name, values in table.items()})
