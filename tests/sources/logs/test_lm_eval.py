"""Samples of lm-evaluation-harness: what is read of them, and what is refused."""

import hashlib
import json
import math

import pytest

import jaxbench
from jaxbench.errors import BadRequest
from outcome_files import noted
from outcome_files import refuse as refused

DATE = "2026-02-03T04-05-06.789012"
OTHER_DATE = "2026-02-04T04-05-06.789012"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def row(doc, *, name="none", task="t", **scores) -> dict:
    """A row as lm_eval 0.4.9 writes it; its prompt depends on task and document."""
    return {
        "doc_id": doc,
        "doc": {"question": f"{task} {doc}"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {task} {doc}", "arg_1": {"until": []}}},
        "resps": [["4"]],
        "filtered_resps": ["4"],
        "filter": name,
        "metrics": list(scores),
        "doc_hash": sha(f"doc {task} {doc}"),
        "prompt_hash": sha(f"Q: {task} {doc}"),
        "target_hash": sha("4"),
        **scores,
    }


def report(results, model="org/model-a", **more) -> dict:
    tasks = {task: {"alias": task, **means} for task, means in results.items()}
    return {
        "results": tasks, "configs": {}, "versions": {}, "n-shot": {}, "model_name": model, **more,
    }  # fmt: skip


def lines(folder, rows, task="t", date=DATE, end="\n", name=None):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"samples_{task}_{date}.jsonl")
    path.write_bytes("".join(json.dumps(r) + end for r in rows).encode())
    return path


def results(folder, content, date=DATE, name=None):
    path = folder / (name or f"results_{date}.json")
    path.write_text(json.dumps(content, indent=2))
    return path


def test_a_folder_of_models_and_tasks(tmp_path):
    for model, right in (("a", (1, 1)), ("b", (0, 1))):
        folder = tmp_path / "out" / f"org__model-{model}"
        for task, shift in (("t", 0), ("u", 1)):
            scores = [float(right[0] and d != shift) for d in range(4)]
            lines(folder, [row(d, task=task, acc=s) for d, s in enumerate(scores)], task)
        mean = 0.75 * right[0]
        content = report({"t": {"acc,none": mean}, "u": {"acc,none": mean}}, f"org/model-{model}")
        results(folder, content)
    benchmark = jaxbench.read(tmp_path / "out")
    assert benchmark.models == ("org/model-a", "org/model-b")
    assert benchmark.tasks == ("t", "u")
    assert benchmark.items == tuple(f"{t}/{d}" for t in "tu" for d in range(4))
    assert benchmark.scores.tolist() == [[0, 1, 1, 1, 1, 0, 1, 1], [0] * 8]
    assert benchmark.prompt_hashes[5] == sha("Q: u 1")
    noted(benchmark, "4 reported means are those of the rows")


def test_several_filters_have_to_be_chosen(tmp_path):
    strict, flexible = [0.0, 1.0], [1.0, 1.0]
    rows = []
    for d in range(2):
        rows.append(row(d, name="strict-match", exact_match=strict[d]))
        rows.append(row(d, name="flexible", exact_match=flexible[d]))
    path = lines(tmp_path / "m", rows)
    means = {"exact_match,strict-match": 0.5, "exact_match,flexible": 1.0}
    results(tmp_path / "m", report({"t": means}))
    refused(path, "several scores", "score=exact_match,strict-match or score=exact_match,flexible")
    refused(path, "stands under several filters", "exact_match,flexible", score="exact_match")
    benchmark = jaxbench.read(path, score="exact_match,strict-match")
    assert benchmark.scores.tolist() == [[0, 1]]
    noted(benchmark, "1 reported mean is that of the rows")
    assert jaxbench.read(path, score="exact_match,flexible").scores.tolist() == [[1, 1]]
    refused(path, "no score exact_match,none", "flexible", score="exact_match,none")


def test_a_bare_metric_is_enough_where_one_filter_has_it(tmp_path):
    rows = [row(0, name="strict", exact_match=1.0), row(0, name="loose", f1=0.5)]
    path = lines(tmp_path / "m", rows)
    assert jaxbench.read(path, score="exact_match").scores.tolist() == [[1]]
    assert jaxbench.read(path, score="f1").scores.tolist() == [[0.5]]


