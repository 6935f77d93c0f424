"""What a sweep says on the terminal: what would run, and what came out."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Conditions that a terminal shows; `summary.csv` has all.
MOST_ROWS = 24
# Characters of a value.
LONGEST = 20
# Budgets side by side.
MOST_BUDGETS = 4


def print_plan(
    console: Console, programs: Sequence[Mapping[str, object]], notes: Sequence[str]
) -> None:
    """The programs of a dry run, one per line, then what they add up to."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    heads = list(programs[0]) if programs else []
    for head in heads:
        table.add_column(head, justify="left" if head == "cells" else "right", no_wrap=True)
    for program in programs:
        table.add_row(*(escape(str(program[head])) for head in heads))
    console.print(table)
    for note in notes:
        console.print(note, markup=False, highlight=False)


def print_sweep(
    console: Console, summary: pd.DataFrame, varied: Sequence[str], notes: Sequence[str]
) -> None:
    """Mean selection loss per condition at a few budgets, then the notes."""
    budgets = sorted(b for b in summary["budget"].unique() if b > 0)
    step = -(-len(budgets) // MOST_BUDGETS)
    shown = budgets[::-1][::step][::-1]
    keys = list(dict.fromkeys(("endpoints", "interface", *varied)))
    keys = [k for k in keys if k in summary and summary[k].nunique(dropna=False) > 1]
    table = Table(
        title="selection loss, pp, by submissions", title_justify="left",
        box=None, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    for key in keys:
        table.add_column(escape(key.removeprefix("world.")), no_wrap=True)
    table.add_column("trials", justify="right")
    for budget in shown:
        table.add_column(f"{budget:,}", justify="right", no_wrap=True)
    # A condition is `len(budgets) + 1` neighbouring rows.
    conditions = [part for _, part in summary.groupby((summary["budget"] == 0).cumsum())]
    for part in conditions[:MOST_ROWS]:
        first = part.iloc[-1]
        row = [escape(_value(first[key])) for key in keys]
        row.append(f"{first['eligible_trials']:,}")
        row += [
            _loss(part[part["budget"] == budget], whole=budget == shown[-1]) for budget in shown
        ]
        table.add_row(*row)
    console.print(table)
    if len(conditions) > MOST_ROWS:
        more = len(conditions) - MOST_ROWS
        console.print(f"and {more:,} more in summary.csv", markup=False, highlight=False)
    for note in notes:
        console.print(note, markup=False, highlight=False)


def _value(value: object) -> str:
    """A value of what is varied; what a condition does not have is a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _loss(rows: pd.DataFrame, whole: bool) -> str:
    """The mean, with its interval where there is room for one."""
    if rows.empty or rows["selection_loss_pp"].isna().all():
        return ""
    row = rows.iloc[0]
    mean, low, high = (row[f"selection_loss_pp{end}"] + 0.0 for end in ("", "_low", "_high"))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]" if whole else f"{mean:.2f}"
