"""Every submitter against every mechanism: the worst one decides how safe a mechanism is."""

from collections.abc import Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxbench.report.policy_table import (
    MARK,
    group_name,
    number,
    plain_value,
    policies,
)

SHORTEST = 14
HONEST = "development"
NOTES = (
    "selection loss, pp: score on held-out items that is given away by whoever picks the first on "
    "the board",
    f"{MARK} the attack that takes most from that mechanism; honest: ordinary development",
    "over, pp: reused score above held-out score of the final submission, for that attack "
    "and for honest work",
)


def print_submitters(
    console: Console, table: pd.DataFrame, groups: Sequence[str], names: Sequence[str]
) -> None:
    """A table per group: a line per mechanism, a column per submitter, and what they mean.

    **Arguments:** `table`: a line per mechanism and submitter, with `worst` and `overstated_pp`;
    `groups`, `names`: columns that tell groups and mechanisms apart.
    """
    for values, rows in table.groupby(list(groups), sort=False, dropna=False):
        title = f"{group_name(groups, values)}: after {rows['budget'].iloc[0]:,} submissions"
        console.print(_table(title, rows, names))
    for note in NOTES:
        console.print(note, markup=False, highlight=False)


def _table(title: str, rows: pd.DataFrame, names: Sequence[str]) -> Table:
    table = Table(
        title=escape(title), title_justify="left", title_style="bold", box=None, pad_edge=False,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    rows = rows.assign(submitter=rows["submitter"].map(plain_value))
    submitters = list(dict.fromkeys(rows["submitter"]))
    honest = [one for one in submitters if HONEST in one]
    table.add_column("", min_width=SHORTEST, overflow="fold")
    for name in submitters:
        table.add_column(_short(name), justify="right", no_wrap=True)
    table.add_column("over,\nworst", justify="right", no_wrap=True)
    if honest:
        table.add_column("over,\nhonest", justify="right", no_wrap=True)
    for called, line in policies(rows, names):
        of = {name: part.iloc[0] for name, part in line.groupby("submitter", sort=False)}
        worst = line[line["worst"]]
        cells = [
            number(of[name], "selection_loss_pp", 1.0, 2) + (MARK if of[name]["worst"] else " ")
            if name in of else "- "
            for name in submitters
        ]  # fmt: skip
        cells.append(number(worst.iloc[0], "overstated_pp", 1.0, 2) if len(worst) else "-")
        if honest:
            there = honest[0] in of
            cells.append(number(of[honest[0]], "overstated_pp", 1.0, 2) if there else "-")
        table.add_row(escape(called), *cells)
    return table


def _short(name: str) -> str:
    """A submitter's name over its column; what it is made with stands below."""
    short = name.strip("{}").removeprefix("name:").replace(HONEST, "honest")
    return escape(short.replace(",", "\n", 1))
