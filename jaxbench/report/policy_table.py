"""What a maintainer reads of a study of policies: a line per policy, least harm first."""

import math
from collections.abc import Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Policies of one group that a terminal shows; `policies.csv` has all.
MOST_LINES = 24
# Characters of a policy's name before it is folded.
SHORTEST = 12
MARK = "*"
NO_MECHANISM = "none"
NOTES = (
    "order kept: share of pairs of models, 1 pp or more apart, that the board puts in order",
    "loss: score on held-out items that is given away by whoever picks the first on the board",
    "false first: share of trials in which the final router is first on the board and not in truth",
    "1 pp lost at: submissions after which the mean loss is 1 pp",
    f"{MARK} no other policy of this table is better in order kept and loss together",
)
TOLD = "told: share of submissions about which a number of their own was released"


def print_policies(
    console: Console,
    table: pd.DataFrame,
    groups: Sequence[str],
    names: Sequence[str],
    attacks: Sequence[str] = (),
) -> None:
    """A table per group of policies, and what its columns mean.

    **Arguments:** `table`: the policies, sorted; `groups`, `names`: columns that tell groups and
    policies apart; `attacks`: columns of the worst attack.
    """
    for values, rows in table.groupby(list(groups), sort=False, dropna=False):
        called = policy_names(rows, names) if "mechanism" in names else {}
        if called:
            # The parts of a policy's name in one column: mechanisms have long ones.
            rows = rows.assign(policy=[called[key] for key in _values(rows, names)])
        keys = [*(["policy"] if called else names), *attacks]
        console.print(_table(_title(groups, values, rows), rows, keys))
        if len(rows) > MOST_LINES:
            more = f"and {len(rows) - MOST_LINES:,} more in policies.csv"
            console.print(more, markup=False, highlight=False)
    told = [TOLD] if (table["release_rate"] < 1).any() else []
    for note in [*NOTES[:-1], *told, NOTES[-1]]:
        console.print(note, markup=False, highlight=False)


def group_name(groups: Sequence[str], values: tuple[object, ...]) -> str:
    """A group of policies in words: the benchmark, then what else tells it from others."""
    first, *rest = zip(groups, values, strict=True)
    more = [f"{plain_name(key)} {plain_value(value)}" for key, value in rest]
    return ", ".join([str(first[1]), *more])


def plain_name(column: str) -> str:
    """A column in words."""
    return column.removeprefix("world.").replace("_", " ")


def plain_value(value: object) -> str:
    """A value on one line; what a policy does not have is a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split())


def policy_names(rows: pd.DataFrame, names: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Every policy of a table on one line, by the text of its values.

    That is its mechanism, and its interface where that is not the usual one. Of a mechanism's
    parameters the first one's value is told, and others where they differ within the table.
    """
    usual = usual_interface(rows)
    mechanisms = rows["mechanism"].map(str).unique() if "mechanism" in names else ()
    short = _short_mechanisms(list(mechanisms))
    found = {}
    for values in dict.fromkeys(_values(rows, names)):
        given = dict(zip(names, values, strict=True))
        mechanism, interface = given.pop("mechanism", NO_MECHANISM), given.pop("interface", usual)
        parts = [] if mechanism == NO_MECHANISM else [short[mechanism]]
        if interface and (interface != usual or not parts):
            parts.append(interface)
        parts += [f"{plain_name(key)} {value}" for key, value in given.items() if value != "-"]
        found[values] = ", ".join(parts) or "no mechanism"
    return found


