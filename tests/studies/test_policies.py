"""What policies are worth: read from summaries whose answers are plain."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.studies.mechanisms import mechanisms_of
from jaxbench.studies.policies import policies_of, submissions_to, undominated
from jaxbench.studies.submitters import submitters_of
from summaries import condition, summary

CURVE = {1: 0.0, 8: 0.5, 128: 1.5, 512: 2.0}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.5, 1.5], 16.0),  # half of the way from 4 to 64 in log2
        ([1.0, 0.0, 3.0], 1.0),  # there at once, whatever comes later
        ([0.0, 1.0, 0.0], 4.0),
        ([0.0, 0.5, 0.9], np.inf),
        ([], np.inf),
    ],
)
def test_where_a_curve_first_is_at_its_level(values, expected):
    budgets = np.array([1.0, 4.0, 64.0])[: len(values)]
    assert submissions_to(1.0, budgets, np.array(values)) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_what_no_other_policy_beats(points):
    harm, use = (np.array(x, dtype=float) for x in zip(*points, strict=True))
    expected = [
        not any(
            h <= harm[i] and u >= use[i] and (h < harm[i] or u > use[i])
            for h, u in zip(harm, use, strict=True)
        )
        for i in range(len(points))
    ]
    assert undominated(harm, use).tolist() == expected
    # What is not known beats nobody, and is not shown to be good.
    assert undominated(np.append(harm, np.nan), np.append(use, 9.0)).tolist() == [*expected, False]


def test_the_worst_attack_counts_and_honest_work_is_none():
    rows = summary(
        condition({1: 0.0, 8: 0.5}, submitter="linear", interface="task"),
        condition({1: 0.0, 8: 0.7}, submitter="flip", interface="task"),
        condition({1: 0.0, 8: 9.0}, submitter="development", interface="task"),
        condition({1: 0.0, 8: 0.6}, submitter="linear", interface="aggregate"),
        condition({1: 0.0, 8: 0.1}, submitter="flip", interface="aggregate", pair_order_kept=0.8),
        condition({1: 0.0, 8: 9.0}, submitter="development", interface="aggregate"),
    )
    found = policies_of(rows, ["submitter", "interface"])
    assert (found.groups, found.names, found.attacks) == (
        ["benchmark"],
        ["interface"],
        ["submitter"],
    )
    told = found.table[["interface", "submitter", "selection_loss_pp"]].to_numpy().tolist()
    assert told == [["aggregate", "linear", 0.6], ["task", "flip", 0.7]]
    assert found.table["undominated"].tolist() == [True, False]


def test_draws_have_students_interval_and_trials_their_own():
    rows = summary(
        *(condition({1: 0.0, 8: loss}, seed=s) for s, loss in enumerate([1.0, 2.0, 3.0]))
    )
    (line,) = policies_of(rows, ["seed"]).table.to_dict("records")
    # 4.3027 is Student's 97.5 % point with two degrees of freedom.
    assert line["selection_loss_pp"] == 2.0
    assert line["selection_loss_pp_high"] == pytest.approx(2 + 4.302653 / np.sqrt(3), rel=1e-6)
    assert line["draws"] == 3
    (line,) = policies_of(rows[rows["seed"] == 1], ["seed"]).table.to_dict("records")
    assert (line["selection_loss_pp_low"], line["selection_loss_pp_high"]) == (1.9, 2.1)


def test_mechanisms_at_some_budgets_in_the_order_of_the_study():
    rows = summary(
        condition(CURVE, mechanism="none"),
        condition(dict.fromkeys(CURVE, 0.25), mechanism="ladder(0.1)", release_rate=0.1),
        condition({1: 0.0, 8: 0.0, 128: 0.0, 512: 4.0}, mechanism="ladder(0.01)"),
    )
    found = mechanisms_of(rows, ["mechanism"])
    lines = found.table[["mechanism", "budget", "selection_loss_pp"]].to_numpy().tolist()
    assert lines == [
        ["none", 8, 0.5], ["none", 128, 1.5], ["none", 512, 2.0],
        ["ladder(0.1)", 8, 0.25], ["ladder(0.1)", 128, 0.25], ["ladder(0.1)", 512, 0.25],
        ["ladder(0.01)", 8, 0.0], ["ladder(0.01)", 128, 0.0], ["ladder(0.01)", 512, 4.0],
    ]  # fmt: skip
    # Half of the way from 8 to 128; never; a quarter from 128 to 512.
    crossings = found.table["submissions_to_1pp"].to_numpy()[::3]
    np.testing.assert_allclose(crossings, [32.0, np.inf, 128 * np.sqrt(2)])
    assert (found.table["largest_budget"] == 512).all()


def test_several_benchmarks_keep_their_mechanisms_apart():
    rows = summary(
        *(
            condition({1: 0.0, 8: b + m}, benchmark=f"b{b}", mechanism=f"m{m}")
            for b, m in itertools.product((0, 1), (0, 1, 2))
        )
    )
    table = mechanisms_of(rows, ["mechanism", "benchmark"]).table
    assert table["benchmark"].tolist() == ["b0"] * 3 + ["b1"] * 3
    assert table["selection_loss_pp"].tolist() == [0.0, 1.0, 2.0, 1.0, 2.0, 3.0]
    assert table["budget"].tolist() == [8] * 6


def test_every_submitter_and_which_one_is_the_worst():
    shared = {"router_reused_pp": 60.0, "router_heldout_pp": 50.0}
    rows = summary(
        condition({1: 0.0, 8: 0.5}, submitter="linear", mechanism="none", **shared),
        condition({1: 0.0, 8: 0.4}, submitter="flip", mechanism="none", **shared),
        condition({1: 0.0, 8: 5.0}, submitter="development", mechanism="none", **shared),
        condition({1: 0.0, 8: 0.1}, submitter="linear", mechanism="ladder", **shared),
        condition({1: 0.0, 8: 0.2}, submitter="flip", mechanism="ladder", **shared),
        condition({1: 0.0, 8: -1.0}, submitter="development", mechanism="ladder", **shared,
                  width=0.5),
    )  # fmt: skip
    # A sweep has a cell per submitter, so its mechanisms do not stand side by side.
    rows = rows.sort_values(["submitter", "mechanism", "budget"], ignore_index=True)
    found = submitters_of(rows, ["submitter", "mechanism"])
    assert found.names == ["mechanism"]
    table = found.table
    worst = table.loc[table["worst"], ["mechanism", "submitter"]].to_numpy().tolist()
    assert sorted(worst) == [["ladder", "flip"], ["none", "linear"]]
    assert len(table) == 6
    assert table["mechanism"].tolist() in (
        ["ladder"] * 3 + ["none"] * 3,
        ["none"] * 3 + ["ladder"] * 3,
    )
    assert (table["overstated_pp"] == 10.0).all()
    of = table.set_index(["mechanism", "submitter"])
    honest = of.loc[("ladder", "development")]
    # As wide as both intervals together.
    assert (honest["overstated_pp_low"], honest["overstated_pp_high"]) == (9.0, 11.0)