def test_several_metrics_have_to_be_chosen_and_lists_are_not_offered(tmp_path):
    rows = [
        row(d, prompt_level_strict_acc=d % 2 == 0, inst_level_strict_acc=[True, False], acc_norm=0)
        for d in range(4)
    ]
    path = lines(tmp_path / "m", rows)
    text = refused(path, "inst_level_strict_acc: lists, no scores", "score=acc_norm,none")
    assert "score=inst_level_strict_acc" not in text
    chosen = jaxbench.read(path, score="prompt_level_strict_acc")
    assert chosen.scores.tolist() == [[1, 0, 1, 0]]
    refused(path, "no score inst_level_strict_acc", score="inst_level_strict_acc")
    only = lines(tmp_path / "n", [row(0, inst_level_strict_acc=[True])])
    refused(only, "no row has a metric with one number", "inst_level_strict_acc: lists")


def test_each_task_takes_the_first_score_that_it_has(tmp_path):
    folder = tmp_path / "org__m"
    lines(folder, [row(d, acc=0.0, acc_norm=1.0) for d in range(2)], "t")
    lines(folder, [row(d, task="u", exact_match=0.0) for d in range(2)], "u")
    benchmark = jaxbench.read(folder, score=["acc_norm", "exact_match"])
    assert benchmark.scores.tolist() == [[1, 1, 0, 0]]
    with pytest.raises(
        BadRequest, match=r"samples_u.*t: acc,none or acc_norm,none; u: exact_match,none"
    ):
        jaxbench.read(folder, score="acc_norm")


OLD = {"doc": {}, "target": "x", "resps": [], "filtered_resps": []}


def test_older_rows_without_metrics_filters_and_hashes(tmp_path):
    requests = [[["ask 0", " yes"], ["ask 0", " no"]], [["ask 1", " yes"], ["ask 1", " no"]]]
    rows = [
        {"doc_id": d, **OLD, "arguments": requests[d], "acc": float(d), "note": "text"}
        for d in range(2)
    ]
    benchmark = jaxbench.read(lines(tmp_path / "m", rows))
    assert benchmark.scores.tolist() == [[0, 1]]
    assert benchmark.prompt_hashes == (sha("ask 0"), sha("ask 1"))


def test_the_hash_of_a_prompt_is_that_of_the_first_context_in_every_form(tmp_path):
    forms = {
        "dict": {"gen_args_0": {"arg_0": "ask", "arg_1": " a"}, "gen_args_1": {"arg_0": "other"}},
        "lists": [["ask", " a"], ["other", " b"]],
    }
    for name, arguments in forms.items():
        rows = [{"doc_id": 0, **OLD, "arguments": arguments, "acc": 1.0}]
        assert jaxbench.read(lines(tmp_path / name, rows)).prompt_hashes == (sha("ask"),)
    nothing = [{"doc_id": d, **OLD, "arguments": {}, "acc": 1.0} for d in range(2)]
    assert jaxbench.read(lines(tmp_path / "n", nothing)).prompt_hashes == ("t/0", "t/1")


def test_a_task_without_contexts_is_no_single_prompt(tmp_path):
    """lm_eval writes the hash of no text there; the documents still differ."""
    rows = [row(d, acc=1.0) | {"prompt_hash": sha("")} for d in range(2)]
    benchmark = jaxbench.read(lines(tmp_path / "m", rows))
    assert benchmark.prompt_hashes == (sha("doc t 0"), sha("doc t 1"))


def test_one_json_list_as_the_first_versions_wrote_it(tmp_path):
    rows = [{"doc_id": d, **OLD, "arguments": [[f"ask {d}", ""]], "acc": d / 2} for d in range(3)]
    path = tmp_path / "pretrained__org__m_my_task.jsonl"
    path.write_text(json.dumps(rows, indent=2))
    content = report({"my_task": {"acc,none": 0.5}, "task": {}}, None)
    content["config"] = {"model_args": "my_model=x,pretrained=org/m,dtype=float"}
    results(tmp_path, content, name="results.json")
    benchmark = jaxbench.read(path)
    assert benchmark.models == ("org/m",)
    assert benchmark.tasks == ("my_task",)
    assert benchmark.scores.tolist() == [[0, 0.5, 1]]
    noted(benchmark, "1 reported mean is that of the rows")


