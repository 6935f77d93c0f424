"""Figures: drawn without a display, the same bytes for the same numbers, legible in grey."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

LABELS = {
    "selection_loss_pp": "model-selection loss (pp)",
    "score_gap_pp": "score generalization gap (pp)",
    "false_winner": "share of false winners",
    "true_loss_pp": "true loss on fresh items (pp)",
}
# Marker and dash tell the lines apart where colour does not; so does how dark the colour is. Their
# numbers of entries share no factor, so the first twelve lines differ in all three.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")
DASHES = ("-", (0, (6, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
COLOURS = ("#1b4f8a", "#d9863d", "#2f7d5b", "#8a4fa3", "#6b6b6b", "#b03a48", "#3aa0b8")
CONDITION = ["endpoints", "interface", "mechanism"]


def budget_figure(summary: pd.DataFrame, metric: str) -> Figure:
    """A metric against the budget, one line per condition, with 95 % intervals over trials.

    **Arguments:** `summary`: the table of an attack; `metric`: one of its metrics. Where the
    summary has several banks, their mean and standard deviation are drawn as a hatched band.
    """
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    conditions = list(summary.groupby(CONDITION, sort=False))
    for index, (names, rows) in enumerate(conditions):
        label = " / ".join(str(n) for n in names if n != "none")
        _line(axes, rows[rows["budget"] > 0], metric, label, index)
    if metric == "score_gap_pp":
        _baseline(axes, conditions[0][1])
    else:
        axes.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    finish_budgets(axes, summary.loc[summary["budget"] > 0, "budget"])
    axes.set_ylabel(LABELS.get(metric, metric))
    axes.set_title(_title(summary), fontsize="small", parse_math=False)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        legend = axes.legend(frameon=False, fontsize="small", handlelength=3.5)
        for entry in legend.get_texts():
            entry.set_parse_math(False)
    return figure


def finish_budgets(axes: Axes, budgets: pd.Series) -> None:
    """The axis of submissions: a power of two per step, a tick per budget where there is room."""
    values = np.sort(budgets.unique())
    axes.set_xscale("log", base=2)
    shown = values if len(values) <= 14 else values[:: -(-len(values) // 14)]
    axes.set_xticks(shown, [f"{b:,}" for b in shown], rotation=45 if len(shown) > 8 else 0)
    axes.minorticks_off()
    axes.set_xlabel("submissions")


def plain_text(text: str) -> str:
    """A name from data on one line."""
    return " ".join(text.split())


def save_figure(figure: Figure, stem: Path) -> None:
    """Write `stem.svg` and `stem.png`."""
    # A fixed salt and no date: the same figure is the same file.
    with mpl.rc_context({"svg.hashsalt": "jaxbench"}):
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(stem.with_suffix(".png"), dpi=150)


def _line(axes: Axes, rows: pd.DataFrame, metric: str, label: str, index: int) -> None:
    marker, dash, colour = (values[index % len(values)] for values in (MARKERS, DASHES, COLOURS))
    rows = rows[rows[metric].notna()]
    if rows.empty:
        return
    x, y = rows["budget"], rows[metric]
    ends = np.abs(np.stack([y - rows[f"{metric}_low"], rows[f"{metric}_high"] - y]))
    axes.errorbar(x, y, ends, marker=marker, linestyle=dash, color=colour, markersize=5,
                  capsize=2.5, linewidth=1.4, elinewidth=0.9, label=label)  # fmt: skip
    if f"{metric}_bank_sd" in rows:
        middle, spread = rows[f"{metric}_bank_mean"], rows[f"{metric}_bank_sd"]
        axes.fill_between(x, middle - spread, middle + spread, facecolor="0.92", hatch="////",
                          edgecolor="0.7", linewidth=0.0, zorder=0,
                          label=f"mean ± sd over {rows['banks'].iloc[0]} banks")  # fmt: skip
        axes.plot(x, middle, color="0.35", linewidth=1.2, linestyle=(0, (1, 1)))


def _baseline(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[(rows["budget"] > 0) & rows["genuine_gap_pp"].notna()]
    if not rows.empty:
        axes.plot(rows["budget"], rows["genuine_gap_pp"], color="0.35", linestyle=(0, (5, 3)),
                  linewidth=1.2, label="genuine models alone")  # fmt: skip


def _title(summary: pd.DataFrame) -> str:
    """Benchmark and trials, and what the bars are."""
    name = plain_text(str(summary["benchmark"].iloc[0]))
    eligible = summary.loc[summary["budget"] > 0, "eligible_trials"]
    low, high = eligible.min(), eligible.max()
    count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    attempted = summary["attempted_trials"].iloc[0]
    return f"{name}: {count} of {attempted:,} trials; bars: 95 % intervals over trials"
