"""Real logs and outcomes: the means are those that the tools and the sources themselves report."""

import shutil

import numpy as np
import pandas as pd
import pytest

import jaxbench
from jaxbench.errors import BadRequest

LM_EVAL = "lm_eval/samples_math_perturbed_full_2026-01-21T03-44-18.458309.jsonl"
EVERY = "every_eval_ever/demo-source/demo-org/demo-model/f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40"
INSPECT = {
    "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval": (10, 0.8),
    "data_arc_qwen.json": (3, 1 / 3),
    "data_pubmedqa_gpt4o_mini.json": (2, 1.0),
    "log_streaming.eval": (2, 0.75),
    "mmlu-summary-choices.eval": (1, 0.0),
}


@pytest.fixture(scope="module")
def formats(shared):
    return shared / "formats"


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data"


def noted(benchmark, *words):
    found = [note for note in benchmark.provenance if all(w in note for w in words)]
    assert len(found) == 1, (words, benchmark.provenance)


def refused(path, *words, **options):
    with pytest.raises(BadRequest) as failure:
        jaxbench.read(path, **options)
    text = str(failure.value)
    assert text.startswith(str(path)), text
    for word in words:
        assert word in text, (word, text)


def means(benchmark) -> dict[str, float]:
    return dict(zip(benchmark.models, benchmark.scores.mean(axis=1).tolist(), strict=True))


# Samples of the formats


@pytest.mark.parametrize("place", [LM_EVAL, "lm_eval"])
def test_lm_eval(place, formats):
    benchmark = jaxbench.read(formats / place)
    assert benchmark.models == ("RylanSchaeffer/mem_Qwen3-93M_minerva_math_rep_0_sbst_1.0000_epch_1_ot_1",)  # fmt: skip  # noqa: E501
    assert benchmark.tasks == ("math_perturbed_full",)
    assert len(benchmark.items) == 10
    assert benchmark.scores.mean() == 0.0
    assert len(set(benchmark.prompt_hashes)) == 10
    noted(benchmark, "1 reported mean is that of the rows")
    noted(benchmark, "counts 5,000 items", "10 have rows")


def test_lm_eval_hashes_are_those_of_the_text(formats, tmp_path):
    """Without the recorded hashes the same ones are computed."""
    text = (formats / LM_EVAL).read_text().replace('"prompt_hash"', '"other_hash"')
    other = tmp_path / "samples_math_perturbed_full.jsonl"
    other.write_text(text)
    there, computed = jaxbench.read(formats / LM_EVAL), jaxbench.read(other)
    assert '"prompt_hash"' in (formats / LM_EVAL).read_text()
    assert computed.prompt_hashes == there.prompt_hashes


@pytest.mark.parametrize("name", INSPECT)
def test_inspect(name, formats, tmp_path):
    items, mean = INSPECT[name]
    benchmark = jaxbench.read(formats / "inspect_ai" / name)
    assert len(benchmark.items) == items
    assert benchmark.scores.mean() == pytest.approx(mean, abs=1e-12)
    noted(benchmark, "1 reported mean is that of the rows")
    shutil.copyfile(formats / "inspect_ai" / name, tmp_path / "renamed")
    assert jaxbench.read(tmp_path / "renamed").digest() == benchmark.digest()


def test_inspect_logs_of_other_tasks_are_no_matrix(formats):
    refused(formats / "inspect_ai", "5 of 5 models miss items", "missing=drop_items")


def test_swe_bench(formats, tmp_path):
    folder = formats / "swe_bench"
    gold = jaxbench.read(folder / "gold.validate-gold.json")
    assert gold.models == ("gold",)
    assert (int(gold.counts.sum()), len(gold.items), len(gold.tasks)) == (5, 2294, 12)
    name = "per_instance_details_bashonly_ILLUSTRATIVE"
    details = jaxbench.read(folder / f"{name}.json")
    assert (int(details.counts.sum()), len(details.items)) == (5, 8)
    results = folder / "results_experiments_format_ILLUSTRATIVE.json"
    refused(results, "holds only successes", "items=FILE")
    items = tmp_path / "items.txt"
    items.write_text("\n".join(gold.items))
    read = jaxbench.read(results, items=str(items))
    assert (int(read.counts.sum()), len(read.items), read.tasks) == (5, 2294, gold.tasks)
    # The report names every instance, so the gold patches and the submission compare.
    both = jaxbench.read(folder, items=str(items), missing="drop_models")
    assert both.models == ("gold", "results_experiments_format_ILLUSTRATIVE")
    assert both.counts[0].tolist() == both.counts[1].tolist()


