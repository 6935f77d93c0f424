"""Summaries of sweeps made by hand, for tests of what is read from them."""

import pandas as pd

METRICS = (
    "selection_loss_pp", "score_gap_pp", "false_winner", "pair_order_kept", "release_rate",
    "board_error_pp", "router_reused_pp", "router_heldout_pp",
)  # fmt: skip


def condition(losses, *, benchmark="bench", coordinates=1, width=0.1, **columns):
    """The rows of one condition: `losses` by budget, other columns and metrics as they are given.

    A metric is one number, or one per budget of `losses`; an interval is the number and `width` to
    either side.
    """
    front = {"endpoints": "top5", "interface": "task", "mechanism": "none"}
    front |= {k: v for k, v in columns.items() if k not in METRICS}
    given = {"pair_order_kept": 0.9, "release_rate": 1.0} | columns
    rows = []
    for place, (budget, loss) in enumerate({0: 0.0, **losses}.items()):
        row = {"benchmark": benchmark, **front, "coordinates": coordinates, "budget": budget,
               "eligible_trials": 10, "attempted_trials": 10}  # fmt: skip
        for metric in METRICS:
            value = loss if metric == "selection_loss_pp" else given.get(metric, 0.0)
            if isinstance(value, list):
                value = value[max(0, place - 1)]
            ends = {metric: value, f"{metric}_low": value - width, f"{metric}_high": value + width}
            row |= ends
        rows.append(row)
    return pd.DataFrame(rows)


def summary(*conditions):
    """A summary of these conditions."""
    return pd.concat(conditions, ignore_index=True)
