"""What mechanisms prevent and cost: a line per mechanism, a few budgets side by side."""

from collections.abc import Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxbench.report.policy_table import (
    MARK,
    group_name,
    number,
    policies,
    submissions,
)

# Mechanisms of one group that a terminal shows; `mechanisms.csv` has all.
MOST_LINES = 80
SHORTEST = 16
NOTES = (
    "kept: share of pairs of models, 1 pp or more apart, that the board puts in order, %",
    "error: how far the board's best score is from the best true one, pp",
    "told: share of submissions about which a number of their own was released, %",
    "loss, gap: selection loss and score gap after so many submissions, pp",
    "1 pp at: submissions after which the mean loss is 1 pp; > the largest that was tried",
    "mechanisms with all their parameters stand in mechanisms.csv",
    f"{MARK} no other line of this table is better in kept and loss together",
)


def print_mechanisms(
    console: Console, table: pd.DataFrame, groups: Sequence[str], names: Sequence[str]
) -> None:
    """A table per group of mechanisms, in the order of the study, and what its columns mean.

    **Arguments:** `table`: mechanisms with a line per budget; `groups`, `names`: columns that tell
    groups and mechanisms apart.
    """
    for values, rows in table.groupby(list(groups), sort=False, dropna=False):
        first = rows.iloc[0]
        draws = f", {first['draws']:,} draws" if first["draws"] > 1 else ""
        console.print(_table(f"{group_name(groups, values)}{draws}", rows, names))
        lines = len(policies(rows, names))
        if lines > MOST_LINES:
            more = f"and {lines - MOST_LINES:,} more in mechanisms.csv"
            console.print(more, markup=False, highlight=False)
    for note in NOTES:
        console.print(note, markup=False, highlight=False)


def _table(title: str, rows: pd.DataFrame, names: Sequence[str]) -> Table:
    table = Table(
        title=escape(title), title_justify="left", title_style="bold", box=None, pad_edge=False,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    budgets = sorted(int(k) for k in rows["budget"].unique())
    table.add_column("", no_wrap=True)
    table.add_column("", min_width=SHORTEST, overflow="fold")
    for head in ("kept", "error", "told"):
        table.add_column(head, justify="right", no_wrap=True)
    for budget in budgets:
        table.add_column(f"loss\nat {budget:,}", justify="right", no_wrap=True)
    for head in (f"gap at\n{budgets[-1]:,}", "1 pp\nat"):
        table.add_column(head, justify="right", no_wrap=True)
    for name, line in policies(rows, names)[:MOST_LINES]:
        last = line.iloc[-1]
        # Every line has every budget.
        losses = [
            number(row, "selection_loss_pp", 1.0, 2, interval=row["budget"] == budgets[-1])
            for _, row in line.iterrows()
        ]
        table.add_row(
            MARK if last["undominated"] else "",
            escape(name),
            number(last, "pair_order_kept", 100.0, 1),
            number(last, "board_error_pp", 1.0, 2),
            number(last, "release_rate", 100.0, 0),
            *losses,
            number(last, "score_gap_pp", 1.0, 2),
            submissions(last["submissions_to_1pp"], int(last["largest_budget"])),
        )
    return table
