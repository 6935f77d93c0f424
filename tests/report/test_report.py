"""Figures and the terminal table."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from jaxbench.report import budget_figure, print_attack, save_figure


def summary(name="science", rules=("top5",), banks=False, filled=True) -> pd.DataFrame:
    rows = []
    for rule in rules:
        for k in (0, 1, 2, 2048):
            row = {
                "benchmark": name, "endpoints": rule, "interface": "task", "mechanism": "none",
                "coordinates": 5, "budget": k, "eligible_trials": 212, "attempted_trials": 250,
            }  # fmt: skip
            for metric in ("selection_loss_pp", "score_gap_pp", "genuine_gap_pp", "false_winner",
                           "selected_router"):  # fmt: skip
                value = k / 1000 - 0.001 if filled or k == 0 else np.nan
                row |= {metric: value, f"{metric}_low": value - 0.5, f"{metric}_high": value + 0.5}
                if banks:
                    row |= {f"{metric}_bank_mean": value, f"{metric}_bank_sd": 1.0, "banks": 64}
            rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("metric", ["selection_loss_pp", "score_gap_pp"])
@pytest.mark.parametrize("banks", [False, True])
def test_a_figure_draws_every_condition_with_its_intervals(metric, banks):
    figure = budget_figure(summary(rules=("top5", "full_frontier"), banks=banks), metric)
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert axes.xaxis.get_transform().base == 2
    assert len(axes.containers) == 2
    for container in axes.containers:
        assert container.lines[0].get_xdata().tolist() == [1, 2, 2048]
        assert container.has_yerr
    labels = axes.get_legend_handles_labels()[1]
    assert "top5 / task" in labels
    assert ("genuine models alone" in labels) == (metric == "score_gap_pp")
    assert any("64 banks" in label for label in labels) == banks


def test_many_conditions_are_told_apart_without_colour():
    rules = [f"rule {i}" for i in range(12)]
    (axes,) = budget_figure(summary(rules=rules), "selection_loss_pp").axes
    lines = [container.lines[0] for container in axes.containers]
    looks = {(line.get_marker(), str(line.get_linestyle()), line._dash_pattern[1] is None)
             for line in lines}  # fmt: skip
    assert len({line.get_marker() for line in lines}) == 12
    assert len(looks) == 12
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 12


def test_names_are_text_not_markup(tmp_path):
    name = r"a $\frac{1}{0}$ <script>alert(1)</script> [red]x[/red]"
    save_figure(budget_figure(summary(name=name), "selection_loss_pp"), tmp_path / "loss")
    drawn = (tmp_path / "loss.svg").read_text()
    assert "<script>" not in drawn
    console = Console(file=io.StringIO(), width=200)
    print_attack(console, summary(name=name), ["[bold]note[/bold]"])
    text = console.file.getvalue()
    assert name in text
    assert "[bold]note[/bold]" in text


def test_a_figure_is_the_same_file_for_the_same_numbers(tmp_path):
    for stem in ("one", "two"):
        save_figure(budget_figure(summary(banks=True), "score_gap_pp"), tmp_path / stem)
    for suffix in (".svg", ".png"):
        one, two = ((tmp_path / s).with_suffix(suffix).read_bytes() for s in ("one", "two"))
        assert one == two


def test_nothing_eligible_still_draws_and_prints(tmp_path):
    empty = summary(filled=False)
    save_figure(budget_figure(empty, "score_gap_pp"), tmp_path / "gap")
    save_figure(budget_figure(empty, "selection_loss_pp"), tmp_path / "loss")
    console = Console(file=io.StringIO(), width=80)
    print_attack(console, empty, [])
    assert "none" in console.file.getvalue()


@pytest.mark.parametrize("banks", [False, True])
def test_the_table_fits_80_columns(banks):
    console = Console(file=io.StringIO(), width=80)
    print_attack(console, summary(banks=banks), [])
    text = console.file.getvalue()
    assert "…" not in text
    assert "2.05 [1.55, 2.55]" in text
    assert "-0.00" not in text