def test_newer_keys_are_ignored(tmp_path):
    rows = [row(d, acc=1.0) | {"new_number": 17, "schema_version": 9, "x": [1]} for d in range(2)]
    assert jaxbench.read(lines(tmp_path / "m", rows)).scores.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("content", "model"),
    [
        ({"model_name": "org/b", "config": {"model_args": "pretrained=org/c"}}, "org/b"),
        ({"config": {"model_args": "base_model=x,pretrained=org/c,dtype=auto"}}, "org/c"),
        ({"config": {"model_args": {"pretrained": "org/d"}}}, "org/d"),
        ({"config": {"model_args": "model=gpt-x"}}, "gpt-x"),
        ({"config": None}, "org/folder"),
        (None, "org/folder"),
    ],
)
def test_where_the_model_is_named(content, model, tmp_path):
    folder = tmp_path / "org__folder"
    path = lines(folder, [row(0, acc=1.0)])
    if content is not None:
        results(folder, {"results": {}, "configs": {}, **content})
    benchmark = jaxbench.read(path)
    assert benchmark.models == (model,)
    told = any("named after its folder" in note for note in benchmark.provenance)
    assert told == (model == "org/folder")


def test_two_runs_of_one_task_and_model_are_refused(tmp_path):
    folder = tmp_path / "org__m"
    for date in (DATE, OTHER_DATE):
        lines(folder, [row(0, acc=1.0)], date=date)
        results(folder, report({"t": {"acc,none": 1.0}}), date)
    refused(folder, "'org/model-a' has 2 scores for item 't/0'", f"samples_t_{DATE}.jsonl",
            f"samples_t_{OTHER_DATE}.jsonl", "leave out all but one")  # fmt: skip


def test_a_document_twice_is_no_repeat(tmp_path):
    rows = [row(d, acc=1.0) for d in (0, 1, 0, 1)]
    refused(lines(tmp_path / "m", rows), "line 3", "doc_id 0 stands again", "first in line 1")


def test_models_asked_different_things_under_one_id(tmp_path):
    for model, task in (("a", "t"), ("b", "u")):
        lines(tmp_path / model, [row(0, task=task, acc=1.0)], "t")
    refused(tmp_path, "more than one document", "'t/0'")


def test_a_mean_that_is_not_that_of_the_rows(tmp_path):
    path = lines(tmp_path / "m", [row(0, acc=1.0), row(1, acc=0.0)])
    results(tmp_path / "m", report({"t": {"acc,none": 0.75}}))
    refused(
        tmp_path / "m", "reports acc,none 0.75", "the mean of its 2 rows is 0.5", "mismatch=note"
    )
    refused(path, "reports acc,none 0.75", "the mean of its 2 rows is 0.5")
    benchmark = jaxbench.read(path, mismatch="note")
    assert benchmark.scores.tolist() == [[1, 0]]
    noted(benchmark, "a reported mean is 0.75 where the rows have 0.5")


def test_a_number_that_is_no_mean_is_not_compared(tmp_path):
    path = lines(tmp_path / "m", [row(0, f1=1.0), row(1, f1=0.0)])
    config = {"t": {"metric_list": [{"metric": "f1", "aggregation": "f1"}]}}
    results(tmp_path / "m", report({"t": {"f1,none": 0.75}}) | {"configs": config})
    assert not [n for n in jaxbench.read(path).provenance if "reported" in n]


def test_fewer_rows_than_the_mean_is_of(tmp_path):
    path = lines(tmp_path / "m", [row(0, acc=1.0)])
    counted = {"t": {"original": 5000, "effective": 5000}}
    results(tmp_path / "m", report({"t": {"acc,none": 1.0}}, **{"n-samples": counted}))
    noted(jaxbench.read(path), "counts 5,000 items of t where 1 have rows")


@pytest.mark.parametrize(
    "more",
    [
        {"higher_is_better": {"t": {"ter": False}}},
        {"configs": {"t": {"metric_list": [{"metric": "ter", "higher_is_better": False}]}}},
    ],
)
def test_less_is_better(more, tmp_path):
    path = lines(tmp_path / "m", [row(0, ter=0.5, acc=1.0)])
    results(tmp_path / "m", report({"t": {}}) | more)
    refused(path, "less of ter is better", "choose score=acc,none", score="ter")
    assert jaxbench.read(path, score="acc").scores.tolist() == [[1]]


