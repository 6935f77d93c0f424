"""Cards of real leaderboards."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

import jaxbench


def test_swe_bench_verified(shared):
    """134 submissions, whose neighbours nothing tells apart (asks: SWE-bench 621, mteb 5208)."""
    benchmark = jaxbench.read(shared / "data" / "swebench_verified_submissions")
    card = jaxbench.describe(benchmark)
    entries = card.to_dict()
    assert entries["pairs"]["tests"] == {"mcnemar": 8911}
    assert entries["pairs"]["separable"] == 6616
    assert entries["adjacent"]["pairs"] == 133
    assert entries["adjacent"]["separable"] == 0
    assert entries["adjacent"]["separable_unadjusted"] == 4
    assert len(entries["first_place"]["models"]) == 2
    summary = card.summary()
    assert (summary["tier"] == 1).sum() == 20
    assert summary["score_pp"].iloc[0] == 79.2
    # McNemar's exact test of some pairs, from the answers themselves.
    place = {name: m for m, name in enumerate(benchmark.models)}
    pairs = card.pairs()
    for row in pairs.iloc[::700].itertuples():
        a, b = benchmark.counts[place[row.model]], benchmark.counts[place[row.other]]
        ahead, behind = int((a > b).sum()), int((a < b).sum())
        expected = 1.0 if ahead == behind else scipy_stats.binomtest(ahead, ahead + behind).pvalue
        assert row.p == pytest.approx(expected, rel=1e-9)
        assert row.difference_pp == pytest.approx(100 * (ahead - behind) / 500)
    # Name order and the order of the file mean nothing, and tiers never split equal scores.
    assert (summary.groupby("score_pp")["tier"].nunique() == 1).all()


def test_terminal_bench_2(shared):
    """Scores in sixtieths, for an exact test that no binomial gives."""
    benchmark = jaxbench.read(shared / "data" / "terminal_bench_2")
    card = jaxbench.describe(benchmark, resamples=100)
    entries = card.to_dict()
    assert entries["shape"]["denominator"] == 60
    assert entries["pairs"]["tests"] == {"sign_flip": 3403}
    assert entries["adjacent"]["separable_unadjusted"] == 0
    assert entries["first_place"]["deciding_items"] == 1
    # A simulation of one pair in the middle of the range.
    pairs = card.pairs()
    row = pairs[(pairs["p"] > 0.05) & (pairs["p"] < 0.1)].iloc[0]
    place = {name: m for m, name in enumerate(benchmark.models)}
    apart = benchmark.counts[place[row["model"]]] - benchmark.counts[place[row["other"]]]
    signs = np.random.default_rng(0).choice([-1, 1], (100_000, len(apart)))
    far = (np.abs(signs @ apart) >= abs(apart.sum())).mean()
    assert far == pytest.approx(row["p"], abs=4 * np.sqrt(row["p"] / 100_000))