@pytest.mark.parametrize("place", [f"{EVERY}.json", f"{EVERY}_samples.jsonl", "every_eval_ever"])
def test_every_eval_ever(place, formats):
    path = formats / place
    refused(path, "reports accuracy 0.75", "the mean of its 1 row is 1", "mismatch=note")
    benchmark = jaxbench.read(path, mismatch="note")
    assert benchmark.models == ("demo-org/demo-model",)
    assert benchmark.scores.tolist() == [[1]]
    noted(benchmark, "a reported mean is 0.75 where the rows have 1")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("alpaca_eval/annotations.json", "AlpacaEval annotations"),
        ("bfcl/BFCL_v4_live_parallel_score.json", "BFCL scores"),
        ("evalplus/mistral-7b-instruct_eval_results.json", "EvalPlus results"),
        ("lighteval/details_demo_0_SYNTHETIC.parquet", "lighteval details"),
    ],
)
def test_formats_that_are_known_and_not_read(name, word, formats):
    refused(formats / name, f"{word}, which jaxbench does not read yet")


# Outcomes


def stated(data, name) -> list[str]:
    return (data / name / "PROVENANCE.md").read_text().splitlines()


def test_mmlu_pro(data):
    folder = data / "mmlu_pro"
    refused(folder, "models miss items", "missing=drop_items")
    lines = [line.strip() for line in stated(data, "mmlu_pro") if ": n=" in line]
    acc = {}
    for line in lines:
        model, _, rest = line.removeprefix("- ").partition(": n=")
        if "dropped" not in rest:
            acc[model] = int(rest.split(",")[0]), float(rest.rsplit("=", 1)[1])
    assert len(acc) == 28
    raw = pd.read_parquet(folder / "scores.parquet")
    by_model = raw.groupby("model")["score"].agg(["size", "mean"])
    assert by_model["size"].sum() == 336814
    for model, (n, percent) in acc.items():
        size, mean = by_model.loc[model]
        # Some scores were left out after the accuracies were taken; rounding is half a digit.
        left_out = n - size
        assert 0 <= left_out <= 7
        assert abs(100 * mean - percent) <= 100 * left_out / n + 0.005 + 1e-9
    whole = by_model.index[by_model["size"] == 12032]
    complete = jaxbench.read(folder, missing="drop_models")
    assert set(complete.models) == set(whole)
    assert len(whole) == 20
    assert (len(complete.items), len(complete.tasks)) == (12032, 14)
    for model, mean in means(complete).items():
        assert 100 * mean == pytest.approx(acc[model][1], abs=0.005 + 1e-9)
    items = jaxbench.read(folder, missing="drop_items")
    assert len(items.models) == 28
    noted(items, f"missing=drop_items: {12032 - len(items.items)} of 12032 items left out")


def test_zeroeval(data):
    folder = data / "zeroeval"
    check = pd.read_csv(folder / "check.csv").set_index(["task", "model"])
    benchmark = jaxbench.read(folder, missing="drop_models")
    # Of 30 models with all three tasks, one lacks 15 items of one.
    assert (len(benchmark.models), len(benchmark.items)) == (29, 2840)
    compared = 0
    for t, task in enumerate(benchmark.tasks):
        scores = benchmark.scores[:, benchmark.task_index == t].mean(axis=1)
        for model, mean in zip(benchmark.models, scores, strict=True):
            assert 100 * mean == pytest.approx(check.loc[(task, model), "computed"], abs=1e-9)
            compared += 1
    assert compared == 87


