"""Which figures of a study can be drawn: checked before anything runs."""

from collections.abc import Sequence
from dataclasses import replace

from jaxbench import metrics
from jaxbench.errors import unknown
from jaxbench.options.study import FigureSpec, Study
from jaxbench.options.table import ATTACK
from jaxbench.options.world import PARAMETERS
from jaxbench.studies.cells import CellPlan
from jaxbench.studies.truth import COLUMNS as TRUTH

# The columns of a condition, in front of every table; what a study varies follows them.
CONDITION_COLUMNS = ("benchmark", "endpoints", "interface", "mechanism", "coordinates")
# What varies and has no column of its own: the spread over banks brings one.
WITHOUT_COLUMN = ("path", "banks")


def own_columns(varied: Sequence[str]) -> list[str]:
    """The columns of what a study varies, behind those of every condition."""
    return [key for key in varied if key not in (*CONDITION_COLUMNS, *WITHOUT_COLUMN)]


def fitting(
    study: Study, cells: Sequence[CellPlan]
) -> tuple[tuple[FigureSpec, ...], tuple[str, ...]]:
    """The figures that the summary has columns for, and notes on the others.

    Options that are given beside a study can take away what a figure shows. Lines and panels of
    what does not vary any more are left out, and so is a figure without its axes.

    **Errors:** `BadRequest` for a metric or a column that no summary has.
    """
    here = {"budget", *CONDITION_COLUMNS, *own_columns(study.varied)}
    if any(cell.request.banks > 1 for cell in cells):
        here.add("banks")
    options = [option.name for option in ATTACK]
    known = [*sorted(here), *options, "world", *(f"world.{p.name}" for p in PARAMETERS)]
    measured = {metric for cell in cells for metric in cell.metrics}
    budgets = {budget for cell in cells for budget in cell.request.budgets}
    kept, notes = [], []
    for figure in study.figures:
        if figure.metric not in (*metrics.METRICS, *TRUTH):
            raise unknown(f"metric of figure {figure.name}", figure.metric, metrics.METRICS + TRUTH)
        panels = () if figure.panels is None else (figure.panels,)
        for column in (figure.x, *figure.lines, *panels):
            if column not in known:
                raise unknown(f"column of figure {figure.name}", column, sorted(here))
        why = None
        if figure.metric not in measured:
            why = f"{figure.metric} is known of synthetic worlds only"
        elif figure.x not in here:
            why = f"{figure.x} does not vary"
        elif figure.budgets and not budgets & set(figure.budgets):
            why = "none of its budgets is run"
        if why:
            notes.append(f"note: no figure {figure.name}: {why}")
            continue
        lines = tuple(line for line in figure.lines if line in here)
        panel = figure.panels if figure.panels in here else None
        kept.append(replace(figure, lines=lines, panels=panel))
    return tuple(kept), tuple(notes)
