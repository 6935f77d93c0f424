"""Lines of JSON, one per model: what is read, and what is refused with file and line."""

import hashlib
import json
import os

import pandas as pd
import pytest

import jaxbench
from jaxbench.errors import BadRequest
from jaxbench.sources.logs.item_tables import (
    repository,
    swe_pro_items,
    swe_verified_items,
    terminal_bench_items,
)
from jaxbench.sources.logs.responses import read_responses

GOOD = '{"subject_id": "a", "responses": {"x": 1, "y": 0}}'


@pytest.fixture
def write(tmp_path):
    def written(*lines, end="\n", name="answers.jsonl"):
        path = tmp_path / name
        parts = [line.encode() if isinstance(line, str) else line for line in lines]
        path.write_bytes(b"".join(part + end.encode() for part in parts))
        return path

    return written


def refuse(path, *words, read=read_responses):
    with pytest.raises(BadRequest) as failure:
        read(path)
    text = str(failure.value)
    assert text.startswith(f"{path}")
    assert len(text.splitlines()) == 1
    for word in words:
        assert word in text, (word, text)


# What is read


def test_answers_of_every_kind(write):
    path = write(
        '{"subject_id": "b", "responses": {"x": true, "y": {"successes": 4, "trials": 5}}}',
        '{"metadata": [], "subject_id": "a", "responses": {"y": 0, "x": 1.0, "z": false}}',
    )
    expected = pd.DataFrame(
        [("b", "x", 1.0, 1), ("b", "y", 0.8, 5), ("a", "y", 0.0, 1), ("a", "x", 1.0, 1),
         ("a", "z", 0.0, 1)],
        columns=["model", "item_id", "score", "repeats"],
    )  # fmt: skip
    pd.testing.assert_frame_equal(read_responses(path), expected)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("first", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_line_ends_and_a_byte_order_mark_mean_nothing(end, first, write):
    path = write(first + GOOD.encode(), GOOD.replace('"a"', '"b"'), end=end)
    assert read_responses(path)["model"].tolist() == ["a", "a", "b", "b"]


def test_a_last_line_without_an_end(write):
    assert len(read_responses(write(GOOD, end=""))) == 2


def test_pairs_without_a_trial_are_left_out(write):
    none = '{"successes": 0, "trials": 0}'
    path = write(GOOD, f'{{"subject_id": "b", "responses": {{"x": {none}, "y": 1}}}}')
    long = read_responses(path)
    assert long["item_id"].tolist() == ["x", "y", "y"]
    with pytest.raises(BadRequest, match=r"1 of 2 models miss items; 'b' misses 1 of 2: 'x'"):
        jaxbench.read(path)


def test_a_file_of_responses_is_a_benchmark(write):
    benchmark = jaxbench.read(write('{"subject_id": "b", "responses": {"y": 1, "x": 0}}', GOOD))
    assert (benchmark.models, benchmark.items) == (("a", "b"), ("x", "y"))
    assert benchmark.counts.tolist() == [[1, 0], [0, 1]]
    assert "format responses" in " ".join(benchmark.provenance)


# What is refused


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (GOOD[:-10], ["is not JSON", "cut off"]),
        ("a,b,c", ["is not JSON"]),
        ("[1, 2]", ["holds [1, 2]", "subject_id"]),
        ("3", ["holds 3"]),
        (b'{"subject_id": "\xe9"}', ["is not UTF-8", "byte 17 is 0xe9"]),
        ('{"responses": {"x": 1}}', ["subject_id is null"]),
        ('{"subject_id": 7, "responses": {"x": 1}}', ["subject_id is 7"]),
        ('{"subject_id": " ", "responses": {"x": 1}}', ['subject_id is " "']),
        ('{"subject_id": "b"}', ["'b'", "no responses"]),
        ('{"subject_id": "b", "responses": {}}', ["'b'", "no responses"]),
        ('{"subject_id": "b", "responses": [1]}', ["'b'", "no responses"]),
        ('{"subject_id": "b", "responses": {"": 1}}', ["an item id"]),
        ('{"subject_id": "b", "responses": {"\\ud83d": 1}}', ["half a character"]),
        ('{"subject_id": "b", "responses": {"x": 1, "x": 1}}', ["'x' stands more than once"]),
        (GOOD, ["'a' again", "line 1"]),
        ('{"subject_id": "b", "responses": {"x": 2}}', ["'b'", "item 'x'", "answer is 2"]),
        ('{"subject_id": "b", "responses": {"x": 0.5}}', ["answer is 0.5"]),
        ('{"subject_id": "b", "responses": {"x": "1"}}', ['answer is "1"']),
        ('{"subject_id": "b", "responses": {"x": null}}', ["answer is null"]),
        ('{"subject_id": "b", "responses": {"x": NaN}}', ["NaN is no number"]),
        ('{"subject_id": "b", "responses": {"x": {"successes": 1}}}', ["item 'x'", "trials"]),
        ('{"subject_id": "b", "responses": {"x": {"successes": 6, "trials": 5}}}',
         ["6 successes in 5 trials"]),
        ('{"subject_id": "b", "responses": {"x": {"successes": -1, "trials": 5}}}', ["-1"]),
        ('{"subject_id": "b", "responses": {"x": {"successes": 1.5, "trials": 5}}}', ["1.5"]),
        ('{"subject_id": "b", "responses": {"x": {"successes": true, "trials": 5}}}', ["true"]),
        ("[" * 100_000, ["nested too deeply"]),
        ('{"subject_id": "b", "responses": {"x": ' + "9" * 5000 + "}}", ["line 2"]),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(line, words, write):
    refuse(write(GOOD, line), ": line 2", *words)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file(content, write):
    refuse(write(content, end=""), "is empty")


def test_nothing_was_tried(write):
    none = '{"successes": 0, "trials": 0}'
    refuse(write(f'{{"subject_id": "a", "responses": {{"x": {none}}}}}'), "0 trials on every item")


def test_no_file(tmp_path):
    refuse(tmp_path / "none.jsonl", "is missing")
    refuse(tmp_path, "not a regular file")
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "not a regular file")


