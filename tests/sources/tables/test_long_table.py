"""Long tables: every spelling of a table and of a score gives the scores that were meant."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import jaxbench
from commands import answer, elsewhere
from jaxbench.sources.score_values import as_fractions, score_column, verdict
from outcome_files import CSV, HEADER, MATRIX, ROWS, lines, notes, put, refuse, scores

FRAME = pd.DataFrame(ROWS, columns=list(HEADER))
RECORDS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]


def check(benchmark):
    assert benchmark.models == ("a", "b")
    assert benchmark.items == ("q1", "q2", "q3")
    assert benchmark.item_tasks == ("t", "t", "u")
    assert benchmark.scores.tolist() == MATRIX


# Kinds of files


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.replace(",", "|"),
        CSV.replace("\n", "\r\n"),
        CSV.replace("\n", "\r"),
        CSV.rstrip("\n"),
        "\n\n" + CSV.replace("\nb", "\n\nb", 1) + "\n\n",
        CSV.replace("model,item_id", ' model , "item_id"', 1).replace('"item_id"', "item_id"),
        "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in CSV.split()) + "\n",
        b"\xef\xbb\xbf" + CSV.encode(),
        CSV.encode("utf-16"),
        b"\xfe\xff" + CSV.encode("utf-16-be"),
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        b"\xef\xbb\xbf" + json.dumps(RECORDS).encode(),
        json.dumps(RECORDS).encode("utf-16"),
        "\n".join(json.dumps(record) for record in RECORDS),
        b"\xef\xbb\xbf" + "\r\n\r\n".join(json.dumps(record) for record in RECORDS).encode(),
        "\n".join(json.dumps(record) for record in RECORDS).encode("utf-16"),
        FRAME,
    ],
    ids=["comma", "semicolon", "tab", "bar", "Windows", "old Mac", "no end", "empty lines",
         "spaces in the header", "quoted", "BOM", "UTF-16", "UTF-16-BE", "list", "indented list",
         "list BOM", "list UTF-16", "lines", "lines BOM", "lines UTF-16", "Parquet"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.csv", "x.json", "x"])
def test_one_table_in_every_kind_of_file(content, name, tmp_path):
    check(jaxbench.read(put(tmp_path / name, content)))


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("ids", [pa.int8(), pa.int64(), pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_parquet_types(dictionary, ids, kind, tmp_path):
    names = pa.array(["a", "a", "b", "b"])
    table = pa.table(
        {
            "model": names.dictionary_encode() if dictionary else names,
            "item_id": pa.array([1, 2, 1, 2]).cast(ids),
            "score": pa.array([1 / 3, 0, 2 / 3, 1], kind),
        }
    )
    benchmark = jaxbench.read(put(tmp_path / "x.parquet", table))
    # float32 thirds are thirds.
    assert benchmark.denominator == 3
    assert benchmark.counts.tolist() == [[1, 0], [2, 3]]
    assert benchmark.items == ("1", "2")


def test_pandas_categories_that_nobody_has_and_an_index(tmp_path):
    frame = FRAME.assign(model=pd.Categorical(FRAME["model"], categories=["z", "b", "a"]))
    check(jaxbench.read(put(tmp_path / "x.parquet", frame)))
    indexed = tmp_path / "y.parquet"
    FRAME.set_index(["model", "item_id"]).to_parquet(indexed)
    check(jaxbench.read(indexed))


def test_quoted_line_breaks_and_delimiters(tmp_path):
    text = 'model,item_id,score\n"a\nb, c",q1,1\n"a\nb, c","q\r\n2",0\n'
    benchmark = jaxbench.read(put(tmp_path / "x.csv", text))
    assert benchmark.models == ("a\nb, c",)
    assert benchmark.items == ("q\r\n2", "q1")
    header = '"the; model\nname";item_id;score\na;q1;1\n'
    path = put(tmp_path / "y.csv", header)
    assert jaxbench.read(path, columns={"model": "the; model\nname"}).models == ("a",)


def test_ids_that_look_like_numbers_are_text(tmp_path):
    ids = ["007", "1.0", "1", "1e3", "0x1", "NA", "nan", "true", "-0", "\uff11"]
    text = lines("model,item_id,score", *(f"a,{i},1" for i in ids))
    assert jaxbench.read(put(tmp_path / "x.csv", text)).items == tuple(sorted(ids))


def test_a_line_longer_than_a_block(tmp_path):
    long = "x" * 3_000_000
    benchmark = jaxbench.read(put(tmp_path / "x.csv", f"model,item_id,score\na,{long},1\na,q,0\n"))
    assert benchmark.items == ("q", long)


# Which column is which


def test_columns_are_guessed_and_echoed(tmp_path):
    text = CSV.replace("model,item_id,task,score", "System,Question ID,subject,is-correct")
    benchmark = jaxbench.read(put(tmp_path / "x.csv", text))
    check(benchmark)
    said = "model from column 'System', item_id from column 'Question ID', "
    assert f"note: columns were guessed: {said}" in notes(benchmark)
    assert "task from column 'subject', score from column 'is-correct'" in notes(benchmark)


def test_columns_that_are_named_are_not_guessed(tmp_path):
    # Every right column has a name that would be guessed to be another one.
    text = CSV.replace("model,item_id,task,score", "task,model,score,item_id")
    path = put(tmp_path / "x.csv", text)
    named = {"model": "task", "item_id": "model", "task": "score", "score": "item_id"}
    benchmark = jaxbench.read(path, columns=named)
    check(benchmark)
    assert "guessed" not in notes(benchmark)


def test_columns_that_are_not_there(tmp_path):
    path = put(tmp_path / "x.csv", CSV)
    refuse(path, "'modle'", "columns.model", "did you mean model", columns={"model": "modle"})
    other = put(tmp_path / "y.csv", CSV.replace("score", "how good"))
    refuse(other, "no column is the score", "how good", "columns={score:NAME}")
    check(jaxbench.read(other, columns={"score": "how good"}))
    bare = put(tmp_path / "z.csv", CSV.replace("item_id", "thing"))
    refuse(bare, "thing", "columns={model:NAME,item_id:NAME")


def test_a_table_of_models_and_items_is_never_a_matrix(tmp_path):
    # As a matrix by model, item 1 would have the score 1.
    path = put(tmp_path / "x.csv", lines("model,item_id,verdicts", "a,1,1", "a,0,0", "b,1,0"))
    refuse(path, "no column is the score", "verdicts")


def test_a_file_without_models_is_one_model(tmp_path):
    path = put(tmp_path / "gpt 9.csv", lines("item_id,score", "1,1", "2,0"))
    assert scores(jaxbench.read(path)) == {"gpt 9": {"1": 1.0, "2": 0.0}}


@pytest.mark.parametrize(
    ("names", "models"),
    [
        (("x.csv", "y.csv"), ("x", "y")),
        (("x/results.csv", "y/results.csv"), ("x", "y")),
        (("x/run/results.csv", "y/run/results.csv"), ("x", "y")),
        (("x/1/results.csv", "x/2/results.csv", "y/1/results.csv"), ("x/1", "x/2", "y/1")),
        (("results.csv", "y/results.csv"), ("results", "y/results")),
    ],
)
def test_a_folder_with_a_file_per_model(names, models, tmp_path):
    for number, name in enumerate(names):
        put(tmp_path / "all" / name, lines("item_id,score", f"1,{number / 10}", "2,0"))
    benchmark = jaxbench.read(tmp_path / "all")
    assert benchmark.name == "all"
    assert scores(benchmark) == {m: {"1": n / 10, "2": 0.0} for n, m in enumerate(models)}


def test_files_of_a_folder_may_differ_in_kind(tmp_path):
    put(tmp_path / "d/a.jsonl", '{"item_id": 1, "score": true}\n{"item_id": 2, "score": false}\n')
    put(tmp_path / "d/b.json", '[{"item_id": "1", "score": 0.5}, {"item_id": "2", "score": 1}]')
    put(tmp_path / "d/c.csv", lines("item_id,score,category", "1,C,x", "2,I,y"))
    put(tmp_path / "d/d.parquet", pd.DataFrame({"item_id": [1, 2], "score": [0, 1]}))
    benchmark = jaxbench.read(tmp_path / "d")
    assert benchmark.scores.tolist() == [[1, 0], [0.5, 1], [1, 0], [0, 1]]
    assert benchmark.categories == ("x", "y")


# Scores


def column(*values) -> str:
    return lines("model;item_id;score", *(f"a;{n};{v}" for n, v in enumerate(values)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("true", "False", "TRUE"), (1, 0, 1)),
        (("yes", "no", "Correct", "wrong"), (1, 0, 1, 0)),
        (("C", "I", "P", "N"), (1, 0, 0.5, 0)),
        (("pass", "failed", "resolved", "unresolved"), (1, 0, 1, 0)),
        (("50%", "100%", "0 %", "12.5%"), (0.5, 1, 0, 0.125)),
        (("0.5%", "1%", ""), (0.005, 0.01, None)),
        (("87.5", "0", "100"), (0.875, 0, 1)),
        (("0.25", "1", "1e-1"), (0.25, 1, 0.1)),
        (("0.3333333", "0.6666667"), (1 / 3, 2 / 3)),
    ],
)
def test_scores_as_they_are_written(values, expected, tmp_path):
    path = put(tmp_path / "x.csv", column(*values))
    benchmark = jaxbench.read(path, missing="drop_items")
    known = [score for score in expected if score is not None]
    assert benchmark.scores[0].tolist() == pytest.approx(known, abs=1e-12)


def test_a_percent_sign_on_some_scores_only(tmp_path):
    refuse(put(tmp_path / "x.csv", column("1%", "0.5%", "0.5")), "row 3", "'0.5'", "without %")


@pytest.mark.parametrize("name", ["score_pct", "Score Percent", "percent_correct", "acc (%)"])
def test_a_header_that_says_percent(name, tmp_path):
    # Mixed with 1, 50 would be no percentage without the header.
    path = put(tmp_path / "x.csv", column(1, 50, 0).replace("score", name))
    benchmark = jaxbench.read(path, score=name)
    assert benchmark.scores[0].tolist() == pytest.approx([0.01, 0.5, 0])
    assert "percentages" in notes(benchmark)


def test_a_header_that_says_percent_over_fractions(tmp_path):
    path = put(tmp_path / "x.csv", column(1, 0.5, 0).replace("score", "score_pct"))
    refuse(path, "'score_pct' says percent, but no score is above 1")
    for most, first in ((1, 1), (100, 0.01)):
        benchmark = jaxbench.read(path, score="score_pct", max_score=most)
        assert benchmark.scores[0, 0] == pytest.approx(first)
    other = put(tmp_path / "y.csv", column(1, 0, 1).replace("score", "percentile"))
    assert jaxbench.read(other, columns={"score": "percentile"}).scores[0, 0] == 1


def test_two_columns_of_one_name_are_a_choice(tmp_path):
    rows = lines("model,item_id,score,Score", "A,x,1,0", "A,y,1,0")
    path = put(tmp_path / "x.csv", rows)
    refuse(path, "choose score=score or score=Score")
    assert jaxbench.read(path, score="score").scores.tolist() == [[1, 1]]


def test_columns_of_scores_that_are_not_read_are_named(tmp_path):
    rows = lines("model,item_id,score,correct,f1", "A,x,1,0,0", "A,y,1,0,0")
    benchmark = jaxbench.read(put(tmp_path / "x.csv", rows))
    assert "scores are those of column 'score'; not read: correct, f1" in notes(benchmark)


def test_files_on_different_scales(tmp_path):
    put(tmp_path / "d/a.csv", lines("item_id,score", "x,1", "y,0"))
    put(tmp_path / "d/b.csv", lines("item_id,score", "x,100", "y,0"))
    refuse(tmp_path / "d", "up to 1 in a.csv and up to 100 in b.csv", starts=tmp_path / "d/b.csv")
    benchmark = jaxbench.read(tmp_path / "d", max_score=100)
    assert "check that both are out of 100" in notes(benchmark)


def test_numbers_that_no_float_holds(tmp_path):
    table = pd.DataFrame({"model": ["A"], "item_id": ["x"], "score": [2**53 + 1]})
    refuse(put(tmp_path / "x.parquet", table), "a value in it cannot be taken")
    text = lines("model,item_id,score,repeats", f"A,x,1,{10**30}")
    refuse(put(tmp_path / "y.csv", text), "a value in it cannot be taken")


def test_a_perfect_score_that_is_given(tmp_path):
    path = put(tmp_path / "x.csv", column(3, 4.5, 0))
    benchmark = jaxbench.read(path, max_score=9)
    assert benchmark.scores[0].tolist() == pytest.approx([1 / 3, 1 / 2, 0])
    assert benchmark.denominator == 6
    assert "divided by max_score=9" in notes(benchmark)
    refuse(path, "row 2", "4.5", "between 0 and 4", max_score=4)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1, 5, 3), ("row 2", "score 5", "max_score=")),
        ((1, 2, 0), ("row 2", "score 2", "max_score=")),
        ((0, 10, 10), ("row 2", "score 10", "max_score=")),
        ((87, 0.5), ("row 1", "score 87", "max_score=")),
        ((1, -0.5), ("row 2", "score -0.5", "between 0 and 1")),
        ((50, -1), ("row 2", "score -1", "between 0 and 100")),
        ((1, "inf"), ("row 2", "score inf", "between 0 and 1")),
        ((1, "1e400"), ("row 2", "score inf")),
        ((50, 101), ("row 2", "score 101", "2 such")),
        ((1, "0,5"), ("row 2", "'0,5'", "decimals with a point")),
        ((1, "1_0"), ("row 2", "'1_0'")),
        ((1, "maybe"), ("row 2", "'maybe'", "C, I, P or N")),
        ((1, "x" * 500), ("row 2", "x" * 40)),
    ],
    ids=str,
)
def test_scores_that_are_none(values, words, tmp_path):
    error = refuse(put(tmp_path / "x.csv", column(*values)), *words)
    assert len(error) < 400


def test_an_empty_score_is_missing(tmp_path):
    for empty in ("", "NA", "nan", "None", " "):
        path = put(tmp_path / "x.csv", column(1, empty, 0))
        refuse(path, "'a' misses 1 of 3: '1'")
        assert jaxbench.read(path, missing="drop_items").items == ("0", "2")


def test_percent_in_some_files_only(tmp_path):
    put(tmp_path / "d/a.csv", lines("item_id,score_pct", "1,50", "2,0"))
    put(tmp_path / "d/b.csv", lines("item_id,score", "1,0.5", "2,0"))
    refuse(tmp_path / "d", "b.csv does not say", "percentages", "a.csv")
    # Nothing to be told: 0 is 0.
    put(tmp_path / "d/b.csv", lines("item_id,score", "1,0", "2,0"))
    assert jaxbench.read(tmp_path / "d").scores.tolist() == [[0.5, 0], [0, 0]]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [0]]), pa.array([{"x": 1}, {"x": 0}]), pa.array([b"1", b"0"]),
        pa.array([pd.Timestamp("2026-01-01")] * 2), pa.array(["a", "b"]).dictionary_encode(),
    ],
    ids=["list", "struct", "bytes", "time", "words"],
)  # fmt: skip
def test_columns_that_hold_no_scores(values, tmp_path):
    table = pa.table({"model": ["a", "a"], "item_id": ["1", "2"], "score": values})
    refuse(put(tmp_path / "x.parquet", table), "row 1", "score", "expected")


def test_float32_rounding_is_no_score_above_one(tmp_path):
    above = np.float32(1) + np.finfo(np.float32).eps
    frame = pd.DataFrame({"model": "a", "item_id": [1, 2], "score": np.array([above, 0])})
    assert jaxbench.read(put(tmp_path / "x.parquet", frame)).scores.tolist() == [[1, 0]]


@given(st.lists(st.fractions(0, 1, max_denominator=60), min_size=1, max_size=8))
def test_a_fraction_times_its_scale_comes_back(fractions):
    for scale in (Fraction(1), Fraction(5), Fraction(100)):
        values = pa.array([float(f * scale) for f in fractions])
        raw, percent = score_column(values, str, "score")
        read, _ = as_fractions(raw, str, max_score=scale, percent=percent)
        assert read.tolist() == pytest.approx([float(f) for f in fractions], abs=1e-12)


@given(st.text(max_size=6))
def test_a_word_is_a_number_or_nothing(word):
    score = verdict(word)
    if score is not None and score == score and not word.strip().lower().isalpha():
        assert score == float(word.strip().removesuffix("%"))


# Several scores


def test_several_score_columns(tmp_path):
    text = lines("model,item_id,acc,exact_match,note", "a,1,1,0,9", "a,2,0,0.5,9")
    path = put(tmp_path / "x.csv", text)
    refuse(path, "score=acc or score=exact_match")
    assert scores(jaxbench.read(path, score="acc")) == {"a": {"1": 1, "2": 0}}
    assert scores(jaxbench.read(path, score="exact_match")) == {"a": {"1": 0, "2": 0.5}}
    assert scores(jaxbench.read(path, score=["f1", "exact_match"])) == {"a": {"1": 0, "2": 0.5}}
    refuse(path, "no score column f1", "exact_match", score="f1")


METRICS = lines("model,item_id,task,metric,score", "a,1,t,acc,1", "a,1,t,f1,0.5",
                "a,2,u,f1,0.25", "b,1,t,acc,0", "b,1,t,f1,0", "b,2,u,f1,1")  # fmt: skip


def test_a_column_of_metrics(tmp_path):
    path = put(tmp_path / "x.csv", METRICS)
    refuse(path, "differ in 'metric'", "'acc', 'f1'", "score=acc")
    assert jaxbench.read(path, score="f1").scores.tolist() == [[0.5, 0.25], [0, 1]]
    # Each task takes the first that it has.
    assert jaxbench.read(path, score=["acc", "f1"]).scores.tolist() == [[1, 0.25], [0, 1]]
    refuse(path, "no score acc in task 'u'", "'f1'", score="acc")
    refuse(path, "no score bleu", "'acc', 'f1'", score="bleu")
    only = jaxbench.read(path, where={"metric": "acc"})
    assert (only.items, only.scores.tolist()) == (("1",), [[1], [0]])


AXES = lines("model,item_id,{},score", "a,1,original,1", "a,1,typo,0.5", "a,2,original,0",
             "a,2,typo,0.25")  # fmt: skip


@pytest.mark.parametrize("name", ["axis", "variant_id", "Perturbation", "template"])
def test_wordings_are_never_averaged_silently(name, tmp_path):
    path = put(tmp_path / "x.csv", AXES.format(name))
    refuse(path, f"differ in {name!r}", f"where={{{name}:original}}", f"columns={{epoch:{name}}}")
    one = jaxbench.read(path, where={name.lower(): "typo"})
    assert one.scores.tolist() == [[0.5, 0.25]]
    mean = jaxbench.read(path, columns={"epoch": name})
    assert mean.scores.tolist() == [[0.75, 0.125]]
    assert "mean of 2 runs" in notes(mean)


def test_wordings_in_some_models_only(tmp_path):
    text = lines("model,item_id,axis,score", "a,1,x,1", "a,1,y,0", "b,1,x,1")
    refuse(put(tmp_path / "x.csv", text), "differ in 'axis'")


def test_rows_that_are_not_wanted_are_not_looked_at(tmp_path):
    text = lines("model,item_id,axis,score", "a,1,x,many", ",,x,9", "a,1,y,1", "a,2,y,7")
    path = put(tmp_path / "x.csv", text)
    # The row of the file, not of those that are left.
    refuse(path, "row 4", "score 7", where={"axis": "y"})
    refuse(path, "axis=z", "'x', 'y'", where={"axis": "z"})
    refuse(path, "no column 'axes' (where)", "axis", where={"axes": "x"})
    both = jaxbench.read(put(path, AXES.format("axis")), where={"axis": ["typo"], "model": "a"})
    assert both.scores.tolist() == [[0.5, 0.25]]


# Names


def test_an_empty_name(tmp_path):
    for row, word in ((",1,t,1", "model"), ("a, ,t,1", "item_id"), ("a,1,,1", "task")):
        path = put(tmp_path / "x.csv", lines("model,item_id,task,score", "a,0,t,1", row))
        refuse(path, "row 2", f"empty {word}")


# The command line


@pytest.fixture
def table(tmp_path):
    """Twelve items, columns of other names, two wordings, and scores in two columns."""
    rows = [
        f"{model},q{item},{int(item % 3 > n)},{50 * (item % 2)},{axis}"
        for n, model in enumerate(("a", "b"))
        for item in range(12)
        for axis in ("original", "para phrase")
    ]
    with elsewhere(tmp_path) as here:
        put(here / "x.csv", lines("who,qid,acc,acc (%),axis", *rows))
        yield here


@pytest.mark.parametrize(
    ("words", "mean"),
    [
        (["score=acc", "columns={model:who,item_id:qid}", "where={axis:original}"], 66.6667),
        (["columns={model:who, item_id:qid, score:acc}", "where={axis:para phrase}"], 66.6667),
        (["score=[f1,acc]", "columns={model:who}", "where={axis:[original]}"], 66.6667),
        (["score=acc (%)", "columns={model:who}", "where={axis:original}"], 25.0),
        (["columns={model:who,score:'acc (%)'}", "where={axis:original}"], 25.0),
    ],
)
def test_options_as_hydra_reads_them(words, mean, table, capsys):
    # All trials split alike; the best model's mean over both sides is that of the table.
    quick = ("trials=2", "budgets=[1]", "resamples=5", "holdout_fraction=1/2", "out=run")
    found = answer(capsys, "attack", "path=x.csv", *quick, *words)
    assert (found.status, found.err) == (0, "")
    record = json.loads((table / "run/run.json").read_text())
    assert record["benchmark"]["items"] == 12
    # The same from the configuration that the run left behind, read from Python.
    config = yaml.safe_load((table / "run/config.yaml").read_text())
    given = {k: config[k] for k in ("score", "columns", "where") if k in config}
    benchmark = jaxbench.read(config["path"], **given)
    assert benchmark.digest() == record["benchmark"]["sha256"]
    assert 100 * benchmark.scores.mean(axis=1).max() == pytest.approx(mean, abs=1e-3)


def test_a_name_that_hydra_cannot_read_gets_a_hint(table, capsys):
    found = answer(capsys, "attack", "path=x.csv", "columns={score:acc (%)}")
    assert found.status == 2
    assert "columns={score:acc (%)} cannot be read" in found.err
    assert "columns={score:'acc (%)'}" in found.err
