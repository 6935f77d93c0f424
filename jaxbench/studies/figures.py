"""Which figures of a study can be drawn: checked before anything runs."""

from collections.abc import Sequence
from dataclasses import replace

from jaxbench import metrics
from jaxbench.errors import unknown
from jaxbench.options.figure import FigureSpec
from jaxbench.options.study import ContractionSpec, Study
from jaxbench.options.table import ATTACK
from jaxbench.options.world import PARAMETERS
from jaxbench.studies.cells import CellPlan
from jaxbench.studies.released import RELEASED
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
    here, known = _columns(study, cells)
    measured = {metric for cell in cells for metric in cell.metrics}
    budgets = {budget for cell in cells for budget in cell.request.budgets}
    kept, notes = [], []
    for figure in study.figures:
        if figure.metric not in (*metrics.METRICS, *TRUTH):
            raise unknown(f"metric of figure {figure.name}", figure.metric, metrics.METRICS + TRUTH)
        pareto = figure.kind == "pareto"
        panels = () if figure.panels is None else (figure.panels,)
        of_x = () if pareto else (figure.x,)
        for column in (*of_x, *figure.lines, *panels, *figure.average):
            if column not in known:
                raise unknown(f"column of figure {figure.name}", column, sorted(here))
        why = None
        if figure.metric not in measured:
            why = f"{figure.metric} is known of synthetic worlds only"
        elif not pareto and figure.x not in here:
            why = f"{figure.x} does not vary"
        elif figure.budgets and not budgets & set(figure.budgets):
            why = "none of its budgets is run"
        if why:
            notes.append(f"note: no figure {figure.name}: {why}")
            continue
        lines = tuple(line for line in figure.lines if line in here)
        average = tuple(column for column in figure.average if column in here)
        panel = figure.panels if figure.panels in here else None
        if panel == "benchmark" and all(cell.world is not None for cell in cells):
            # The name of a world is made of digits; what it is made from has its own columns.
            panel = None
        kept.append(replace(figure, lines=lines, panels=panel, average=average))
    return tuple(kept), tuple(notes)


def compared(
    study: Study, cells: Sequence[CellPlan]
) -> tuple[ContractionSpec | None, tuple[str, ...]]:
    """The comparison of curves that the summary has columns for, or a note on why there is none.

    **Errors:** `BadRequest` for a column that no summary has.
    """
    spec = study.contraction
    if spec is None:
        return None, ()
    here, known = _columns(study, cells)
    for column in (spec.over, *spec.average):
        if column not in known:
            raise unknown("column of contraction", column, sorted(here))
    if spec.over not in here:
        return None, (f"note: no contraction: {spec.over} does not vary",)
    return replace(spec, average=tuple(c for c in spec.average if c in here)), ()


def _columns(study: Study, cells: Sequence[CellPlan]) -> tuple[set[str], list[str]]:
    """The columns that the summary has, and those that some summary of this study could have."""
    here = {"budget", RELEASED, *CONDITION_COLUMNS, *own_columns(study.varied)}
    if any(cell.request.banks > 1 for cell in cells):
        here.add("banks")
    options = [option.name for option in ATTACK]
    return here, [*sorted(here), *options, "world", *(f"world.{p.name}" for p in PARAMETERS)]
