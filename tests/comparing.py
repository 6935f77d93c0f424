"""Tables of trials against the oracle's rows, column by column."""

import math

from hypothesis import currently_in_test_context, event

EXACT = (
    "eligible", "endpoint_a", "endpoint_b", "no_attack_model", "selected_model",
    "selected_router", "false_winner", "rank_drop", "rank_reused", "rank_heldout",
)  # fmt: skip
CLOSE = (
    "selection_loss_pp", "score_gap_pp", "genuine_gap_pp", "no_attack_reused_pp",
    "no_attack_heldout_pp", "selected_reused_pp", "selected_heldout_pp", "router_reused_pp",
    "router_heldout_pp", "loss_vs_static_pp", "heldout_regret_pp", "pair_order_kept",
    "release_rate", "board_error_pp",
)  # fmt: skip


def compare(table, rows: list[dict]) -> None:
    """Every column of every row: names and whole numbers exactly, scores to 1e-9 pp."""
    for found, row in zip(table.to_dict("records"), rows, strict=True):
        assert (found["trial"], found["budget"]) == (row["trial"], row["budget"])
        for column in EXACT + CLOSE:
            empty = row[column] is None
            assert is_empty(found[column]) == empty, (column, found, row)
            if empty:
                continue
            if column in EXACT:
                same = found[column] == row[column]
            else:
                same = math.isclose(found[column], row[column], rel_tol=0, abs_tol=1e-9)
            assert same, (column, found, row)


def is_empty(value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def note(what: str) -> None:
    """An event of the example that hypothesis runs; nothing outside of one."""
    if currently_in_test_context():
        event(what)
