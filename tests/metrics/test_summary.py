"""Summaries over trials against plain loops."""

import numpy as np
import pandas as pd
import pytest

import jaxbench
from jaxbench import metrics
from jaxbench.metrics.summary import METRICS


@pytest.fixture(scope="module")
def result():
    return jaxbench.attack(
        jaxbench.load("terminal_science"), trials=60, budgets=[1, 2, 16], resamples=300, banks=3
    )


def test_means_and_intervals(result):
    trials, summary = result.trials(), result.summary()
    drawn = np.random.default_rng(2026081900).integers(0, 60, (300, 60))
    for index, budget in enumerate([0, 1, 2, 16]):
        rows = trials[trials["budget"] == budget]
        if budget:
            rows = rows.assign(**{m: rows[m].where(rows["eligible"]) for m in METRICS})
            assert summary["eligible_trials"][index] == rows["eligible"].sum() < 60
        for metric in METRICS:
            values = rows[metric].to_numpy(float)
            if np.isnan(values).all():
                assert np.isnan(summary.loc[index, metric])
                continue
            assert summary.loc[index, metric] == pytest.approx(np.nanmean(values), abs=1e-9)
            means = [np.nanmean(values[d]) for d in drawn]
            ends = np.percentile(means, [2.5, 97.5])
            found = summary.loc[index, [f"{metric}_low", f"{metric}_high"]].to_numpy(float)
            np.testing.assert_allclose(found, ends, rtol=0, atol=1e-9)


def test_banks_are_runs_of_their_own(result):
    benchmark = jaxbench.load("terminal_science")
    seed = benchmark.protocol.routing_seed
    means = []
    for bank in (seed, f"{seed}-bank1", f"{seed}-bank2"):
        alone = jaxbench.attack(
            benchmark, trials=60, budgets=[1, 2, 16], resamples=2, routing_seed=bank
        )
        means.append(alone.summary()[list(METRICS)].to_numpy(float))
    summary = result.summary()
    assert (summary["banks"] == 3).all()
    for index, metric in enumerate(METRICS):
        column = np.array([m[:, index] for m in means])
        for name, expected in (("mean", column.mean(axis=0)), ("sd", column.std(axis=0, ddof=1))):
            found = summary[f"{metric}_bank_{name}"].to_numpy(float)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    # Budget 1 draws no candidate: no bank can matter.
    assert summary.loc[1, "selection_loss_pp_bank_sd"] == 0.0
    assert summary.loc[2, "selection_loss_pp_bank_sd"] > 0.1


@pytest.mark.parametrize("means_only", [False, True])
def test_sums_do_not_depend_on_the_parts_that_trials_come_in(means_only):
    """Above 10,000 trials whole blocks are rows, and for means alone there is one row."""
    trials = 30 if means_only else 10_050
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(trials, len(METRICS))), columns=list(METRICS))
    table = table.assign(trial=np.arange(trials), budget=0, eligible=True)

    def summed(size):
        summary = metrics.Summary(trials, (0,), means_only=means_only)
        for start in range(0, trials, size):
            summary.add(table[start : start + size])
        return summary

    whole = summed(trials)
    for size in (7, 1000):
        pd.testing.assert_frame_equal(summed(size).means(), whole.means(), check_exact=True)
        found, expected = (s.table(resamples=9, seed=0) for s in (summed(size), whole))
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    if means_only:
        # As what holds every trial sums them: the spread over equal banks is 0.
        every = metrics.Summary(trials, (0,))
        every.add(table)
        pd.testing.assert_frame_equal(every.means(), whole.means(), check_exact=True)
        spread = metrics.bank_spread([every.means(), whole.means()])
        assert (spread.filter(like="_bank_sd") == 0).to_numpy().all()


def first(losses: dict[int, np.ndarray], seed: int) -> int | None:
    """The first significant budget where these are the losses per budget and trial."""
    trials = len(losses[0])
    rows = [
        dict.fromkeys(METRICS, 0.0)
        | {"trial": t, "budget": k, "eligible": True, "selection_loss_pp": column[t]}
        for t in range(trials)
        for k, column in losses.items()
    ]
    summary = metrics.Summary(trials, tuple(losses))
    table = pd.DataFrame(rows)
    # In two parts, as chunks come.
    half = trials // 2
    for part in (table[table["trial"] < half], table[table["trial"] >= half]):
        summary.add(part)
    return summary.first_significant_budget(seed=seed)


def test_first_significant_budget():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=80)
    losses = {
        0: np.zeros(80),
        1: noise + 9,  # the static router is not tested
        2: noise - noise.mean(),
        4: noise - noise.mean() + 0.1,
        8: noise - noise.mean() + 1.0,
        16: noise - noise.mean() + 1.0,
    }
    assert first(losses, seed=3) == 8
    # By hand for budget 8: 2 d - Q(1 - 0.05 / 4), four budgets tested.
    drawn = np.random.default_rng(3).integers(0, 80, (100_000, 80))
    means = losses[8][drawn].mean(axis=1)
    bound = 2 * losses[8].mean() - np.quantile(means, 1 - 0.05 / 4, method="higher")
    assert bound > 1e-10
    means = losses[4][drawn].mean(axis=1)
    assert 2 * losses[4].mean() - np.quantile(means, 1 - 0.05 / 4, method="higher") < 0


def test_no_loss_is_not_significant():
    still = {k: np.zeros(30) for k in (0, 2, 4)}
    assert first(still, seed=0) is None
    tiny = {**still, 2: np.full(30, 1e-11), 4: np.full(30, 1e-9)}
    assert first(tiny, seed=0) == 4
    assert first({0: np.zeros(3), 1: np.ones(3)}, seed=0) is None
