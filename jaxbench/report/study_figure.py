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
# Columns whose values are independent draws: what is not drawn is averaged within each of them.
SEEDS = ("world.seed", "seed")
# Axes that follow from the budget: a curve along them is one condition, and starts above 0.
OF_BUDGET = ("budget", "released_scores")
AXES = {
    "budget": "submissions",
    "released_scores": "scores released before the final router",
    "reused_items": "reused items",
    "coordinates": "numbers per submission",
}


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

    @property
    def average(self) -> Sequence[str]:
        """Columns that are averaged over, their range shown as a band."""
        ...


def study_figure(summary: pd.DataFrame, spec: Spec) -> Figure:
    """A metric of a sweep's summary; what its bars are stands above it.

    Where several conditions fall on one point (other things vary beside what is drawn), the point
    is their mean. Its bar is the standard error over seeds where seeds are among what varies
    (conditions of one seed share random numbers and count once), else the range of the conditions.
    A single condition's bar is the 95 % bootstrap interval over trials; where it has several router
    banks, a hatched band is their mean and standard deviation. Where the figure averages over
    columns, a plain band is the range over their values, and bars are left to seeds.

    **Errors:** `BadRequest` for a column that the summary does not have.
    """
    panel = [spec.panels] if spec.panels else []
    for column in (spec.metric, spec.x, *spec.lines, *panel, *spec.average):
        if column not in summary:
            raise unknown("column of a figure", column, [str(c) for c in summary.columns])
    rows = summary[summary["budget"] > 0]
    if spec.budgets:
        rows = rows[rows["budget"].isin(list(spec.budgets))]
    if rows.empty:
        raise BadRequest(f"budgets={list(spec.budgets)}: the study runs none of them")
    names = list(spec.lines)
    if spec.x in OF_BUDGET:
        rows = rows[rows[spec.x] > 0]
    elif "budget" not in (spec.panels, *names) and rows["budget"].nunique() > 1:
        # Budgets of one trial are no conditions to take the mean of.
        names.append("budget")
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
    grid = list(figure.subplots(lines, columns, squeeze=False, sharey=True).flat)
    labels = _labels(rows, names)
    bars: dict[str, None] = {}
    for axes, (value, part) in zip(grid, panels, strict=False):
        bars |= _panel(axes, part, spec, names, labels)
        if value is not None:
            axes.set_title(plain_text(f"{_label(spec.panels)} {_shown(value)}"), fontsize="small",
                           parse_math=False)  # fmt: skip
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[::columns]:
        axes.set_ylabel(LABELS.get(spec.metric, spec.metric))
    if names:
        _legend(figure, grid[: len(panels)], names, labels)
    said = ["; ".join(bars)] if bars else []
    if left_out > 0:
        said.append(f"the first {MOST_PANELS} of {MOST_PANELS + left_out} panels")
    if said:
        figure.suptitle("\n".join(said), fontsize="x-small", color="0.3")
    return figure


