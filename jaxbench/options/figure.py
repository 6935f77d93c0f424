"""Figures of a study, as its file asks for them."""

import re
from dataclasses import dataclass

from jaxbench.errors import BadRequest, unknown
from jaxbench.options import parse
from jaxbench.options.grid import mapping

# A figure is a file of this name.
FIGURE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
# What a figure can be, and the keys of each kind.
KINDS = {
    "lines": ("name", "kind", "metric", "x", "lines", "panels", "budgets", "average"),
    "pareto": ("name", "kind", "metric", "x", "budgets"),
}
# Harm and use, where a Pareto figure does not say which; then what they can be.
HARM, USE = "selection_loss_pp", "pair_order_kept"
HARMS = (HARM, "false_winner", "score_gap_pp")
USES = (USE, "release_rate", "board_error_pp")
LESS_IS_BETTER = (*HARMS, "board_error_pp")


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a study.

    `lines`: a metric against `x`, a line per value of `lines`, a panel per value of `panels`. `x`
    is `budget`, `released_scores` (the numbers released before the final router), or a column that
    the study varies; then `budgets` names the budgets shown. Over the columns of `average` points
    are averaged, and a band shows their range.

    `pareto`: a point per policy, its harm (`metric`) against its use (`x`) at one budget, the
    largest where `budgets` is empty.
    """

    name: str
    metric: str
    x: str = "budget"
    lines: tuple[str, ...] = ()
    panels: str | None = None
    budgets: tuple[int, ...] = ()
    average: tuple[str, ...] = ()
    kind: str = "lines"


def read_figures(place: str, given: object) -> tuple[FigureSpec, ...]:
    """The figures of a study; `place` is its file.

    **Errors:** `BadRequest` for an unknown key or kind, and for a name that is no file's or taken.
    """
    figures = tuple(_figure(place, figure) for figure in parse.several(given or []))
    names = [figure.name for figure in figures]
    for name in names:
        if not FIGURE_NAME.fullmatch(name):
            raise BadRequest(
                f"{place}: figure {name!r} would be a file of that name; expected letters, digits, "
                "_ and -"
            )
        if names.count(name) > 1:
            raise BadRequest(f"{place}: two figures are named {name}")
    return figures


def _figure(place: str, given: object) -> FigureSpec:
    spec = mapping(place, "figures", given)
    kind = parse.choice(
        f"kind of a figure in {place}", spec.get("kind", "lines"), list(KINDS), list(KINDS)
    )
    for key in spec:
        if key not in KINDS[kind]:
            raise unknown(f"key of a figure in {place}", key, KINDS[kind])
    pareto = kind == "pareto"
    for key in ("name",) if pareto else ("name", "metric"):
        if key not in spec:
            raise BadRequest(f"{place}: a figure has no {key}")
    budgets = parse.budgets(f"{place}: budgets", spec["budgets"]) if "budgets" in spec else ()
    if pareto and len(budgets) > 1:
        raise BadRequest(f"{place}: budgets={list(budgets)} of a pareto figure; expected one")
    if pareto:
        for key, known in (("metric", HARMS), ("x", USES)):
            if key in spec:
                parse.choice(f"{key} of a pareto figure in {place}", spec[key], known, known)
    panels = spec.get("panels")
    return FigureSpec(
        name=parse.text(f"{place}: name", spec["name"]),
        metric=parse.text(f"{place}: metric", spec.get("metric", HARM)),
        x=parse.text(f"{place}: x", spec.get("x", USE if pareto else "budget")),
        lines=_columns(spec.get("lines")),
        panels=None if panels is None else parse.text(f"{place}: panels", panels),
        budgets=budgets,
        average=_columns(spec.get("average")),
        kind=kind,
    )


def _columns(given: object) -> tuple[str, ...]:
    return tuple(str(column) for column in parse.several(given or []))