def test_values_that_are_no_fractions(tmp_path):
    path = lines(tmp_path / "m", [row(0, perplexity=-3.5, acc=1.0), row(1, perplexity=0, acc=1.0)])
    refused(path, "line 1: perplexity of t/0 is -3.5", "score=acc,none", score="perplexity")
    marks = lines(tmp_path / "n", [row(0, bleu=5), row(1, bleu=10)])
    refused(marks, "line 1: bleu of t/0 is 5, not between 0 and 1")
    refused(marks, "line 2: bleu of t/1 is 10, not between 0 and 8", max_score=8)
    results(tmp_path / "n", report({"t": {"bleu,none": 7.5}}))
    assert jaxbench.read(marks, max_score=10).scores.tolist() == [[0.5, 1]]
    refused(lines(tmp_path / "o", [row(0, acc="high")]), "line 1: acc is 'high', expected a number")


def test_nan_is_missing(tmp_path):
    path = lines(tmp_path / "m", [row(0, acc=1.0), row(1, acc=math.nan)])
    results(tmp_path / "m", report({"t": {"acc,none": math.nan}}))
    refused(path, "misses 1 of 2: 't/1'")
    benchmark = jaxbench.read(path, missing="drop_items")
    assert benchmark.items == ("t/0",)
    noted(benchmark, "has no number as acc,none")


def test_a_metric_that_a_row_lacks_is_missing(tmp_path):
    rows = [row(0, acc=1.0), row(1, acc=None), row(2, acc=1.0)]
    del rows[2]["acc"]
    path = lines(tmp_path / "m", rows)
    assert jaxbench.read(path, missing="drop_items").items == ("t/0",)


def test_a_file_that_was_cut_off(tmp_path):
    path = lines(tmp_path / "m", [row(0, acc=1.0), row(1, acc=1.0)])
    path.write_bytes(path.read_bytes()[:-40])
    refused(path, "line 2 is no JSON", "cut off")
    path.write_bytes(path.read_bytes()[:40])
    refused(path)


@pytest.mark.parametrize("first", [b"", b"\xef\xbb\xbf"], ids=["plain", "mark"])
def test_windows_line_ends_and_a_byte_order_mark(first, tmp_path):
    plain = jaxbench.read(lines(tmp_path / "m", [row(d, acc=1.0) for d in range(2)]))
    other = lines(tmp_path / "windows" / "m", [row(d, acc=1.0) for d in range(2)], end="\r\n")
    other.write_bytes(first + other.read_bytes())
    assert jaxbench.read(other).digest() == plain.digest()


def test_means_without_rows(tmp_path):
    path = results(tmp_path, report({"t": {"acc,none": 1.0}}))
    refused(path, "means only", "--log_samples")
    refused(tmp_path, "means only")


@pytest.mark.parametrize("broken", [
    {"configs": [], "n-samples": 3, "higher_is_better": [1], "config": "x"},
    {"configs": {"t": {"metric_list": "acc"}}, "n-samples": {"t": 4}},
    {"configs": {"t": []}, "higher_is_better": {"t": True}},
])  # fmt: skip
def test_results_of_another_shape_are_no_crash(broken, tmp_path):
    path = lines(tmp_path / "m", [row(0, acc=1.0)])
    results(tmp_path / "m", report({"t": {"acc,none": 1.0}}) | broken)
    noted(jaxbench.read(tmp_path / "m"), "1 reported mean is that of the rows")
    assert jaxbench.read(path).models == ("org/model-a",)


@pytest.mark.parametrize("suffix", [".json", ".txt", ".jsonl"])
def test_the_suffix_means_nothing(suffix, tmp_path):
    path = lines(tmp_path / "m", [row(0, acc=1.0)], name=f"samples_t{suffix}")
    assert jaxbench.read(path).items == ("t/0",)


def test_a_first_row_longer_than_what_is_looked_at(tmp_path):
    """Its text is full of quotes and braces, which are no keys."""
    rows = [row(d, acc=1.0) for d in range(2)]
    rows[0]["doc"] = {"question": '"}]{": ' * 20000}
    assert jaxbench.read(lines(tmp_path / "m", rows)).scores.tolist() == [[1, 1]]
