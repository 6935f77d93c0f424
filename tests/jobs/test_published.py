"""The published study of Terminal-Bench-Science, number by number."""

import json

import numpy as np
import pandas as pd
import pytest

import jaxbench

# Spec of the outputs: how published columns map to ours.
MAPPED = {
    "new_submissions": "budget",
    "model_selection_loss_pp": "selection_loss_pp",
    "score_gap_mean_pp": "score_gap_pp",
    "genuine_gap_mean_pp": "genuine_gap_pp",
    **{
        f"{who}_{side}_pp": f"{who}_{ours}_pp"
        for who in ("no_attack", "selected", "router")
        for side, ours in (("s", "reused"), ("t", "heldout"))
    },
}
ENDS = ("", "_low", "_high")


def ours(column: str) -> str:
    for end in ("_low", "_high"):
        if column.endswith(end):
            return ours(column.removesuffix(end)) + end
    return MAPPED.get(column, column)


@pytest.fixture(scope="module")
def result():
    return jaxbench.attack(jaxbench.load("terminal_science"))


@pytest.fixture
def published(root):
    def read(name):
        table = pd.read_csv(root / "tests" / "fixtures" / f"terminal_science_published_{name}.csv")
        return table.drop(columns=["benchmark", "policy"]).rename(columns=ours)

    return read


def test_summary(result, published):
    expected = published("summary").set_index("budget")
    found = result.summary().set_index("budget").loc[expected.index]
    assert set(expected.columns) <= set(found.columns)
    assert len(expected) == 9
    assert len(expected.columns) == 41
    np.testing.assert_allclose(
        found[expected.columns].to_numpy(float), expected.to_numpy(float), rtol=0, atol=1e-9
    )


def test_trials_0_to_19(result, published):
    expected = published("trials_first20")
    found = result.trials()
    found = expected[["trial", "budget"]].merge(found, on=["trial", "budget"], how="left")
    assert len(expected) == 20 * 13
    eligible = (expected["eligible"] | (expected["budget"] == 0)).to_numpy()
    assert (found["eligible"] == expected["eligible"]).all()
    assert (found["no_attack_model"] == expected["no_attack_model"]).all()
    chosen = expected["selected_model"].where(eligible, None)
    assert (found["selected_model"][eligible] == chosen[eligible]).all()
    assert found["selected_model"][~eligible].isna().all()
    names = ["trial", "budget", "eligible", "no_attack_model", "selected_model"]
    numbers = [c for c in expected.columns if c not in names]
    assert len(numbers) == 13
    for column in numbers:
        # Where the published table is empty, so is ours: assert_allclose takes NaN for equal.
        np.testing.assert_allclose(
            found[column].to_numpy(float),
            expected[column].to_numpy(float),
            rtol=0,
            atol=1e-9,
            err_msg=column,
        )


def test_eligible_trials_and_significance(result):
    summary = result.summary()
    assert summary["eligible_trials"].tolist() == [250] + [212] * 12
    assert result.first_significant_budget() == {"top5/task": 2}


def test_the_two_frontier_rules_agree_here(result):
    """No frontier of this benchmark has more than five models (spec of the attack, section 3)."""
    full = jaxbench.attack(jaxbench.load("terminal_science"), endpoints="full_frontier")
    keep = [c for c in result.trials() if c != "endpoints"]
    assert full.trials()[keep].equals(result.trials()[keep])


def test_other_banks(shared):
    """Over other banks the loss is far smaller and spreads widely (spec, section 7)."""
    benchmark = jaxbench.load("terminal_science")
    summary = jaxbench.attack(benchmark, banks=64, budgets=[2, 8, 32, 128], resamples=2).summary()
    rows = summary.set_index("budget")
    assert (rows["banks"] == 64).all()
    # Rows stay those of bank 0.
    assert rows.loc[32, "selection_loss_pp"] == pytest.approx(4.67, abs=0.005)
    for budget, (mean, spread) in {
        2: (-0.5, 2.6),
        8: (0.3, 2.1),
        32: (1.1, 1.9),
        128: (0.7, 1.3),
    }.items():
        found, sd = (rows.loc[budget, f"selection_loss_pp_bank_{x}"] for x in ("mean", "sd"))
        # The specification's figures rest on 12 banks of other seeds: their mean is good to
        # sd / sqrt(12), and both sds to about a third.
        assert abs(found - mean) < 4 * spread / np.sqrt(12)
        assert 0.5 < sd / spread < 1.7


def test_snapshot_is_the_public_table(shared):
    source = json.loads((shared / "data" / "terminal_science" / "outcomes.json").read_text())
    benchmark = jaxbench.load("terminal_science")
    assert benchmark.denominator == source["repeats"]
    place = {item: index for index, item in enumerate(source["items"])}
    columns = [place[item] for item in benchmark.items]
    for model, row in zip(benchmark.models, benchmark.counts, strict=True):
        digits = source["successes"][source["models"].index(model)]
        assert row.tolist() == [int(digits[c]) for c in columns]
    assert list(benchmark.prompt_hashes) == [source["prompt_hashes"][c] for c in columns]
    tasks = [benchmark.tasks[t] for t in benchmark.task_index]
    assert tasks == [source["tasks"][c] for c in columns]
