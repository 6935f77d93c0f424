"""Every Eval Ever, read: rows with the means that belong to them."""

import json
from pathlib import Path

import pytest

import jaxbench
from jaxbench.sources.prompt_text import prompt_hash
from outcome_files import noted
from outcome_files import refuse as refused

UUID = "f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40"


def row(item, score, *, model="org/a", task="bench", result=None, evaluation="e", **more) -> dict:
    made = {
        "schema_version": "0.3.0", "evaluation_id": f"{evaluation}/{model}", "model_id": model,
        "evaluation_name": task, "sample_id": item, "sample_hash": f"hash {item}",
        "interaction_type": "single_turn", "input": {"raw": f"ask {item}", "reference": []},
        "output": {"raw": []}, "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1}, **more,
    }  # fmt: skip
    return made if result is None else made | {"evaluation_result_id": result}


def mean(score, *, name="bench", result=None, metric="accuracy", low=0.0, high=1.0, lower=False):
    entry = {
        "evaluation_name": name,
        "metric_config": {"metric_name": metric, "lower_is_better": lower,
                          "min_score": low, "max_score": high},
        "score_details": {"score": score},
    }  # fmt: skip
    return entry if result is None else entry | {"evaluation_result_id": result}


def aggregate(*means, model="org/a", evaluation="e", **more) -> dict:
    return {
        "schema_version": "0.3.0", "evaluation_id": f"{evaluation}/{model}",
        "model_info": {"name": model, "id": model}, "evaluation_results": list(means), **more,
    }  # fmt: skip


