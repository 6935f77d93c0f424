"""Variance by split and bank against plain loops, and banks against fresh routers."""

import numpy as np
import pandas as pd
import pytest

import jaxbench
from jaxbench.metrics import CrossedVariance


def by_loops(values: np.ndarray) -> tuple[float, float, float]:
    """Two-way analysis of variance of `(banks, trials)`, written out."""
    banks, trials = values.shape
    mean = sum(values[b, t] for b in range(banks) for t in range(trials)) / (banks * trials)
    row = [sum(values[b]) / trials for b in range(banks)]
    column = [sum(values[:, t]) / banks for t in range(trials)]
    ms_banks = trials * sum((r - mean) ** 2 for r in row) / (banks - 1)
    ms_trials = banks * sum((c - mean) ** 2 for c in column) / (trials - 1)
    rest = sum(
        (values[b, t] - row[b] - column[t] + mean) ** 2 for b in range(banks) for t in range(trials)
    ) / ((banks - 1) * (trials - 1))
    return (ms_trials - rest) / banks, (ms_banks - rest) / trials, rest


def test_components_of_the_two_way_analysis():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4, 9)) + 3 * rng.normal(size=(4, 1)) + 2 * rng.normal(size=9) + 50
    eligible = np.array([True] * 5 + [False] + [True] * 3)
    found = CrossedVariance(trials=9, banks=4, budgets=(8,))
    for bank in range(4):
        column = np.where(eligible, values[bank], np.nan)[:, None]
        found.add(bank, 0, column[:4])
        found.add(bank, 4, column[4:])
    row = found.components().iloc[0]
    expected = by_loops(values[:, eligible])
    assert row[["splits", "banks", "rest"]].tolist() == pytest.approx(expected)


def test_components_do_not_depend_on_the_parts_that_trials_come_in():
    values = np.random.default_rng(3).normal(size=(3, 200, 1))
    found = []
    for size in (200, 7):
        parts = CrossedVariance(trials=200, banks=3, budgets=(8,))
        for start in range(0, 200, size):
            for bank in range(3):
                parts.add(bank, start, values[bank, start : start + size])
        found.append(parts.components())
    pd.testing.assert_frame_equal(*found, check_exact=True)


def test_one_bank_or_one_trial_has_no_components():
    one = CrossedVariance(trials=3, banks=1, budgets=(8,))
    one.add(0, 0, np.ones((3, 1)))
    assert one.components()[["splits", "banks", "rest"]].isna().all(axis=None)


def test_banks_and_fresh_routers_agree():
    """Terminal-Bench-Science: 64 hash banks against fresh routers on the same published splits.

    The mean over banks is known to sd / sqrt(64), the mean over 16 seeds of fresh routers far
    better. Nine budgets that share their banks are no nine independent comparisons, so a few may
    lie beyond one standard error; none lies beyond two.
    """
    benchmark = jaxbench.load("terminal_science")
    budgets = [2, 4, 8, 16, 32, 64, 128, 512, 2048]
    options = {"budgets": budgets, "resamples": 2}
    banks = jaxbench.attack(benchmark, banks=64, **options)
    fresh = [jaxbench.attack(benchmark, routers="prng", seed=s, **options) for s in range(16)]
    summary = banks.summary().set_index("budget").loc[budgets]
    means = np.array(
        [f.summary().set_index("budget").loc[budgets, "selection_loss_pp"] for f in fresh]
    )
    apart = summary["selection_loss_pp_bank_mean"].to_numpy() - means.mean(axis=0)
    distance = np.abs(apart) / (summary["selection_loss_pp_bank_sd"].to_numpy() / np.sqrt(64))
    assert (distance < 2).all()
    assert (distance < 1).sum() >= 6

    # The variance over trials of a fresh run is the sum of the components of the banks.
    trials = pd.concat([f.trials() for f in fresh])
    trials = trials[trials["eligible"] & (trials["budget"] > 0)]
    variance = trials.groupby("budget")["selection_loss_pp"].var()
    parts = banks.variance().set_index("budget")[["splits", "banks", "rest"]]
    # 212 splits know a variance to some 10 %.
    np.testing.assert_allclose(parts.sum(axis=1)[budgets], variance[budgets], rtol=0.15)
    # The mean of a bank varies by more than a percentage point: the intervals over trials of one
    # bank, about 0.7 pp to either side, miss it.
    assert (np.sqrt(parts["banks"]) > 1.0).all()
