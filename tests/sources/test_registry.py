"""How a file or folder finds its reader, and what is said where it finds none."""

import json
from pathlib import Path

import pytest

import jaxbench
from commands import QUICK, answer, elsewhere, refused
from jaxbench.errors import BadRequest
from pairs import write_pair

LM_EVAL = {"doc_id": 0, "doc": {"q": "x"}, "target": "", "arguments": [["ask", ""]], "resps": [],
           "filtered_resps": [], "acc": 1.0}  # fmt: skip
EVERY = {"evaluation_id": "e", "model_id": "m", "evaluation_name": "t", "sample_id": "i",
         "evaluation": {"score": 1.0, "is_correct": True}}  # fmt: skip
RESPONSES = {"subject_id": "m", "responses": {"i": 1}}
REPORT = {"total_instances": 1, "resolved_instances": 1, "resolved_ids": ["a__b-1"]}
INSPECT = {
    "version": 2, "status": "success",
    "eval": {"run_id": "r", "created": "2026-01-02T03:04:05+00:00", "task": "t", "task_id": "i",
             "model": "m", "dataset": {"sample_ids": [1]}, "config": {}},
    "samples": [{"id": 1, "epoch": 1, "input": "ask", "target": "x",
                 "scores": {"match": {"value": "C"}}}],
}  # fmt: skip
RECORDS = {"lm_eval": LM_EVAL, "every_eval_ever": EVERY, "responses": RESPONSES,
           "swe_bench": REPORT, "inspect": INSPECT}  # fmt: skip


