"""Inspect logs: what is read of them, and what is refused."""

import json
import math
import socket
import sys
import zipfile
from pathlib import Path

import pytest

import jaxbench
from commands import everything_below
from jaxbench.errors import BadRequest
from jaxbench.sources.prompt_text import prompt_hash
from outcome_files import noted
from outcome_files import refuse as refused


def sample(name, score=None, *, epoch=1, asked=None, choices=None, scorer="match", **more) -> dict:
    """A sample as a log holds it; `score`: the value of its scorer, or a value per scorer."""
    values = score if isinstance(score, dict) and "scorers" in score else {"scorers": {}}
    scores = dict(values["scorers"])
    if score is not None and not scores:
        scores = {scorer: score}
    return {
        "id": name, "epoch": epoch, "input": f"ask {name}" if asked is None else asked,
        "choices": choices, "target": "x", "messages": [],
        "output": {"model": "m", "choices": []},
        "scores": {key: {"value": value} for key, value in scores.items()} or None,
        "metadata": {}, "store": {}, "events": [], "attachments": {}, **more,
    }  # fmt: skip


def several(**scores) -> dict:
    return {"scorers": scores}


def log(samples, *, model="org/a", task="t", status="success", results=None, epochs=None) -> dict:
    ids = list(dict.fromkeys(s["id"] for s in samples))
    created = "2026-01-02T03:04:05+00:00"
    return {
        "version": 2, "status": status,
        "eval": {
            "run_id": "r", "created": created, "task": task, "task_id": "i", "task_version": 0,
            "model": model, "dataset": {"name": "d", "samples": len(ids), "sample_ids": ids},
            "config": {"epochs": epochs} if epochs else {}, "packages": {},
        },
        "plan": {"name": "plan", "steps": []},
        "results": results,
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
        "samples": samples,
    }  # fmt: skip


def means(*entries) -> dict:
    """The results of a log: (scorer, name, reducer, {metric: value}) each."""
    scores = [
        {"name": name, "scorer": scorer, "reducer": reducer, "params": {},
         "metrics": {m: {"name": m, "value": v, "params": {}} for m, v in values.items()}}
        for scorer, name, reducer, values in entries
    ]  # fmt: skip
    return {"total_samples": 1, "completed_samples": 1, "scores": scores}


