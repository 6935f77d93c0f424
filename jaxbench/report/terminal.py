"""What a run says on the terminal."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table


class Column(NamedTuple):
    """How a metric is shown."""

    heading: str
    scale: float
    decimals: int


# The whole fits a terminal of 80 columns.
COLUMNS = {
    "selection_loss_pp": Column("selection loss,\npp", 1.0, 2),
    "score_gap_pp": Column("score gap,\npp", 1.0, 1),
    "false_winner": Column("false win-\nners, %", 100.0, 0),
    "selected_router": Column("router\nchosen, %", 100.0, 0),
}


def print_attack(console: Console, summary: pd.DataFrame, notes: Sequence[str]) -> None:
    """One table per condition: mean and 95 % interval per budget, then the notes."""
    for (rule, interface), rows in summary.groupby(["endpoints", "interface"], sort=False):
        name, coordinates = rows["benchmark"].iloc[0], rows["coordinates"].iloc[0]
        number = "1 coordinate" if coordinates == 1 else f"{coordinates} coordinates"
        title = f"{name}: {rule}, interface {interface} ({number})"
        if "mechanism" in rows and rows["mechanism"].iloc[0] != "none":
            title += f", {rows['mechanism'].iloc[0]}"
        console.print(_table(title, rows))
    for note in notes:
        console.print(note, markup=False, highlight=False)


def _table(title: str, rows: pd.DataFrame) -> Table:
    table = Table(
        title=escape(title), title_justify="left", title_style="bold",
        box=None, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    metrics = dict(COLUMNS)
    banks = "banks" in rows
    if banks:
        # Their column takes the room of the router's.
        del metrics["selected_router"]
    for heading in ("budget", "trials", *(column.heading for column in metrics.values())):
        table.add_column(heading, justify="right", no_wrap=True)
    if banks:
        heading = f"{rows['banks'].iloc[0]} banks,\npp"
        table.add_column(heading, justify="right", no_wrap=True)
    for _, row in rows.iterrows():
        cells = ["none" if row["budget"] == 0 else f"{row['budget']:,}"]
        cells.append(f"{row['eligible_trials']:,}")
        cells += [_cell(row, metric, column) for metric, column in metrics.items()]
        if banks:
            middle, spread = (row[f"selection_loss_pp_bank_{x}"] for x in ("mean", "sd"))
            cells.append("" if pd.isna(middle) else f"{_number(middle, 2)} ± {_number(spread, 2)}")
        table.add_row(*cells)
    return table


def _cell(row: pd.Series, metric: str, column: Column) -> str:
    if pd.isna(row[metric]):
        return ""
    mean, low, high = (
        _number(column.scale * row[f"{metric}{end}"], column.decimals)
        for end in ("", "_low", "_high")
    )
    return f"{mean} [{low}, {high}]"


def _number(value: float, decimals: int) -> str:
    # Adding 0.0 turns the -0.0 of a rounded small number into 0.0.
    return f"{round(value, decimals) + 0.0:.{decimals}f}"