def write(folder: Path, rows, content=None, uuid=UUID, end="\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid}_samples.jsonl"
    path.write_bytes("".join(json.dumps(r) + end for r in rows).encode())
    if content is not None:
        (folder / f"{uuid}.json").write_text(json.dumps(content, indent=2))
    return path


def test_samples_and_means(tmp_path):
    path = write(tmp_path / "x", [row("i", 1), row("j", 0)], aggregate(mean(0.5)))
    for place in (path, path.with_name(f"{UUID}.json"), tmp_path / "x"):
        benchmark = jaxbench.read(place)
        assert benchmark.models == ("org/a",)
        assert benchmark.tasks == ("bench",)
        assert benchmark.items == ("i", "j")
        assert benchmark.scores.tolist() == [[1, 0]]
        assert benchmark.prompt_hashes == (prompt_hash("ask i"), prompt_hash("ask j"))
        noted(benchmark, "1 reported mean is that of the rows")


def test_samples_alone_and_means_alone(tmp_path):
    path = write(tmp_path / "x", [row("i", 1), row("j", 0)])
    assert jaxbench.read(path).scores.tolist() == [[1, 0]]
    alone = tmp_path / f"{UUID}.json"
    alone.write_text(json.dumps(aggregate(mean(0.5))))
    refused(alone, "holds means only", "UUID_samples.jsonl")


def test_samples_under_the_name_that_the_means_give(tmp_path):
    content = aggregate(
        mean(0.5), detailed_evaluation_results={"file_path": "data/x/rows of a.jsonl"}
    )
    write(tmp_path, [row("i", 1), row("j", 0)], content).rename(tmp_path / "rows of a.jsonl")
    benchmark = jaxbench.read(tmp_path / f"{UUID}.json")
    assert benchmark.scores.tolist() == [[1, 0]]
    noted(benchmark, "1 reported mean is that of the rows")


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.txt"])
def test_samples_under_another_name(name, tmp_path):
    path = write(tmp_path, [row("i", 1)]).rename(tmp_path / name)
    assert jaxbench.read(path).scores.tolist() == [[1]]


def test_the_folders_of_the_repository(tmp_path):
    """data/SOURCE/DEVELOPER/MODEL/UUID*: several models, and two evaluations of each."""
    for model, (first, second) in {"a": ((1, 1), (0, 1)), "b": ((0, 0), (0, 0))}.items():
        for n, (task, scores) in enumerate({"bench": first, "other": second}.items()):
            name = f"org/{model}"
            rows = [row(f"{task} {i}", s, model=name, task=task, evaluation=task, result=task)
                    for i, s in enumerate(scores)]  # fmt: skip
            content = aggregate(
                mean(sum(scores) / 2, name="a title of its own", result=task),
                model=name, evaluation=task,
            )  # fmt: skip
            write(tmp_path / "data" / "source" / "org" / model, rows, content, f"{UUID[:-1]}{n}")
    benchmark = jaxbench.read(tmp_path / "data")
    assert benchmark.models == ("org/a", "org/b")
    assert benchmark.tasks == ("bench", "other")
    assert benchmark.scores.tolist() == [[1, 1, 0, 1], [0, 0, 0, 0]]
    noted(benchmark, "4 reported means are those of the rows")


def test_the_range_of_scores(tmp_path):
    rows = [row("i", 1), row("j", 5), row("k", 3)]
    path = write(tmp_path, rows, aggregate(mean(3, low=1, high=5)))
    benchmark = jaxbench.read(path)
    assert benchmark.scores.tolist() == [[0, 1, 0.5]]
    noted(benchmark, "1 reported mean is that of the rows")
    write(tmp_path, [row("i", 0.5)], aggregate(mean(0.5, low=1, high=5)))
    refused(path, "line 1: the score is outside 1 to 5")
    write(tmp_path, [row("i", 2)], aggregate(mean(2)))
    refused(path, "line 1: the score is outside 0 to 1")
    write(tmp_path, [row("i", 2)], aggregate(mean(2, low=5, high=5)))
    refused(tmp_path, "has scores from 5 to 5")
    write(tmp_path, [row("i", 2)], aggregate(mean("high")))
    refused(tmp_path, "score is 'high', not a number")
    refused(path, "max_score means nothing for format=every_eval_ever", max_score=5)


def test_several_metrics(tmp_path):
    rows = [row("i", 1, result="b/acc"), row("i", 0.5, result="b/f1"),
            row("j", 0, result="b/acc"), row("j", 0.25, result="b/f1")]  # fmt: skip
    content = aggregate(mean(0.5, result="b/acc"), mean(0.375, result="b/f1", metric="f1"))
    path = write(tmp_path, rows, content)
    refused(path, "bench has several scores; choose score=accuracy or score=f1")
    for name, expected in (("accuracy", [1, 0]), ("f1", [0.5, 0.25])):
        benchmark = jaxbench.read(path, score=name)
        assert benchmark.scores.tolist() == [expected]
        noted(benchmark, "1 reported mean is that of the rows")
    refused(path, "bench has no score bleu", score="bleu")


def test_two_means_of_one_metric_go_by_their_ids(tmp_path):
    rows = [row("i", 1, result="pass@5"), row("i", 0, result="pass@1")]
    content = aggregate(mean(0, result="pass@1"), mean(1, result="pass@5"))
    path = write(tmp_path, rows, content)
    refused(path, "choose score=pass@5 or score=pass@1")
    assert jaxbench.read(path, score="pass@5").scores.tolist() == [[1]]


def test_result_ids_of_one_model_each_are_no_metrics(tmp_path):
    rows = [row("i", n, model=f"org/{m}", result=f"bench/{m}") for n, m in enumerate("ab")]
    assert jaxbench.read(write(tmp_path, rows)).scores.tolist() == [[0], [1]]
    rows.append(row("i", 1, model="org/b", result="bench/b/f1"))
    refused(write(tmp_path, rows), "several scores")


def test_less_is_better(tmp_path):
    rows = [row("i", 0.5, result="x"), row("i", 1, result="acc")]
    content = aggregate(mean(0.5, result="x", metric="wer", lower=True), mean(1, result="acc"))
    path = write(tmp_path, rows, content)
    refused(path, "less of wer is better", score="wer")
    assert jaxbench.read(path, score="accuracy").scores.tolist() == [[1]]


def test_a_mean_that_is_not_that_of_the_rows(tmp_path):
    path = write(tmp_path, [row("i", 1), row("j", 0)], aggregate(mean(0.75)))
    refused(path, "reports accuracy 0.75", "the mean of its 2 rows is 0.5", "mismatch=note")
    benchmark = jaxbench.read(path, mismatch="note")
    noted(benchmark, "a reported mean is 0.75 where the rows have 0.5")


def test_fewer_rows_than_counted(tmp_path):
    content = aggregate(mean(1), detailed_evaluation_results={"total_rows": 9})
    path = write(tmp_path, [row("i", 1)], content)
    noted(jaxbench.read(path), "a file of means counts 9 samples where 1 are in the file", UUID)


def test_a_model_with_means_only_is_noted(tmp_path):
    write(tmp_path, [row("i", 1)], aggregate(mean(1)))
    (tmp_path / "lone.json").write_text(json.dumps(aggregate(mean(1), model="org/b")))
    noted(jaxbench.read(tmp_path), "1 aggregate files have no samples beside them: 'lone.json'")


@pytest.mark.parametrize("version", ["0.1.0", "9.0", 4])
def test_other_versions_are_read_if_the_keys_are_there(version, tmp_path):
    rows = [row(3, 1, schema_version=version, something_new=[1])]
    del rows[0]["output"], rows[0]["sample_hash"], rows[0]["answer_attribution"]
    content = aggregate(mean(1)) | {"schema_version": version}
    assert jaxbench.read(write(tmp_path, rows, content)).items == ("3",)


@pytest.mark.parametrize("key", ["evaluation_name", "model_id", "evaluation"])
def test_rows_without_a_key(key, tmp_path):
    rows = [row("i", 1), row("j", 1)]
    del rows[1][key]
    refused(write(tmp_path, rows), "line 2 lacks evaluation_name")


@pytest.mark.parametrize("broken", [
    {"evaluation": {"score": "high"}}, {"evaluation": 1}, {"sample_id": None}, {"model_id": [1]},
])  # fmt: skip
def test_rows_of_another_shape(broken, tmp_path):
    refused(write(tmp_path, [row("i", 1), row("j", 1) | broken]), "line 2")


@pytest.mark.parametrize("broken", [
    {"source_metadata": "x"}, {"source_metadata": {"additional_details": [1]}},
    {"detailed_evaluation_results": 3}, {"evaluation_results": [3, None]},
])  # fmt: skip
def test_aggregates_of_another_shape_are_no_crash(broken, tmp_path):
    path = write(tmp_path, [row("i", 1, metadata="x", input="y")], aggregate(mean(1)) | broken)
    assert jaxbench.read(path).scores.tolist() == [[1]]


def test_a_long_transcript_before_the_score(tmp_path):
    """What tells the format apart has to be found in the first keys."""
    long = {"messages": [{"turn_idx": 0, "role": "user", "content": '{"x": [' * 20000}]}
    first = {k: v for k, v in row("i", 1).items() if k != "evaluation"} | long
    path = write(tmp_path, [first | {"evaluation": {"score": 1, "is_correct": True}}])
    assert jaxbench.read(path).scores.tolist() == [[1]]


def test_windows_line_ends_and_a_file_that_was_cut_off(tmp_path):
    path = write(tmp_path, [row("i", 1), row("j", 0)], end="\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert jaxbench.read(path).scores.tolist() == [[1, 0]]
    path.write_bytes(path.read_bytes()[:-30])
    refused(path, "line 2 is no JSON", "cut off")


def test_epochs_and_facts_in_the_metadata(tmp_path):
    rows = [
        row(
            "i", score, metadata={"epoch": str(e), "category": "c", "subtask": "s", "chance": "1/4"}
        )
        for e, score in enumerate((1, 0, 0))
    ]
    benchmark = jaxbench.read(write(tmp_path, rows, aggregate(mean(1 / 3))))
    assert benchmark.counts.tolist() == [[1]]
    assert benchmark.denominator == 3
    assert benchmark.categories == ("c",)
    assert benchmark.subtasks == ("s",)
    assert [str(c) for c in benchmark.chances] == ["1/4"]
    noted(benchmark, "1 reported mean is that of the rows")
