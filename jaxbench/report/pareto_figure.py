"""Harm against use: a point per policy, and those that no other one beats."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbench.errors import unknown
from jaxbench.report.figures import COLOURS, LABELS, MARKERS, plain_text
from jaxbench.report.policy_table import (
    NO_MECHANISM,
    group_name,
    plain_name,
    plain_value,
    usual_interface,
)

# Policies of one panel whose names still fit below it.
MOST_POINTS = 24
MOST_PANELS = 6
# Shares are shown in per cent.
SHARES = ("pair_order_kept", "release_rate", "false_winner")
WORDS = {
    "pair_order_kept": "pairs of models kept in order (%)",
    "release_rate": "submissions that are told a number of their own (%)",
    "board_error_pp": "error of the board's best score (pp)",
    "false_winner": "false winners (%)",
}


def pareto_figure(
    table: pd.DataFrame, groups: Sequence[str], names: Sequence[str], *, harm: str, use: str
) -> Figure:
    """A panel per group: harm (up) against use (right), with 95 % intervals.

    Policies are numbered as they stand in the table; filled points are those that no other one
    beats, and a line joins them. Where many are one mechanism with other parameters, a mechanism is
    a thin line instead, and its points bear the parameter.

    **Arguments:** `table`: policies, with `undominated`; `groups`, `names`: columns that tell
    groups and policies apart; `harm`, `use`: columns that have `_low` and `_high` beside them.

    **Errors:** `BadRequest` for a column that the table does not have.
    """
    for column in (harm, use):
        if column not in table:
            raise unknown("column of a figure", column, [str(c) for c in table.columns])
    panels = list(table.groupby(list(groups), sort=False, dropna=False))
    left_out = len(panels) - MOST_PANELS
    panels = panels[:MOST_PANELS]
    families = {place: _families(rows, names) for place, (_, rows) in enumerate(panels)}
    # A mechanism looks the same in all panels.
    order = sorted({family for found in families.values() for family, _ in found.values()})
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    most = max(
        len(set(families[place].values())) or min(len(rows), MOST_POINTS)
        for place, (_, rows) in enumerate(panels)
    )
    size = (5.2 * columns + 0.4, lines * (3.8 + 0.16 * most) + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    grid = list(figure.subplots(lines, columns, squeeze=False).flat)
    for place, (axes, (values, rows)) in enumerate(zip(grid, panels, strict=False)):
        if families[place]:
            _family_panel(axes, rows, families[place], order, harm, use)
        else:
            _panel(axes, rows[:MOST_POINTS], names, harm, use)
        _finish(axes, rows, harm, use, most=most)
        title = group_name(groups, values) + f", {rows['budget'].iloc[0]:,} submissions"
        if len(rows) > MOST_POINTS and not families[place]:
            title += f" (the first {MOST_POINTS} of {len(rows)} policies)"
        axes.set_title(plain_text(title), fontsize="small", parse_math=False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    said = "filled: no other policy is better in both; bars: 95 % intervals"
    if left_out > 0:
        said += f"\nthe first {MOST_PANELS} of {MOST_PANELS + left_out} panels"
    figure.suptitle(said, fontsize="x-small", color="0.3")
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, names: Sequence[str], harm: str, use: str) -> None:
    x, y = _scaled(rows, use), _scaled(rows, harm)
    front = rows["undominated"].to_numpy(dtype=bool)
    for place in range(len(rows)):
        marker, colour = MARKERS[place % len(MARKERS)], COLOURS[place % len(COLOURS)]
        label = " / ".join(plain_value(rows[name].iloc[place]) for name in names)
        axes.errorbar(
            x[0, place], y[0, place], xerr=_ends(x, place), yerr=_ends(y, place), marker=marker,
            color=colour, markerfacecolor=colour if front[place] else "white", linestyle="none",
            markersize=6, capsize=2.0, elinewidth=0.8, label=f"{place + 1}  {plain_text(label)}",
        )  # fmt: skip
        if np.isfinite([x[0, place], y[0, place]]).all():
            axes.annotate(str(place + 1), (x[0, place], y[0, place]), xytext=(5, 4),
                          textcoords="offset points", fontsize="x-small")  # fmt: skip


def _family_panel(
    axes: Axes,
    rows: pd.DataFrame,
    families: dict[int, tuple[str, str]],
    order: Sequence[str],
    harm: str,
    use: str,
) -> None:
    """A thin line and a marker per mechanism, its parameter beside each point."""
    x, y = _scaled(rows, use), _scaled(rows, harm)
    front = rows["undominated"].to_numpy(dtype=bool)
    of: dict[str, list[int]] = {}
    for place, (family, _) in families.items():
        of.setdefault(family, []).append(place)
    for family, places in sorted(of.items()):
        index = order.index(family)
        marker, colour = MARKERS[index % len(MARKERS)], COLOURS[index % len(COLOURS)]
        places = sorted(places, key=lambda place: _size(families[place][1]))
        axes.plot(x[0, places], y[0, places], color=colour, linewidth=0.8, alpha=0.5, marker=marker,
                  markersize=0.1, label=None)  # fmt: skip
        for number, place in enumerate(places):
            axes.errorbar(
                x[0, place], y[0, place], xerr=_ends(x, place), yerr=_ends(y, place),
                marker=marker, color=colour, markerfacecolor=colour if front[place] else "white",
                linestyle="none", markersize=6, capsize=0.0, elinewidth=0.4,
                label=plain_text(family) if not number else None,
            )  # fmt: skip
            if len(places) > 1 and np.isfinite([x[0, place], y[0, place]]).all():
                text = axes.annotate(families[place][1], (x[0, place], y[0, place]), xytext=(4, 3),
                                     textcoords="offset points", fontsize="xx-small")  # fmt: skip
                text.set_parse_math(False)


def _families(rows: pd.DataFrame, names: Sequence[str]) -> dict[int, tuple[str, str]]:
    """The mechanism of every policy and its first parameter, by place; none where few share one."""
    if "mechanism" not in names:
        return {}
    usual = usual_interface(rows)
    found = {}
    for place in range(len(rows)):
        given = {name: plain_value(rows[name].iloc[place]) for name in names}
        mechanism, interface = given.pop("mechanism"), given.pop("interface", usual)
        word, size = interface.partition(":")[::2]
        parts = [] if interface == usual and mechanism != NO_MECHANISM else [word]
        if mechanism != NO_MECHANISM:
            name, _, inside = mechanism.partition("(")
            size = inside.partition("=")[2].partition(",")[0].removesuffix(")")
            kind = re.search(r"(?:kind|draw)=(\w+)", inside)
            more = [kind[1]] if kind and kind[1] not in ("each", "fresh") else []
            parts = [plain_name(name), *more, *parts]
        parts += [f"{plain_name(key)} {value}" for key, value in given.items() if value != "-"]
        found[place] = ", ".join(parts), size
    return found if len({family for family, _ in found.values()}) < len(found) else {}


def _size(text: str) -> float:
    """A parameter as a number; what is none stands in front."""
    try:
        return float(text)
    except ValueError:
        return -np.inf


def _finish(axes: Axes, rows: pd.DataFrame, harm: str, use: str, *, most: int) -> None:
    """The line of policies that no other one beats, the axes and the legend."""
    x, y = _scaled(rows, use), _scaled(rows, harm)
    front = rows["undominated"].to_numpy(dtype=bool)
    order = np.argsort(x[0, front], kind="stable")
    axes.plot(x[0, front][order], y[0, front][order], color="0.5", linewidth=0.9, zorder=0,
              linestyle=(0, (4, 2)))  # fmt: skip
    axes.set_xlabel(WORDS.get(use, use))
    axes.set_ylabel(WORDS.get(harm, LABELS.get(harm, harm)))
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.grid(color="0.92", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False,
                         fontsize="x-small", ncols=1 if most < 7 else 2)  # fmt: skip
    for entry in legend.get_texts():
        entry.set_parse_math(False)


def _scaled(rows: pd.DataFrame, metric: str) -> np.ndarray:
    """Mean, low and high of a metric, `(3, policies)`."""
    scale = 100.0 if metric in SHARES else 1.0
    ends = [rows[metric + end].to_numpy(dtype=np.float64) for end in ("", "_low", "_high")]
    return scale * np.stack(ends)


def _ends(values: np.ndarray, place: int) -> np.ndarray | None:
    """The lengths of a bar below and above its point; none where there is no interval."""
    mean, low, high = values[:, place]
    if not np.isfinite([mean, low, high]).all():
        return None
    return np.abs(np.array([[mean - low], [high - mean]]))