def write(path: Path, content, form="json") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "json":
        path.write_text(json.dumps(content, indent=2))
        return path
    header = {key: value for key, value in content.items() if key != "samples"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {key: content[key] for key in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", json.dumps(start))
        for one in content["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        if content["status"] != "started":
            archive.writestr("header.json", json.dumps(header))
    return path


FORMS = pytest.mark.parametrize("form", ["json", "eval"])


@FORMS
def test_a_log(form, tmp_path):
    results = means(("match", "match", None, {"accuracy": 2 / 3, "stderr": 0.1}))
    content = log([sample(1, "C"), sample(2, "I"), sample(3, "C")], results=results)
    benchmark = jaxbench.read(write(tmp_path / f"log.{form}", content, form))
    assert benchmark.models == ("org/a",)
    assert benchmark.tasks == ("t",)
    assert benchmark.items == ("1", "2", "3")
    assert benchmark.scores.tolist() == [[1, 0, 1]]
    assert benchmark.prompt_hashes == tuple(prompt_hash(f"ask {n}") for n in (1, 2, 3))
    noted(benchmark, "1 reported mean is that of the rows")


@FORMS
def test_a_folder_of_models_and_tasks(form, tmp_path):
    for model in ("a", "b"):
        for task in ("t", "u"):
            right = ["C", "C" if (model, task) == ("a", "u") else "I"]
            # Another prompt under the same id in another task.
            samples = [sample(n, right[n], asked=f"{task} {n}") for n in range(2)]
            content = log(samples, model=f"org/{model}", task=task)
            write(tmp_path / "logs" / f"{model}{task}.{form}", content, form)
    benchmark = jaxbench.read(tmp_path / "logs")
    assert benchmark.models == ("org/a", "org/b")
    assert benchmark.items == ("t/0", "t/1", "u/0", "u/1")
    assert benchmark.scores.tolist() == [[1, 0, 1, 1], [1, 0, 1, 0]]


@pytest.mark.parametrize("name", ["log.txt", "log", "a b,c=d.jsonl", "2026_t_x.json.bak"])
@FORMS
def test_the_name_of_a_log_means_nothing(form, name, tmp_path):
    path = write(tmp_path / name, log([sample(1, "C")]), form)
    assert jaxbench.read(path).scores.tolist() == [[1]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["C", "I", "P", "N"], [1, 0, 0.5, 0]),
        ([True, False, True, True], [1, 0, 1, 1]),
        ([1, 0, 0.25, 0.5], [1, 0, 0.25, 0.5]),
        (["1", "0.5", "0", "1.0"], [1, 0.5, 0, 1]),
    ],
)
def test_verdicts(values, expected, tmp_path):
    samples = [sample(n, value) for n, value in enumerate(values)]
    assert jaxbench.read(write(tmp_path / "l.json", log(samples))).scores.tolist() == [expected]


def test_a_value_that_is_no_verdict(tmp_path):
    path = write(tmp_path / "l.json", log([sample(1, "C"), sample(2, "maybe")]))
    refused(path, "sample 2: match is 'maybe'", "C, I, P or N")
    marks = write(tmp_path / "m.json", log([sample(1, 7), sample(2, 10)],
                  results=means(("match", "match", None, {"mean": 8.5}))))  # fmt: skip
    refused(marks, "sample 1: match is '7'", "[0, 1]")
    benchmark = jaxbench.read(marks, max_score=10)
    assert benchmark.scores.tolist() == [[0.7, 1]]
    noted(benchmark, "1 reported mean is that of the rows")


def test_several_scorers(tmp_path):
    scores = [several(match="C", match1="I"), several(match="C", match1="C")]
    content = log([sample(n, s) for n, s in enumerate(scores)],
                  results=means(("match", "match", None, {"accuracy": 1.0}),
                                ("match1", "match1", None, {"accuracy": 0.5})))  # fmt: skip
    path = write(tmp_path / "l.json", content)
    refused(path, "several scores; choose score=match or score=match1")
    for name, expected in (("match", [1, 1]), ("match1", [0, 1])):
        benchmark = jaxbench.read(path, score=name)
        assert benchmark.scores.tolist() == [expected]
        noted(benchmark, "1 reported mean is that of the rows")
    refused(path, "no score grade", "score=match1", score="grade")


def test_values_with_keys(tmp_path):
    values = [{"fluent": 1, "right": "C"}, {"fluent": 0, "right": "C"}]
    # Another scorer bears the name of a key.
    content = log([sample(n, several(judge=v, fluent="C")) for n, v in enumerate(values)],
                  results=means(("judge", "fluent", None, {"mean": 0.5}),
                                ("judge", "right", None, {"accuracy": 1.0}),
                                ("fluent", "fluent", None, {"accuracy": 1.0})))  # fmt: skip
    path = write(tmp_path / "l.json", content)
    refused(path, "score=judge/fluent or score=judge/right or score=fluent")
    for name, expected in (("judge/fluent", [1, 0]), ("judge/right", [1, 1]), ("right", [1, 1])):
        benchmark = jaxbench.read(path, score=name)
        assert benchmark.scores.tolist() == [expected]
        noted(benchmark, "1 reported mean is that of the rows")
    refused(path, "fluent has several values", score="fluent")
    refused(path, "judge has several values", score="judge")


def test_a_lone_value_among_keys_is_missing(tmp_path):
    samples = [sample(1, {"right": 1}), sample(2, math.nan)]
    path = write(tmp_path / "l.json", log(samples))
    refused(path, "misses 1 of 2: '2'")
    assert jaxbench.read(path, missing="drop_items").items == ("1",)


@FORMS
def test_epochs_are_averaged(form, tmp_path):
    values = {1: "CCI", 2: "III"}
    samples = [
        sample(n, verdict, epoch=epoch)
        for n, verdicts in values.items()
        for epoch, verdict in enumerate(verdicts, start=1)
    ]
    content = log(samples, epochs=3,
                  results=means(("match", "match", "mean", {"accuracy": 1 / 3})))  # fmt: skip
    benchmark = jaxbench.read(write(tmp_path / f"l.{form}", content, form))
    assert benchmark.counts.tolist() == [[2, 0]]
    assert benchmark.denominator == 3
    noted(benchmark, "each score is the mean of 3 runs")
    noted(benchmark, "1 reported mean is that of the rows")


def test_other_reducers_are_not_compared(tmp_path):
    samples = [sample(1, v, epoch=e) for e, v in enumerate("CI", start=1)]
    results = means(("match", "match", "max", {"accuracy": 1.0}),
                    ("match", "match", "mean", {"accuracy": 0.5}))  # fmt: skip
    path = write(tmp_path / "l.json", log(samples, epochs=2, results=results))
    benchmark = jaxbench.read(path)
    assert benchmark.scores.tolist() == [[0.5]]
    noted(benchmark, "reduces epochs by max", "not compared")
    noted(benchmark, "1 reported mean is that of the rows")


def test_a_mean_that_is_not_that_of_the_rows(tmp_path):
    content = log([sample(1, "C"), sample(2, "I")],
                  results=means(("match", "match", None, {"accuracy": 0.75})))  # fmt: skip
    path = write(tmp_path / "l.json", content)
    refused(path, "reports match accuracy 0.75", "the mean of its 2 rows is 0.5", "mismatch=note")
    assert jaxbench.read(path, mismatch="note").scores.tolist() == [[1, 0]]


@FORMS
def test_samples_with_errors_are_missing(form, tmp_path):
    error = {"message": "boom", "traceback": "...", "traceback_ansi": "..."}
    content = log([sample(1, "C"), sample(2, error=error)], status="error",
                  results=means(("match", "match", None, {"accuracy": 1.0})))  # fmt: skip
    path = write(tmp_path / f"l.{form}", content, form)
    refused(path, "misses 1 of 2: '2'")
    benchmark = jaxbench.read(path, missing="drop_items")
    assert benchmark.items == ("1",)
    noted(benchmark, "ended with status error and has 2 samples")
    noted(benchmark, "1 reported mean is that of the rows")


@pytest.mark.parametrize("status", ["error", "started", "cancelled"])
@FORMS
def test_the_status_is_noted(form, status, tmp_path):
    content = log([sample(1, "C"), sample(2, "I")], status=status)
    # The log was to have a third sample.
    content["eval"]["dataset"]["sample_ids"].append(3)
    benchmark = jaxbench.read(write(tmp_path / f"l.{form}", content, form))
    assert benchmark.scores.tolist() == [[1, 0]]
    noted(benchmark, f"ended with status {status} and has 2 samples")


@FORMS
def test_an_older_log_that_does_not_list_its_samples(form, tmp_path):
    content = log([sample(1, "C"), sample(2, "I")])
    del content["eval"]["dataset"]["sample_ids"]
    path = write(tmp_path / f"l.{form}", content, form)
    assert jaxbench.read(path).scores.tolist() == [[1, 0]]


def test_two_logs_of_one_model_and_task(tmp_path):
    for name in ("first.json", "second.json"):
        write(tmp_path / name, log([sample(1, "C")]))
    refused(tmp_path, "'org/a' has 2 scores for item '1' in epoch 1", "first.json", "second.json")


def test_what_was_asked(tmp_path):
    def hashes(**asked):
        return jaxbench.read(
            write(tmp_path / "l.json", log([sample(1, "C", **asked)]))
        ).prompt_hashes

    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1?"}]
    assert hashes(asked=messages) == (prompt_hash("system: Be brief.\nuser: 1+1?"),)
    assert hashes(asked="1+1?", choices=["2", "3"]) == (prompt_hash("1+1?\n2\n3"),)
    pictures = [
        hashes(asked=[{"role": "user", "content": [
            {"type": "text", "text": "What is it?"},
            {"type": "image", "image": f"data:image/png;base64,{data}"},
        ]}])
        for data in ("AAAA", "BBBB")
    ]  # fmt: skip
    assert pictures[0] != pictures[1]


def test_no_samples_and_no_scores(tmp_path):
    refused(write(tmp_path / "l.json", log([])), "holds no samples")
    refused(write(tmp_path / "l.json", log([sample(1)])), "no sample has a score")


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.99])
@FORMS
def test_damaged_files(form, keep, tmp_path):
    path = write(tmp_path / f"l.{form}", log([sample(n, "C") for n in range(9)]), form)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    refused(path)
    # In a folder as well: no log is left out silently.
    other = write(tmp_path / "ok" / "good.json", log([sample(1, "C")], model="org/b"))
    path.rename(other.with_name(path.name))
    with pytest.raises(BadRequest):
        jaxbench.read(other.parent)


