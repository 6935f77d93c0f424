"""Files that were once misread, or crashed a reader: each with the right answer."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxbench
from commands import answer, elsewhere, refused
from jaxbench.benchmark import Benchmark
from jaxbench.sources.assembly.missing import keep_complete
from outcome_files import lines, notes, put, refuse
from pairs import write_pair


def report(resolved: str, other: str) -> str:
    ids = [resolved, other]
    return json.dumps(
        {
            "total_instances": 2, "submitted_instances": 2, "resolved_instances": 1,
            "unresolved_instances": 1, "resolved_ids": [resolved], "unresolved_ids": [other],
            "submitted_ids": sorted(ids),
        }
    )  # fmt: skip


def test_a_dot_in_a_version_is_none_before_a_run(tmp_path):
    put(tmp_path / "gpt-4.1.json", report("a__b-1", "a__b-2"))
    put(tmp_path / "gpt-4.5.json", report("a__b-2", "a__b-1"))
    put(tmp_path / "gpt-4.20260101.json", report("a__b-2", "a__b-1"))
    benchmark = jaxbench.read(tmp_path)
    assert benchmark.models == ("gpt-4", "gpt-4.1", "gpt-4.5")
    assert benchmark.counts.tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("score", ["1%", 10**400])
def test_a_score_that_is_no_number_in_a_log(score, tmp_path):
    row = {"evaluation_id": "A", "model_id": "A", "evaluation_name": "t", "sample_id": "x",
           "evaluation": {"score": score}}  # fmt: skip
    refuse(put(tmp_path / "e_samples.jsonl", json.dumps(row) + "\n"), "line 1")


def test_a_list_as_hash_of_a_sample_is_text(tmp_path):
    row = {"evaluation_id": "A", "model_id": "A", "evaluation_name": "t", "sample_id": "x",
           "evaluation": {"score": 1}, "sample_hash": [1]}  # fmt: skip
    assert jaxbench.read(put(tmp_path / "e_samples.jsonl", json.dumps(row) + "\n")).models == ("A",)


def test_an_instance_that_stands_twice(tmp_path):
    yes, no = '{"resolved": true}', '{"resolved": false}'
    text = f'{{"a__b-1": {yes}, "a__b-2": {no}, "a__b-1": {no}}}'
    refuse(put(tmp_path / "m/per_instance_details.json", text), "'a__b-1' stands more than once")


def test_no_model_of_a_folder_vanishes(tmp_path):
    one = lines("item_id,score", "x,1")
    put(tmp_path / "d/a.csv", one)
    put(tmp_path / "elsewhere/b.csv", one)
    (tmp_path / "d/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "d/round").symlink_to(tmp_path / "d")
    assert jaxbench.read(tmp_path / "d").models == ("a", "b")
    put(tmp_path / "d/c.csv.gz", b"\x1f\x8b")
    refuse(tmp_path / "d", "c.csv.gz is packed; unpack it first")


def test_a_value_that_is_nowhere_is_not_passed_over(tmp_path):
    path = put(tmp_path / "x.csv", lines("model,item_id,score", "A,x,1", "B,x,0", "C,x,1"))
    refuse(path, "no row has model=Bee; found 'A', 'B', 'C'", where={"model": ["A", "Bee"]})
    assert jaxbench.read(path, where={"model": ["A", "C"]}).models == ("A", "C")
    with pytest.raises(jaxbench.BadRequest, match=r"where.model=.*expected a value"):
        jaxbench.read(path, where={"model": {"a": 1}})


def test_a_value_that_is_nowhere_in_a_native_pair(tmp_path):
    folder = write_pair(tmp_path / "x")
    refuse(folder, "no row has model=model z; found", where={"model": ["model a", "model z"]},
           starts=folder / "scores.parquet")  # fmt: skip
    kept = jaxbench.read(folder, where={"model": ["model a", "model b"]})
    assert kept.models == ("model a", "model b")


@pytest.mark.parametrize("name", ["average", "mean", "difficulty", "epoch", "Unnamed: 0"])
def test_columns_of_a_matrix_that_are_no_models(name, tmp_path):
    path = put(tmp_path / "x.csv", lines(f"item_id,A,B,{name}", "x,1,0,0.5", "y,0,0,0"))
    refuse(path, f"column {name!r} seems to hold no scores of its own", 'score=["A","B"]')
    benchmark = jaxbench.read(path, score=["A", "B"])
    assert benchmark.models == ("A", "B")
    assert "2 columns of scores (A, B)" in notes(benchmark)
    refuse(path, "no column 'C' (score)", score=["A", "C"], format="wide")


def test_text_beside_the_scores_of_a_matrix(tmp_path):
    path = put(tmp_path / "x.csv", lines("item_id,A,B,level", "x,1,0,easy", "y,0,0,hard"))
    refuse(path, "'easy' is no score", "score=[NAME,...] names the columns of scores")
    assert jaxbench.read(path, score=["A", "B"]).models == ("A", "B")


def test_items_named_alike_over_tasks(tmp_path):
    rows = lines("model,item_id,task,score", "A,c,a/b,1", "A,b/c,a,0", "A,c,a,0")
    refuse(put(tmp_path / "x.csv", rows), "TASK/ID names two items alike: 'a/b/c'")


def test_a_folder_of_one_table_in_two_forms(tmp_path):
    text = lines("item_id,score", "x,1")
    put(tmp_path / "d/r.csv", text)
    put(tmp_path / "d/r.jsonl", '{"item_id": "x", "score": 1}\n')
    assert jaxbench.read(tmp_path / "d").models == ("r.csv", "r.jsonl")


def test_no_columns_at_all(tmp_path):
    refuse(put(tmp_path / "x.json", "[]"), "no columns", format="wide")


@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_drop_fewest_keeps_most_of_all(models, items, data):
    rows = st.lists(st.booleans(), min_size=items, max_size=items)
    present = np.array(data.draw(st.lists(rows, min_size=models, max_size=models)))
    most = max(
        sum(bits) * int(present[np.array(bits, dtype=bool)].all(axis=0).sum())
        for bits in np.ndindex(*(2,) * models)
        if any(bits)
    )
    names = [f"m{m}" for m in range(models)], [f"i{i}" for i in range(items)]
    if not most:
        with pytest.raises(jaxbench.BadRequest, match="would leave no"):
            keep_complete(present, *names, "drop_fewest")
        return
    kept, stay, _ = keep_complete(present, *names, "drop_fewest")
    assert kept.sum() * stay.sum() == most


def test_many_kinds_of_gaps_are_walked_through():
    present = ~np.eye(14, dtype=bool)
    kept, stay, _ = keep_complete(present, list("abcdefghijklmn"), list(map(str, range(14))),
                                  "drop_fewest")  # fmt: skip
    assert kept.sum() * stay.sum() == 49


def test_addresses_are_not_repeated(tmp_path, capsys):
    with elsewhere(tmp_path) as here:
        for job in ("attack", "describe"):
            for quote in ('"', ""):
                word = f"path={quote}https://user:TOKEN@host/x.csv?token=SECRET{quote}"
                said = refused(capsys, here, (job, word), "address of the network")
                assert "TOKEN" not in said
                assert "SECRET" not in said
        for job, word in (
            ("sweep", "path=[https://user:TOKEN@host/x.csv]"),
            ("sweep", "path=[\"a.csv\",'https://user:TOKEN@host/x.csv']"),
            ("attack", "benchmark=https://user:TOKEN@host/x.csv"),
            ("describe", "items=https://user:TOKEN@host/x.csv"),
        ):
            said = refused(capsys, here, (job, word), "address of the network")
            assert "TOKEN" not in said
        found = answer(capsys, "describe", "--experimental-rerun=evil.pickle")
        assert (found.status, "unknown flag" in found.err) == (2, True)
    file = tmp_path / "x.csv"
    file.write_text("model,item_id,score\n")
    for path, options in (
        ("https://user:TOKEN@host/x.csv", {}),
        (file, {"items": "https://user:TOKEN@host/x.csv"}),
    ):
        with pytest.raises(jaxbench.BadRequest, match="address of the network") as refusal:
            jaxbench.read(path, **options)
        assert "TOKEN" not in str(refusal.value)


def test_a_name_is_no_picture():
    scores = np.array([[1.0, 0.0], [0.0, 0.0]])
    benchmark = Benchmark.from_scores(
        scores, models=[":smile:", "[red]x"], items=["x", "y"], tasks=["t", "t"]
    )
    card = str(jaxbench.describe(benchmark, resamples=20))
    assert card.count(":smile:") >= 2
    assert "[red]x" in card


def test_a_rare_attack_is_told(tmp_path, capsys):
    rows = ["a,x%d,t,1", "a,y%d,u,1", "b,x%d,t,1", "b,y%d,u,0"]
    text = [row % n for n in range(6) for row in rows]
    text = [t.replace("b,y0,u,0", "b,y0,u,1").replace("a,x0,t,1", "a,x0,t,0") for t in text]
    with elsewhere(tmp_path) as here:
        put(here / "x.csv", lines("model,item_id,task,score", *text))
        found = answer(capsys, "attack", "path=x.csv", "trials=40", "budgets=[1,2]", "resamples=5")
        assert found.status == 0
        assert "of 40 trials can be attacked" in found.out


def test_models_that_no_column_names(tmp_path):
    head = "System,ticket,score"
    text = lines(head, "a,1,1", "a,2,0", "b,1,0", "b,2,1")
    path = put(tmp_path / "x.csv", text.replace("System", "Tool under test"))
    said = "items stand several times and no column is the model"
    refuse(path, said, columns={"item_id": "ticket"})
    named = {"item_id": "ticket", "model": "Tool under test"}
    assert jaxbench.read(path, columns=named).models == ("a", "b")
    one = put(tmp_path / "gpt.csv", lines("item_id,score", "x,1"))
    assert "models are named after their files" in notes(jaxbench.read(one))


@pytest.mark.parametrize(("most", "named"), [(4, "n_solved"), (0.5, "B")])
def test_columns_of_another_scale_are_no_models(most, named, tmp_path):
    path = put(tmp_path / "x.csv", lines("item_id,A,B,n_solved", f"x,1,1,{most}", "y,0,0,0"))
    if most > 1:
        refuse(path, f"column {named!r} goes up to 4 and 'A' up to 1", 'score=["A","B"]')
    assert jaxbench.read(path, score=["A", "B"]).models == ("A", "B")


def test_what_is_written_says_no_more_than_was_known(tmp_path):
    rows = [f"{m},q{i},t,{a},{i % 2}" for m in "ab" for i in range(3) for a in (1, 2)]
    path = put(tmp_path / "x.csv", lines("model,item_id,task,attempt,score", *rows))
    benchmark = jaxbench.read(path)
    for form in ("native", "every_eval_ever"):
        again = jaxbench.read(jaxbench.write(benchmark, tmp_path / form, format=form))
        assert again.digest() == benchmark.digest()
        assert "every item counts as its own prompt" in notes(again)
    assert "mean of 2 runs" in notes(jaxbench.read(tmp_path / "native"))


def test_one_task_of_several_logs(tmp_path):
    for task, metric in (("t", "acc"), ("u", "exact_match")):
        text = "".join(
            json.dumps({"doc_id": d, "doc": {}, "filter": "none", "metrics": [metric], metric: d})
            + "\n"
            for d in (0, 1)
        )
        put(tmp_path / f"m/samples_{task}.jsonl", text)
    refuse(tmp_path, "tasks have different scores", """'score=["acc,none","exact_match,none"]'""",
           starts=tmp_path / "m", score="acc")  # fmt: skip
    assert jaxbench.read(tmp_path, where={"task": "u"}).tasks == ("u",)
    both = jaxbench.read(tmp_path, score=["acc,none", "exact_match,none"])
    assert both.tasks == ("t", "u")
    refuse(tmp_path, "no samples of task 'v'; found 't', 'u'", where={"task": "v"})
