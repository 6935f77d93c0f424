"""What a sweep says on the terminal: what would run, and what came out."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Conditions that a terminal shows; `summary.csv` has all.
MOST_ROWS = 24
# Budgets side by side, and characters of what tells conditions apart.
MOST_BUDGETS, WIDEST = 4, 24
# Characters of a name before it is folded.
SHORTEST = 12


def print_plan(
    console: Console, programs: Sequence[Mapping[str, object]], notes: Sequence[str]
) -> None:
    """The programs of a dry run, one per line, then what they add up to."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    heads = list(programs[0]) if programs else []
    for head in heads:
        # No number loses its end; names fold where there is no room.
        longest = max(len(str(text)) for text in (head, *(program[head] for program in programs)))
        width = min(longest, SHORTEST) if head == "cells" else longest
        justify = "left" if head == "cells" else "right"
        table.add_column(head, justify=justify, min_width=width, overflow="fold")
    for program in programs:
        table.add_row(*(escape(str(program[head])) for head in heads))
    console.print(table)
    for note in notes:
        console.print(note, markup=False, highlight=False)


def print_sweep(
    console: Console, summary: pd.DataFrame, varied: Sequence[str], notes: Sequence[str]
) -> None:
    """Mean selection loss per condition at a few budgets, then the notes."""
    # A condition is `len(budgets) + 1` neighbouring rows.
    conditions = [part for _, part in summary.groupby((summary["budget"] == 0).cumsum())]
    firsts = [part.iloc[-1] for part in conditions[:MOST_ROWS]]
    keys = list(dict.fromkeys(("benchmark", "endpoints", "interface", *varied)))
    # What a world is made from has a name too.
    keys = [k for k in keys if k != "world" and k in summary]
    keys = [k for k in keys if summary[k].nunique(dropna=False) > 1]
    if any(key.startswith("world.") for key in keys) and summary["benchmark"].map(_is_drawn).all():
        # A name made of digits says less than what it is made from.
        keys = [key for key in keys if key != "benchmark"]
    texts = {key: [_value(first[key]) for first in firsts] for key in keys}
    heads = {key: key.removeprefix("world.").replace("_", " ") for key in keys}
    widths = {
        key: min(WIDEST, max(len(text) for text in (*texts[key], *heads[key].split())))
        for key in keys
    }
    budgets = sorted(int(b) for b in summary["budget"].unique() if b > 0)
    step = -(-len(budgets) // MOST_BUDGETS)
    shown = budgets[::-1][::step][::-1]
    losses = [[_loss(part[part["budget"] == k]) for k in shown] for part in conditions[:MOST_ROWS]]
    # What tells conditions apart comes first; then as many budgets as there is room for, the last.
    room = console.width - sum(width + 2 for width in widths.values()) - len("trials") - 2
    while len(shown) > 1 and _width(shown, losses) > room:
        shown, losses = shown[1:], [row[1:] for row in losses]
    table = Table(
        title="selection loss, pp, by submissions: mean [95 % interval]", title_justify="left",
        box=None, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    for key in keys:
        table.add_column(escape(heads[key]), min_width=widths[key], overflow="fold")
    table.add_column("trials", justify="right", no_wrap=True)
    for budget in shown:
        table.add_column(f"{budget:,}", justify="right", no_wrap=True)
    for place, first in enumerate(firsts):
        row = [escape(texts[key][place]) for key in keys]
        table.add_row(*row, f"{first['eligible_trials']:,}", *losses[place])
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
    return " ".join(str(value).split())


def _width(budgets: Sequence[int], losses: Sequence[Sequence[str]]) -> int:
    """Characters that the columns of some budgets take."""
    columns = zip(*losses, strict=True)
    return sum(
        2 + max(len(text) for text in (f"{budget:,}", *column))
        for budget, column in zip(budgets, columns, strict=True)
    )


def _is_drawn(name: object) -> bool:
    """Whether a benchmark is a synthetic world."""
    return str(name).startswith("world-")


def _loss(rows: pd.DataFrame) -> str:
    if rows.empty or rows["selection_loss_pp"].isna().all():
        return ""
    row = rows.iloc[0]
    mean, low, high = (row[f"selection_loss_pp{end}"] + 0.0 for end in ("", "_low", "_high"))
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"