def test_a_damaged_sample(tmp_path):
    path = write(tmp_path / "l.eval", log([sample("one", "C")]), "eval")
    data = path.read_bytes()
    at = data.index(b"samples/one_epoch_1.json") + 60
    path.write_bytes(data[:at] + bytes(9) + data[at + 9 :])
    refused(path, "cannot be read as an Inspect log")


def test_other_archives_are_no_logs(tmp_path):
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../../outside.json", "/etc/x", "a" * 300):
            archive.writestr(name, "{}")
    refused(path, "none of the formats that are read", "a zip archive with ../../outside.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    refused(path, "cannot be read as an Inspect log")


def test_names_in_an_archive_lead_nowhere(tmp_path):
    home = tmp_path / "home"
    path = write(home / "l.eval", log([sample("../../../escape", "C")]), "eval")
    before = everything_below(tmp_path)
    assert jaxbench.read(path).items == ("../../../escape",)
    assert everything_below(tmp_path) == before


@FORMS
def test_reading_writes_nothing_and_needs_no_network(form, tmp_path, monkeypatch):
    def forbidden(*_):
        raise AssertionError("a reader must not connect")

    path = write(tmp_path / f"l.{form}", log([sample(1, "C")]), form)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(socket.socket, "connect", forbidden)
    before = everything_below(tmp_path), path.read_bytes()
    assert jaxbench.read(path).scores.tolist() == [[1]]
    assert (everything_below(tmp_path), path.read_bytes()) == before


def test_without_inspect_ai(tmp_path, monkeypatch):
    path = write(tmp_path / "l.json", log([sample(1, "C")]))
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    refused(path, "needs inspect_ai", "pip install 'jaxbench[inspect]'")
