"""What the tables of policies, mechanisms and submitters say on a terminal, and their picture."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from jaxbench import report
from jaxbench.report.policy_table import policy_names, submissions
from jaxbench.studies.mechanisms import mechanisms_of
from jaxbench.studies.policies import policies_of
from jaxbench.studies.submitters import submitters_of
from summaries import condition, summary

LADDERS = [f"ladder(step={step},round=true)" for step in (0.01, 0.1)]


@pytest.fixture
def told():
    """The lines that a function prints on a terminal of 80 characters."""

    def telling(show, *args):
        console = Console(file=io.StringIO(), width=80)
        show(console, *args)
        return console.file.getvalue().splitlines()

    return telling


@pytest.fixture(scope="module")
def rows():
    conditions = [{"mechanism": "none"}, {"mechanism": "none", "interface": "rank"}]
    conditions += [{"mechanism": name} for name in LADDERS]
    conditions += [{"mechanism": LADDERS[1], "on": "gate", "pair_order_kept": 0.95}]
    losses = ({1: 0.0, 8: 0.5, 128: 1.25}, {1: 0.0, 8: 0.25, 128: 0.75})
    # Every condition has the column, as in a summary.
    return summary(
        *(condition(losses[i % 2], **({"on": None} | c)) for i, c in enumerate(conditions))
    )


def line_of(lines, name):
    (found,) = [line for line in lines if re.match(rf"([* ] )?{name} +[0-9]", line)]
    return found


def test_mechanisms(told, rows):
    of = mechanisms_of(rows, ["interface", "mechanism", "on"])
    lines = told(report.print_mechanisms, of.table, of.groups, of.names)
    assert lines[0].strip() == "bench"
    assert max(map(len, lines)) <= 80
    words = "90.0  0.00  100  0.50 1.25 [1.15, 1.35]"
    assert words.split() == line_of(lines, "ladder 0.01").split()[2:-2]
    assert line_of(lines, "ladder 0.1").endswith("> 128")
    # 8 x 16^(2/3), in whole submissions.
    assert line_of(lines, "task").endswith(" 51")
    assert line_of(lines, "ladder 0.1, on gate").startswith("*")
    assert not line_of(lines, "task").startswith("*")


def test_policies_are_told_at_what_risk(told, rows):
    of = policies_of(rows, ["interface", "mechanism", "on"])
    lines = told(report.print_policies, of.table, of.groups, of.names)
    assert lines[0].startswith("bench: after 128 submissions")
    assert sum(line.endswith("> 128") for line in lines) == 2
    assert submissions(np.inf, 2048) == "> 2,048"
    assert submissions(1030.2, 2048) == "1,031"


def test_names_say_what_differs():
    mechanisms = [
        "none", "cap(total=8,per_period=none,periods=none,accounts=1)",
        "delay(batch=4,kind=each)", "delay(batch=4,kind=last)", "bootstrap",
        "gaussian(sd=0.01,draw=fresh)+rounding(step=0.001,mode=even)",
    ]  # fmt: skip
    rows = summary(*(condition({8: 0.0}, mechanism=name) for name in mechanisms))
    names = policy_names(rows, ["mechanism"])
    assert list(names.values()) == [
        "task", "cap 8", "delay 4 kind=each", "delay 4 kind=last", "bootstrap",
        "gaussian 0.01 + rounding 0.001",
    ]  # fmt: skip


def test_submitters(told):
    of = submitters_of(
        summary(
            condition({1: 0.0, 8: 0.5}, submitter="linear", router_reused_pp=70.0),
            condition({1: 0.0, 8: 0.75}, submitter="flip", router_reused_pp=80.0),
            condition({1: 0.0, 8: 3.0}, submitter="development", router_reused_pp=2.0),
        ),
        ["submitter"],
    )
    lines = told(report.print_submitters, of.table, of.groups, of.names)
    assert lines[0].strip() == "bench: after 8 submissions"
    assert line_of(lines, "task").split() == ["task", "0.50", "0.75*", "3.00", "80.00", "2.00"]


def test_the_picture_joins_the_settings_of_a_mechanism(rows):
    of = policies_of(rows, ["interface", "mechanism", "on"])
    shown = {"harm": "selection_loss_pp", "use": "pair_order_kept"}
    (axes,) = report.pareto_figure(of.table, of.groups, of.names, **shown).axes
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {
        "ladder", "ladder, on gate", "rank", "task"
    }  # fmt: skip
    assert sorted(text.get_text() for text in axes.texts) == ["0.01", "0.1"]
    joined = [tuple(line.get_ydata()) for line in axes.lines if line.get_alpha() == 0.5]
    assert (1.25, 0.75) in joined
    # Where every policy is a kind of its own, they are numbered.
    of = policies_of(rows[rows["mechanism"] == "none"], ["interface"])
    (axes,) = report.pareto_figure(of.table, of.groups, of.names, **shown).axes
    assert sorted(text.get_text() for text in axes.texts) == ["1", "2"]