def policies(rows: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, pd.DataFrame]]:
    """The rows of every policy of a table, in its order, with what it is called."""
    called = policy_names(rows, names)
    keys = _values(rows, names)
    places: dict[tuple[str, ...], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return [(called[key], rows.iloc[where]) for key, where in places.items()]


def _values(rows: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of some columns as text, row by row."""
    return list(zip(*(rows[name].map(plain_value) for name in names), strict=True))


def _short_mechanisms(mechanisms: Sequence[str]) -> dict[str, str]:
    """Short names of mechanisms that are written with all their parameters."""
    split = {text: [_parameters(part) for part in text.split("+")] for text in mechanisms}
    seen: dict[tuple[str, str], set[str]] = {}
    for chain in split.values():
        for name, parameters in chain:
            for key, value in parameters:
                seen.setdefault((name, key), set()).add(value)
    found = {}
    for text, chain in split.items():
        words = []
        for name, parameters in chain:
            first = [value for _, value in parameters[:1] if value != "none"]
            more = [
                f"{key}={value}"
                for key, value in parameters[1:]
                if len(seen[name, key]) > 1 and value != "none"
            ]
            words.append(" ".join([plain_name(name), *first, *more]))
        found[text] = " + ".join(words)
    return found


def _parameters(part: str) -> tuple[str, list[tuple[str, str]]]:
    """The name of a mechanism, and its parameters with their values."""
    name, _, inside = part.removesuffix(")").partition("(")
    pairs = [entry.partition("=") for entry in inside.split(",") if entry]
    return name, [(key, value) for key, _, value in pairs]


def usual_interface(rows: pd.DataFrame) -> str:
    """The interface of most lines, the first among equals; none where they have no such column."""
    if "interface" not in rows:
        return ""
    counts = rows["interface"].value_counts(sort=False)
    return str(counts.index[int(counts.to_numpy().argmax())])


def _title(groups: Sequence[str], values: tuple[object, ...], rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    draws = f" in each of {first['draws']:,} draws" if first["draws"] > 1 else ""
    return f"{group_name(groups, values)}: after {first['budget']:,} submissions{draws}"


def _table(title: str, rows: pd.DataFrame, keys: Sequence[str]) -> Table:
    table = Table(
        title=escape(title), title_justify="left", title_style="bold", box=None, pad_edge=False,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    table.add_column("", no_wrap=True)
    for key in keys:
        longest = max(len(plain_value(value)) for value in rows[key])
        width = min(SHORTEST, max(longest, len(plain_name(key))))
        table.add_column(escape(plain_name(key)), min_width=width, overflow="fold")
    heads = ["order kept,\n%", "loss,\npp", "false\nfirst, %", "1 pp lost\nat"]
    # Without a mechanism every submission is told a number of its own.
    refuses = bool((rows["release_rate"] < 1).any())
    for head in [*heads, *(["told,\n%"] if refuses else [])]:
        table.add_column(head, justify="right", no_wrap=True)
    for _, row in rows[:MOST_LINES].iterrows():
        table.add_row(
            MARK if row["undominated"] else "",
            *(escape(plain_value(row[key])) for key in keys),
            number(row, "pair_order_kept", 100.0, 1, interval=True),
            number(row, "selection_loss_pp", 1.0, 2, interval=True),
            number(row, "false_winner", 100.0, 0),
            submissions(row["submissions_to_1pp"], row["budget"]),
            *([number(row, "release_rate", 100.0, 0)] if refuses else []),
        )
    return table


def submissions(crossing: float, last: int) -> str:
    """After how many submissions the loss is there, in whole ones; or the last that were tried."""
    return f"> {last:,}" if math.isinf(crossing) else f"{math.ceil(crossing):,}"


def number(row: pd.Series, metric: str, scale: float, decimals: int, interval: bool = False) -> str:
    """A metric of a line, with its interval where that is wanted and there; else a dash."""
    if pd.isna(row[metric]):
        return "-"
    ends = ("", "_low", "_high") if interval and pd.notna(row[f"{metric}_low"]) else ("",)
    # Adding 0.0 turns the -0.0 of a rounded small number into 0.0.
    texts = [f"{round(scale * row[metric + end], decimals) + 0.0:.{decimals}f}" for end in ends]
    return texts[0] if len(texts) == 1 else f"{texts[0]} [{texts[1]}, {texts[2]}]"
