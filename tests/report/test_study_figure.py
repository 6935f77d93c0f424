"""Figures of a study: what a point is, what its bar is, and that the figure says so."""

import pandas as pd
import pytest

from jaxbench.options.study import FigureSpec
from jaxbench.report import study_figure


def table(rows):
    """A summary with a loss per row, and ends one below and one above it."""
    frame = pd.DataFrame(rows)
    loss = frame["selection_loss_pp"]
    return frame.assign(selection_loss_pp_low=loss - 1, selection_loss_pp_high=loss + 1)


def drawn(rows, **spec):
    """What stands above the figure, its lines, and per line the ends of its bars."""
    figure = study_figure(table(rows), FigureSpec(name="f", metric="selection_loss_pp", **spec))
    axes = figure.axes[0]
    bars = [
        [tuple(path[:, 1]) for path in held.lines[2][0].get_segments()] for held in axes.containers
    ]
    return figure.get_suptitle(), [held.get_label() for held in axes.containers], bars


def row(loss, budget=1, **facts):
    return {"budget": budget, "selection_loss_pp": float(loss), **facts}


def test_one_condition_shows_its_interval():
    said, _, bars = drawn([row(2), row(3, budget=4)])
    assert said == "bars: 95 % interval over trials"
    assert bars == [[(1.0, 3.0), (2.0, 4.0)]]


def test_conditions_of_one_seed_count_once():
    rows = [row(loss, seed=seed) for seed, loss in ((0, 1), (0, 3), (1, 5), (1, 7))]
    said, _, bars = drawn(rows)
    assert "standard error over 2 seeds" in said
    assert bars == [[pytest.approx((2.0, 6.0))]]


def test_conditions_without_seeds_show_their_range():
    said, _, bars = drawn([row(1, endpoints="a"), row(5, endpoints="b")])
    assert "their range" in said
    assert bars == [[(1.0, 5.0)]]


def test_budgets_are_lines_and_no_conditions():
    rows = [row(gap + k, budget=k, gap=gap) for gap in (0, 1) for k in (8, 64)]
    said, labels, bars = drawn(rows, x="gap", budgets=(8, 64))
    assert said == "bars: 95 % interval over trials"
    assert labels == ["8", "64"]
    assert bars[1] == [(63.0, 65.0), (64.0, 66.0)]


def test_whole_numbers_beside_gaps_stay_whole():
    rows = [row(1, routers="hash", seed=None), row(2, routers="prng", seed=0)]
    assert drawn(rows, lines=("routers", "seed"))[1] == ["hash / -", "prng / 0"]


def test_router_banks_are_a_band():
    banks = {"banks": 3, "selection_loss_pp_bank_mean": 1.0, "selection_loss_pp_bank_sd": 0.5}
    said, _, _ = drawn([row(2, **banks), row(3, budget=4, **banks)])
    assert said.endswith("band: mean ± sd over 3 router banks")