def test_swe_bench_pro(data):
    line = next(line for line in stated(data, "swebench_pro_14") if "Means (%)" in line)
    pairs = line.partition("(%): ")[2].removesuffix(".").split("; ")
    expected = {model: float(mean) for model, _, mean in (p.rpartition(" ") for p in pairs)}
    benchmark = jaxbench.read(data / "swebench_pro_14")
    assert (len(benchmark.models), len(benchmark.items), len(benchmark.tasks)) == (14, 730, 11)
    found = means(benchmark)
    assert found.keys() == expected.keys()
    for model, mean in expected.items():
        assert 100 * found[model] == pytest.approx(mean, abs=0.005 + 1e-9)


def test_swe_bench_verified(data):
    folder = data / "swebench_verified_submissions"
    check = pd.read_csv(folder / "check.csv", dtype={"model": str}).set_index("model")
    benchmark = jaxbench.read(folder)
    assert (len(benchmark.models), len(benchmark.items), len(benchmark.tasks)) == (134, 500, 12)
    found = means(benchmark)
    assert len(check) >= 131
    for model, row in check.iterrows():
        assert 100 * found[model] == pytest.approx(row["computed"], abs=1e-9)


def test_terminal_bench(data):
    benchmark = jaxbench.read(data / "terminal_bench_2")
    assert (len(benchmark.models), len(benchmark.items), len(benchmark.tasks)) == (83, 88, 16)
    found = means(benchmark)
    best = max(found, key=found.__getitem__)
    assert best == "factory_droid_gpt-5_2_at_openai"
    assert round(100 * found[best], 1) == 64.5


def test_perteval(data):
    folder = data / "drift_perteval_mmlu"
    refused(folder, "differ in 'axis'", "where={axis:")
    line = next(line for line in stated(data, "drift_perteval_mmlu") if "Accuracies (%)" in line)
    entries = line.partition("(%): ")[2].removesuffix(".").split("; ")
    expected = {tuple(e.rsplit(" ", 2)[:2]): float(e.rsplit(" ", 2)[2]) for e in entries}
    assert len(expected) == 12
    for axis in ("original", "knowledge_invariant_all_cwpp"):
        benchmark = jaxbench.read(folder, where={"axis": axis})
        assert (len(benchmark.models), len(benchmark.items)) == (6, 1221)
        for model, mean in means(benchmark).items():
            assert round(100 * mean, 1) == expected[model, axis]


def test_prompteval_tails(data):
    folder = data / "drift_prompteval_tails_mmlu"
    raw = pd.read_parquet(folder / "scores.parquet")
    template = raw["variant_id"].iloc[0]
    chosen = raw[raw["variant_id"] == template].groupby("model")["score"].agg(["size", "mean"])
    one = jaxbench.read(folder, where={"variant_id": template}, missing="drop_models")
    model = chosen.index[chosen["size"] == 600].item()
    assert means(one) == {model: pytest.approx(chosen.loc[model, "mean"], abs=1e-12)}
    # Over all templates, as repeats.
    every = jaxbench.read(folder, columns={"epoch": "variant_id"}, missing="drop_models")
    assert every.denominator == 40
    mean = raw[raw["model"] == model]["score"].mean()
    assert means(every) == {model: pytest.approx(mean, abs=1e-12)}


def test_state_of_what_art(data):
    """Up to three templates per task came with the benchmark; they count as repeats."""
    folder = data / "drift_state_of_what_art"
    raw = pd.read_parquet(folder / "scores.parquet")
    default = raw[raw["axis"] == "default"]
    whole = default.groupby("model").filter(lambda rows: rows["item_id"].nunique() == 25)
    options = {"where": {"axis": "default"}, "missing": "drop_models"}
    refused(folder, "differ in 'variant_id'", **options)
    benchmark = jaxbench.read(folder, columns={"epoch": "variant_id"}, **options)
    assert (len(benchmark.models), len(benchmark.items)) == (11, 25)
    expected = whole.groupby(["model", "item_id"])["score"].mean().groupby("model").mean()
    assert list(benchmark.models) == sorted(expected.index)
    assert np.allclose(benchmark.scores.mean(axis=1), expected.sort_index(), rtol=0, atol=1e-6)