# Items of SWE-bench


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("astropy__astropy-12907", "astropy/astropy"),
        ("scikit-learn__scikit-learn-10297", "scikit-learn/scikit-learn"),
        ("element-hq__element-web-" + "0a" * 20, "element-hq/element-web"),
        ("instance_NodeBB__NodeBB-" + "0a" * 20 + "-vd59a57", "NodeBB/NodeBB"),
        ("instance_NodeBB__NodeBB-" + "0a" * 20 + "-vnan", "NodeBB/NodeBB"),
    ],
)
def test_the_repository_of_an_instance(item, name):
    assert repository(item) == name


@pytest.mark.parametrize("item", ["astropy", "astropy__astropy", "a/b__c-1", "__x-1", "a__b-1x"])
def test_what_is_no_instance(item):
    with pytest.raises(BadRequest, match="is no SWE-bench instance"):
        repository(item)


def test_items_of_swe_bench():
    items = ["psf__requests-1", "astropy__astropy-2"]
    table = swe_verified_items(items)
    assert table["task"].tolist() == ["psf/requests", "astropy/astropy"]
    assert set(table["category"]) == {"software engineering"}
    assert table["prompt_hash"].tolist() == [
        hashlib.sha256(item.encode()).hexdigest() for item in items
    ]
    pro = swe_pro_items(["flipt-io__flipt-" + "0" * 40, "ansible__ansible-" + "1" * 40])
    assert pro["category"].tolist() == ["go", "python"]
    with pytest.raises(BadRequest, match="no language is known for repository 'psf/requests'"):
        swe_pro_items(items[:1])


# Items of Terminal-Bench


def record(task="x", **changes):
    entries = {
        "task_id": task, "problem_statement": f"Do {task}.\n\n  Then stop.", "patch": "",
        "tags": [], "category": "games", "difficulty": "hard",
    }  # fmt: skip
    return json.dumps(entries | changes)


def test_items_of_terminal_bench(write):
    path = write(record("y", category="maths"), record("z"), record("x", difficulty="easy"))
    table, notes = terminal_bench_items(["x", "y"], path)
    assert table["task"].tolist() == ["games", "maths"]
    assert table["category"].tolist() == ["easy", "hard"]
    assert table["prompt_hash"][0] == hashlib.sha256(b"Do x. Then stop.").hexdigest()
    (note,) = notes
    assert "1 of the 3 tasks" in note
    assert "'z'" in note
    assert terminal_bench_items(["x", "y", "z"], path)[1] == []


def test_an_item_without_a_record_is_refused(write):
    path = write(record("x"))
    refuse(path, "no record of 2 of 3 items", "'v', 'w'",
           read=lambda path: terminal_bench_items(["v", "w", "x"], path))  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (record("x"), ["'x' again"]),
        (record("y", category=""), ["no category"]),
        (record("y", difficulty=3), ["no difficulty"]),
        (record("y", problem_statement=" "), ["no problem_statement"]),
        ('{"task": "y"}', ["no task_id"]),
        (record("y")[:40], ["is not JSON"]),
    ],
)
def test_a_bad_record_is_named(line, words, write):
    refuse(write(record("x"), line), ": line 2", *words,
           read=lambda path: terminal_bench_items(["x"], path))  # fmt: skip