def _labels(rows: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The lines of all panels, each once: a line looks the same in every panel."""
    if not names:
        return [""]
    return list(dict.fromkeys(_line(rows, names)))


def _line(rows: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The line that each row belongs to."""
    found = rows[list(names)].itertuples(index=False, name=None)
    return [" / ".join(_shown(value) for value in values) for values in found]


def _panel(
    axes: Axes, rows: pd.DataFrame, spec: Spec, names: Sequence[str], labels: Sequence[str]
) -> dict[str, None]:
    """Draw one panel; what its bars are."""
    numeric = pd.api.types.is_numeric_dtype(rows[spec.x])
    places = {value: place for place, value in enumerate(dict.fromkeys(rows[spec.x]))}
    own = pd.Series(_line(rows, names) if names else [""] * len(rows), index=rows.index)
    ticks = np.unique(rows[spec.x].dropna().to_numpy(dtype=float)) if numeric else np.array([])
    log = spec.x in OF_BUDGET or (len(ticks) > 2 and ticks[0] > 0 and ticks[-1] >= 8 * ticks[0])
    steps = np.diff(np.log2(ticks) if log else ticks)
    room = float(steps.min()) if len(steps) else 1.0
    shown = list(labels[:MOST_LINES])
    bars: dict[str, None] = {}
    for index, label in enumerate(shown):
        part = rows[own == label]
        points = _points(part, spec)
        if points.empty:
            continue
        bars |= dict.fromkeys(bar for bar in points["bar"] if bar)
        x = (points["x"] if numeric else points["x"].map(places)).to_numpy(dtype=float)
        # Side by side, so that no bar hides another.
        aside = room * (index - (len(shown) - 1) / 2) * min(0.04, 0.25 / len(shown))
        x = x * 2.0**aside if log else x + aside
        marker, dash, colour = (v[index % len(v)] for v in (MARKERS, DASHES, COLOURS))
        ends = np.abs(np.stack([points["mean"] - points["low"], points["high"] - points["mean"]]))
        if points["least"].notna().any():
            axes.fill_between(x, points["least"], points["most"], facecolor=colour, alpha=0.15,
                              linewidth=0.0, zorder=0)  # fmt: skip
            over = " and ".join(_label(column) for column in spec.average)
            bars |= {f"band: range over {over}": None}
        axes.errorbar(x, points["mean"], ends, marker=marker, linestyle=dash,
                      color=colour, markersize=4.5, capsize=2.5, linewidth=1.4, elinewidth=0.9,
                      label=label)  # fmt: skip
        if spec.x == "budget":
            bars |= _band(axes, x, part[part[spec.metric].notna()], spec.metric)
    if spec.x == "budget":
        finish_budgets(axes, rows["budget"])
    else:
        axes.set_xlabel(_label(spec.x))
        if numeric and log:
            axes.set_xscale("log", base=2)
            axes.minorticks_off()
        if numeric and len(ticks) <= 8:
            axes.set_xticks(ticks, [_shown(float(v)) for v in ticks])
        if not numeric:
            axes.set_xticks(range(len(places)), [plain_text(str(v)) for v in places], rotation=45)
            for tick in axes.get_xticklabels():
                tick.set_parse_math(False)
    axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return bars


def _band(axes: Axes, x: np.ndarray, rows: pd.DataFrame, metric: str) -> dict[str, None]:
    """Mean and sd over router banks, where every point is one condition with them; its name."""
    if f"{metric}_bank_sd" not in rows or len(rows) != len(x):
        return {}
    middle, spread = rows[f"{metric}_bank_mean"], rows[f"{metric}_bank_sd"]
    if middle.isna().any():
        return {}
    axes.fill_between(x, middle - spread, middle + spread, facecolor="0.92", hatch="////",
                      edgecolor="0.7", linewidth=0.0, zorder=0)  # fmt: skip
    axes.plot(x, middle, color="0.35", linewidth=1.2, linestyle=(0, (1, 1)))
    banks = int(rows["banks"].iloc[0])
    return {f"band: mean \N{PLUS-MINUS SIGN} sd over {banks} router banks": None}


def _legend(
    figure: Figure, grid: Sequence[Axes], names: Sequence[str], labels: Sequence[str]
) -> None:
    """One legend for all panels, below them: it covers no data."""
    found = {}
    for axes in grid:
        handles, texts = axes.get_legend_handles_labels()
        found |= dict(zip(texts, handles, strict=True))
    title = " / ".join(_label(name) for name in names)
    if len(labels) > MOST_LINES:
        title += f" (the first {MOST_LINES} of {len(labels)} lines)"
    shown = [label for label in labels if label in found]
    longest = max((len(label) for label in shown), default=1)
    room = figure.get_size_inches()[0] * 13 / (longest + 10)
    legend = figure.legend([found[label] for label in shown], shown, loc="outside lower center",
                           ncols=max(1, min(4, len(shown), int(room))), frameon=False,
                           fontsize="x-small", handlelength=3.5, title=title,
                           title_fontsize="x-small")  # fmt: skip
    for entry in legend.get_texts():
        entry.set_parse_math(False)


def _points(rows: pd.DataFrame, spec: Spec) -> pd.DataFrame:
    """Mean, ends and what these are, per value of x; empty ones left out."""
    rows = rows[rows[spec.metric].notna()]
    found = [
        (value, *_point(part, spec.metric, spec.average))
        for value, part in rows.groupby(spec.x, sort=False)
    ]
    points = pd.DataFrame(found, columns=["x", "mean", "low", "high", "bar", "least", "most"])
    if pd.api.types.is_numeric_dtype(points["x"]):
        points = points.sort_values("x")
    return points


def _point(
    rows: pd.DataFrame, metric: str, average: Sequence[str]
) -> tuple[float, float, float, str, float, float]:
    """Mean, lower end, upper end, what the ends are, and the range over what is averaged."""
    values = rows[metric].to_numpy(dtype=float)
    least = most = np.nan
    averaged = [column for column in average if rows[column].nunique(dropna=False) > 1]
    if averaged:
        each = rows.groupby(averaged, dropna=False)[metric].mean()
        least, most = float(each.min()), float(each.max())
    elif len(values) == 1:
        low, high = (float(rows[f"{metric}{end}"].iloc[0]) for end in ("_low", "_high"))
        return values[0], low, high, "bars: 95 % interval over trials", least, most
    seed = next((s for s in SEEDS if s in rows and rows[s].nunique() > 1), None)
    if seed is not None:
        draws = rows.groupby(seed)[metric].mean().to_numpy(dtype=float)
        error, mean = draws.std(ddof=1) / np.sqrt(len(draws)), draws.mean()
        bar = f"points: mean of conditions, bars: standard error over {len(draws)} seeds"
        return mean, mean - error, mean + error, bar, least, most
    mean = float(values.mean())
    if averaged:
        return mean, np.nan, np.nan, "", least, most
    bar = "points: mean of conditions, bars: their range"
    return mean, values.min(), values.max(), bar, least, most


def _shown(value: object) -> str:
    """A value of a line; what a condition does not have is a dash."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    # A column of whole numbers with a gap is one of floats.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return plain_text(str(value))


def _label(column: str | None) -> str:
    name = str(column)
    return AXES.get(name, name.removeprefix("world.").replace("_", " "))