def write(path: Path, content, *, first=b"", end=b"\n", encoding="utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(first + text.encode(encoding) + end)
    return path


def told(path, **options):
    """Why a path is refused, in a line that starts with it."""
    with pytest.raises(BadRequest) as failure:
        jaxbench.read(path, **options)
    text = str(failure.value)
    assert text.startswith(str(path)), text
    return text


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.txt", "x.csv", "x.log", "x"])
@pytest.mark.parametrize("format", RECORDS)
def test_the_content_decides_and_not_the_suffix(format, name, tmp_path):
    path = write(tmp_path / name, RECORDS[format])
    benchmark = jaxbench.read(path)
    assert benchmark.scores.tolist() == [[1]]
    assert benchmark.provenance[0].startswith(f"format {format}: ")
    assert jaxbench.read(path, format=format).digest() == benchmark.digest()


@pytest.mark.parametrize("style", ["mark", "windows", "spaces", "utf-16"])
@pytest.mark.parametrize("format", RECORDS)
def test_marks_and_line_ends_mean_nothing(format, style, tmp_path):
    plain = jaxbench.read(write(tmp_path / "x.json", RECORDS[format]))
    path = tmp_path / "other" / "x.json"
    if style == "mark":
        write(path, RECORDS[format], first=b"\xef\xbb\xbf")
        if format == "inspect":
            assert "cannot be read as an Inspect log" in told(path)
            return
    elif style == "windows":
        write(path, RECORDS[format], end=b"\r\n\r\n")
    elif style == "spaces":
        write(path, RECORDS[format], first=b"\n \n")
    elif format in ("inspect", "responses"):
        # Their readers take UTF-8 only, and say so.
        told(write(path, RECORDS[format], encoding="utf-16"))
        return
    else:
        write(path, RECORDS[format], encoding="utf-16", end="\n".encode("utf-16-le"))
    assert equal(jaxbench.read(path), plain)


def equal(one, other) -> bool:
    return one.items == other.items and one.counts.tolist() == other.counts.tolist()


@pytest.mark.parametrize("wanted", ["lm_eval", "inspect", "swe_bench", "every_eval_ever",
                                    "responses"])  # fmt: skip
@pytest.mark.parametrize("format", RECORDS)
def test_a_format_that_a_file_does_not_have(format, wanted, tmp_path):
    path = write(tmp_path / "x.json", RECORDS[format])
    if wanted == format:
        assert jaxbench.read(path, format=wanted).scores.tolist() == [[1]]
        return
    words = f"does not look like format={wanted}, but like {format}"
    assert words in told(path, format=wanted)


def test_a_folder_of_several_formats(tmp_path):
    write(tmp_path / "a.jsonl", LM_EVAL)
    write(tmp_path / "b" / "c.jsonl", RESPONSES)
    write(tmp_path / "d.jsonl", {**RESPONSES, "subject_id": "n"})
    write(tmp_path / "other.json", {"key": "value"})
    write(tmp_path / "notes.txt", "not looked at")
    write(tmp_path / ".hidden" / "e.jsonl", EVERY)
    assert "several formats (1 lm_eval, 2 responses)" in told(tmp_path)
    benchmark = jaxbench.read(tmp_path, format="responses")
    assert benchmark.models == ("m", "n")
    note = next(n for n in benchmark.provenance if "not read" in n)
    assert note == "note: not read: 2 files: 'other.json', 'a.jsonl'"
    assert "holds no file of format=inspect" in told(tmp_path, format="inspect")


def test_folders_without_results(tmp_path):
    assert "no file of results (.json, .jsonl" in told(tmp_path)
    write(tmp_path / "a.json", {"key": "value"})
    write(tmp_path / "b.json", "")
    text = told(tmp_path)
    assert (
        "none of 2 files is one that is read (a.json: columns key; b.json: cannot be read)" in text
    )
    assert "lm_eval: samples_*.jsonl" in text


def test_an_unreadable_stranger_is_noted_with_and_without_a_format(tmp_path):
    write(tmp_path / "a.jsonl", RESPONSES)
    write(tmp_path / "empty.json", "", end=b"")
    write(tmp_path / "cut.json", '{"a": [1, 2')
    for format in (None, "responses"):
        benchmark = jaxbench.read(tmp_path, format=format)
        assert "note: not read: 2 files: 'cut.json', 'empty.json'" in benchmark.provenance
    # What could only be a log of the format that is read is no stranger.
    write(tmp_path / "x.eval", "PK\x03\x04 and no more")
    jaxbench.read(tmp_path, format="responses")
    with pytest.raises(BadRequest, match=r"x.eval is a damaged zip archive"):
        jaxbench.read(tmp_path)


@pytest.mark.parametrize(
    ("option", "value"), [("columns", {"model": "x"}), ("where", {"a": "b"}), ("max_score", 5)]
)
@pytest.mark.parametrize("format", RECORDS)
def test_options_of_tables_are_refused_where_they_would_do_nothing(format, option, value, tmp_path):
    path = write(tmp_path / "x.json", RECORDS[format])
    if option == "max_score" and format in ("lm_eval", "inspect"):
        # Used there: one mark of five, and the letter C (which is 1).
        assert jaxbench.read(path, max_score=5).scores.tolist() == [[0.2]]
        return
    named = "where={a:...}" if (option, format) == ("where", "lm_eval") else option
    assert f"{named} means nothing for format={format}" in told(path, **{option: value})


@pytest.mark.parametrize(
    "content",
    [b"", b"  \n", b"\xff\xfe", b"\x00\x01\x02", b"{", b"[", b"[]", b"{}", b"null", b"PK\x03\x04",
     b"PAR1", b"\xef\xbb\xbf", b'{"doc_id": 0, "doc": ', b"[" * 5000, b'{"a":' * 5000,
     json.dumps(LM_EVAL).encode()[:-9], json.dumps(INSPECT).encode()[:-9],
     json.dumps(REPORT).encode()[:-9], json.dumps(EVERY).encode()[:-9],
     json.dumps(LM_EVAL).encode() + b"\n\xff\xfe", json.dumps(EVERY).encode() + b"\n[1]",
     json.dumps(LM_EVAL).encode() + b"\n" + b'{"a":' * 5000],
    ids=lambda c: repr(c[:12]),
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.eval", "x.parquet"])
def test_files_that_are_nothing(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    assert len(told(path).splitlines()) == 1
    with pytest.raises(BadRequest):
        jaxbench.read(tmp_path)
    for format in ("lm_eval", "inspect", "swe_bench", "every_eval_ever", "responses"):
        told(path, format=format)


# Through the command line


def test_refusals_on_the_command_line(capsys, tmp_path):
    with elsewhere(tmp_path) as here:
        cut = write(here / "cut.jsonl", json.dumps(LM_EVAL)[:-9])
        refused(capsys, here, ("attack", f"path={cut}"), "cut.jsonl")
        rows = [{**LM_EVAL, "filter": name} for name in ("strict", "loose")]
        filters = write(here / "f.jsonl", "\n".join(map(json.dumps, rows)))
        refused(capsys, here, ("attack", f"path={filters}"), "score=acc,strict")
        refused(capsys, here, ("attack", f"path={filters}", "format=inspect"), "but like lm_eval")
        mixed = here / "mixed"
        write(mixed / "a.jsonl", LM_EVAL)
        write(mixed / "b.jsonl", RESPONSES)
        refused(capsys, here, ("attack", f"path={mixed}"), "1 lm_eval, 1 responses")
        archive = write(here / "x.eval", "PK\x03\x04")
        refused(capsys, here, ("attack", f"path={archive}"), "damaged zip archive")


def test_scores_on_the_command_line(capsys, tmp_path):
    """`metric,filter` is one score; a list in brackets is several."""
    with elsewhere(tmp_path) as here:
        for model in "mn":
            for task, metric in (("t", "acc"), ("u", "f1")):
                rows = [
                    {**LM_EVAL, "doc_id": d, "arguments": [[f"{task} {d}", ""]], "filter": f}
                    for d in range(6)
                    for f in ("strict", "loose")
                ]
                rows = [{**r, "acc_norm": 0.5, metric: r["acc"]} for r in rows]
                text = "\n".join(map(json.dumps, rows))
                write(here / "logs" / model / f"samples_{task}.jsonl", text)
        asked = ("attack", "path=logs", *QUICK, "out=out")
        assert answer(capsys, *asked, "score=acc,strict").status == 0
        record = json.loads((here / "out" / "run.json").read_text())
        assert record["benchmark"]["items"] == 12
        asked = (*asked, "overwrite=true")
        assert answer(capsys, *asked, 'score=["f1,loose","acc,strict"]').status == 0
        found = answer(capsys, *asked, "score=[f1,acc]")
        assert found.status == 2
        assert "tasks have different scores" in found.err
        assert """such as 'score=["acc,strict"]'""" in found.err


def test_a_native_pair_among_logs_is_read_as_a_pair(tmp_path):
    folder = write_pair(tmp_path / "x")
    write(folder / "a.jsonl", LM_EVAL)
    assert len(jaxbench.read(folder).models) == 3
    assert jaxbench.read(folder, format="lm_eval").items == ("a/0",)
