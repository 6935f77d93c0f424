"""Figures of a study: a metric against the budget, or against what the study varies."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbench.errors import BadRequest, unknown
from jaxbench.report.figures import COLOURS, DASHES, LABELS, MARKERS, finish_budgets, plain_text

# Lines and panels that can still be told apart.
MOST_LINES = 12
MOST_PANELS = 12
AXES = {"budget": "submissions", "reused_items": "reused items", "benchmark": "benchmark"}


@runtime_checkable
class Spec(Protocol):
    """What a figure shows (`options.study.FigureSpec`)."""

    @property
    def metric(self) -> str:
        """The column on the y axis."""
        ...

    @property
    def x(self) -> str:
        """The column on the x axis."""
        ...

    @property
    def lines(self) -> Sequence[str]:
        """Columns whose values are lines."""
        ...

    @property
    def panels(self) -> str | None:
        """The column whose values are panels."""
        ...

    @property
    def budgets(self) -> Sequence[int]:
        """Budgets that are shown; all where there are none."""
        ...


def study_figure(summary: pd.DataFrame, spec: Spec) -> Figure:
    """A metric of a sweep's summary.

    Where several conditions fall on one point (other things vary beside what is drawn), the point
    is their mean and the bar their standard error over conditions; else the bar is the 95 %
    bootstrap interval over trials.

    **Errors:** `BadRequest` for a column that the summary does not have.
    """
    for column in (spec.metric, spec.x, *spec.lines, *([spec.panels] if spec.panels else [])):
        if column not in summary:
            raise unknown("column of a figure", column, [str(c) for c in summary.columns])
    rows = summary[summary["budget"] > 0]
    if spec.budgets:
        rows = rows[rows["budget"].isin(list(spec.budgets))]
    if rows.empty:
        raise BadRequest(f"budgets={list(spec.budgets)}: the study runs none of them")
    panels = [(None, rows)]
    if spec.panels:
        panels = [
            (value, part) for value, part in rows.groupby(spec.panels, sort=False, dropna=False)
        ]
    left_out = len(panels) - MOST_PANELS
    panels = panels[:MOST_PANELS]
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    width = 6.4 if columns == 1 else 4.2 * columns
    figure = Figure(figsize=(width, 3.8 * lines + 0.4), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel()
    for axes, (value, part) in zip(grid, panels, strict=False):
        _panel(axes, part, spec)
        if value is not None:
            axes.set_title(plain_text(f"{_label(spec.panels)} {value}"), fontsize="small",
                           parse_math=False)  # fmt: skip
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[::columns]:
        axes.set_ylabel(LABELS.get(spec.metric, spec.metric))
    if left_out > 0:
        figure.supxlabel(f"the first {MOST_PANELS} of {MOST_PANELS + left_out} panels",
                         fontsize="x-small")  # fmt: skip
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, spec: Spec) -> None:
    groups = [((), rows)]
    if spec.lines:
        groups = list(rows.groupby(list(spec.lines), sort=False, dropna=False))
    numeric = pd.api.types.is_numeric_dtype(rows[spec.x])
    places = {value: place for place, value in enumerate(dict.fromkeys(rows[spec.x]))}
    for index, (names, part) in enumerate(groups[:MOST_LINES]):
        label = " / ".join(_shown(name) for name in names) if spec.lines else None
        points = _points(part, spec)
        x = points["x"] if numeric else points["x"].map(places)
        marker, dash, colour = (v[index % len(v)] for v in (MARKERS, DASHES, COLOURS))
        ends = np.abs(np.stack([points["mean"] - points["low"], points["high"] - points["mean"]]))
        axes.errorbar(x.to_numpy(dtype=float), points["mean"], ends, marker=marker, linestyle=dash,
                      color=colour, markersize=4.5, capsize=2.5, linewidth=1.4, elinewidth=0.9,
                      label=label)  # fmt: skip
    if len(groups) > MOST_LINES:
        axes.plot([], [], " ", label=f"and {len(groups) - MOST_LINES} more")
    if spec.x == "budget":
        finish_budgets(axes, rows["budget"])
    else:
        axes.set_xlabel(_label(spec.x))
        if not numeric:
            axes.set_xticks(range(len(places)), [plain_text(str(v)) for v in places], rotation=45)
            for tick in axes.get_xticklabels():
                tick.set_parse_math(False)
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        title = " / ".join(_label(line) for line in spec.lines)
        legend = axes.legend(frameon=False, fontsize="x-small", handlelength=3.5, title=title,
                             title_fontsize="x-small")  # fmt: skip
        for entry in legend.get_texts():
            entry.set_parse_math(False)


def _points(rows: pd.DataFrame, spec: Spec) -> pd.DataFrame:
    """Mean and ends per value of x, empty ones left out."""
    rows = rows[rows[spec.metric].notna()]
    found = []
    for value, part in rows.groupby(spec.x, sort=False):
        values = part[spec.metric].to_numpy(dtype=float)
        if len(values) == 1:
            low, high = (float(part[f"{spec.metric}{end}"].iloc[0]) for end in ("_low", "_high"))
        else:
            error = float(values.std(ddof=1)) / np.sqrt(len(values))
            low, high = values.mean() - error, values.mean() + error
        found.append((value, values.mean(), low, high))
    points = pd.DataFrame(found, columns=["x", "mean", "low", "high"])
    if pd.api.types.is_numeric_dtype(points["x"]):
        points = points.sort_values("x")
    return points


def _shown(value: object) -> str:
    """A value of a line; what a condition does not have is a dash."""
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "-" if missing else plain_text(str(value))


def _label(column: str | None) -> str:
    name = str(column)
    return AXES.get(name, name.removeprefix("world.").replace("_", " "))
