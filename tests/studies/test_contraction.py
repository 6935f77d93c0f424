"""Whether curves are one curve of the numbers released: curves whose answers are plain."""

import numpy as np
import pytest

from jaxbench.options.study import ContractionSpec
from jaxbench.studies.contraction import contraction_table, false_winner_table, spread
from summaries import condition, summary

BUDGETS = (2, 3, 5, 9, 17, 33, 65, 129)
SPEC = ContractionSpec(average=())


def curves(value, granularities=(1, 2, 4)):
    """Conditions whose metrics are `value(d, k)`."""
    return summary(
        *(
            condition({k: value(d, k) for k in BUDGETS}, coordinates=d,
                      false_winner=[value(d, k) / 8 for k in BUDGETS])
            for d in granularities
        )
    )  # fmt: skip


def test_the_range_of_curves_over_what_they_share():
    x = np.array([1.0, 2.0, 4.0])
    flat = spread([(x, np.zeros(3)), (x, np.ones(3))])
    assert flat == (1.0, 1.0, 1.0, 4.0)
    # From 0 at 1 to 2 at 4: linear in log2, so 1 on average, 2 at most.
    assert spread([(x, np.array([0.0, 1.0, 2.0])), (x, np.zeros(3))]) == (1.0, 2.0, 1.0, 4.0)
    # In between a curve is interpolated, and only what both have counts.
    apart = spread(
        [(np.array([1.0, 4.0]), np.array([0.0, 2.0])), (np.array([2.0, 8.0]), np.zeros(2))]
    )
    assert apart == (1.5, 2.0, 2.0, 4.0)
    assert np.isnan(spread([(x, x), (8 * x, x)]).mean)
    assert np.isnan(spread([]).mean)


def test_curves_of_released_scores_alone_fall_together():
    found = contraction_table(curves(lambda d, k: np.log2(d * (k - 1))), [], SPEC)
    loss = found.set_index("metric").loc["selection_loss_pp"]
    # At equal submissions curves of 1 and 4 numbers are two doublings apart.
    assert loss["budget_spread"] == pytest.approx(2.0)
    assert loss["released_spread"] == pytest.approx(0.0, abs=1e-12)
    assert (loss["curves"], loss["released_from"], loss["released_to"]) == (3, 4, 128)


def test_curves_of_submissions_alone_do_not():
    found = contraction_table(curves(lambda d, k: np.log2(k - 1)), [], SPEC)
    loss = found.set_index("metric").loc["selection_loss_pp"]
    assert loss["budget_spread"] == pytest.approx(0.0, abs=1e-12)
    assert loss["released_spread"] == pytest.approx(2.0)
    assert loss["contraction"] == pytest.approx(0.0, abs=1e-12)


def test_the_first_budgets_with_many_false_winners():
    # 5 of 8 and more from I = 32 on.
    rows, level = curves(lambda d, k: np.log2(d * (k - 1))), 5 / 8
    spec = ContractionSpec(average=(), level=level)
    first = false_winner_table(rows, [], spec)
    assert first["budget"].tolist() == [33, 17, 9]
    assert first["released_scores"].tolist() == [32, 32, 32]
    line = contraction_table(rows, [], spec).set_index("metric").loc["first_false_winners_log2"]
    assert line["budget_spread"] == pytest.approx(np.log2(33 / 9))
    assert line["released_spread"] == 0.0
    # One of them is never there, and then there is no distance.
    spec = ContractionSpec(average=(), level=1.0)
    later = false_winner_table(rows, [], spec)["budget"]
    assert later.isna().tolist() == [True, False, False]
    assert later[1:].tolist() == [129, 65]
    line = contraction_table(rows, [], spec).set_index("metric").loc["first_false_winners_log2"]
    assert np.isnan(line["budget_spread"])


def test_partitions_are_averaged_first():
    one, other = (
        condition(dict.fromkeys(BUDGETS, loss), coordinates=2, interface=f"groups:2:{p}")
        for p, loss in enumerate([1.0, 3.0])
    )
    rows = summary(condition(dict.fromkeys(BUDGETS, 0.0), coordinates=1), one, other)
    found = contraction_table(rows, [], ContractionSpec(average=("interface",)))
    assert found.set_index("metric").loc["selection_loss_pp", "budget_spread"] == pytest.approx(2.0)
    assert len(found) == 3
