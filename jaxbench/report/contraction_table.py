"""How far curves of different granularity lie apart, in a few lines."""

import math

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Metrics whose curves are compared: how they are scaled, and what they are called.
METRICS = {
    "selection_loss_pp": (1.0, "selection loss, pp"),
    "false_winner": (100.0, "false winners, pp"),
    "first_false_winners_log2": (1.0, "first {level} false winners, doublings"),
}
OVER = {"coordinates": "numbers per submission"}


def print_contraction(
    console: Console, contraction: pd.DataFrame, false_winners: pd.DataFrame, over: str
) -> None:
    """The spread of curves at equal submissions and at equal released scores.

    **Arguments:** `contraction`: a row per metric, behind the columns that tell groups apart;
    `false_winners`: the first budget of every curve with many of them; `over`: what curves differ
    in.
    """
    groups = [str(c) for c in contraction.columns[: list(contraction.columns).index("metric")]]
    shown = [key for key in groups if contraction[key].nunique(dropna=False) > 1]
    name = OVER.get(over, over.removeprefix("world.").replace("_", " "))
    level = f"{100 * false_winners['level'].iloc[0]:g} %" if len(false_winners) else ""
    table = Table(
        title=f"distance between curves of different {escape(name)}", title_justify="left",
        box=None, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    for head in (*shown, ""):
        table.add_column(escape(head), overflow="fold")
    for head in ("at equal\nsubmissions", "at equal\nreleased scores", "times\ncloser"):
        table.add_column(head, justify="right", no_wrap=True)
    for _, row in contraction.iterrows():
        scale, words = METRICS.get(row["metric"], (1.0, str(row["metric"])))
        numbers = (scale * row["budget_spread"], scale * row["released_spread"], row["contraction"])
        keys = [escape(str(row[key])) for key in shown]
        table.add_row(*keys, words.format(level=level), *(_plain(number) for number in numbers))
    console.print(table)
    for where, part in _parts(false_winners, shown):
        first = [
            f"{row[over]}: {_whole(row['budget'])} ({_whole(row['released_scores'])})"
            for _, row in part.iterrows()
        ]
        console.print(
            f"first {level} false winners{where}, {name}: submissions (scores released by then): "
            f"{', '.join(first)}",
            markup=False, highlight=False,
        )  # fmt: skip


def _parts(table: pd.DataFrame, keys: list[str]) -> list[tuple[str, pd.DataFrame]]:
    """The groups of a table, each with where it is."""
    if table.empty or not keys:
        return [("", table)] if len(table) else []
    groups = table.groupby(keys, sort=False, dropna=False)
    return [(f" in {' / '.join(map(str, values))}", part) for values, part in groups]


def _plain(number: float) -> str:
    return "-" if math.isnan(number) else f"{number:.2f}"


def _whole(number: float) -> str:
    return "never" if pd.isna(number) else f"{int(number):,}"
