"""Wide matrices: a column per model or a column per item, with facts beside the scores."""

import json

import pandas as pd
import pytest

import jaxbench
from jaxbench.sources.prompt_text import prompt_hash
from outcome_files import lines, notes, put, refuse, scores

BY_ITEM = lines("item_id,gpt,claude", "q1,1,0", "q2,0.5,1", "q3,0,0")
BY_MODEL = lines("model,q1,q2,q3", "gpt,1,0.5,0", "claude,0,1,0")
RIGHT = {"gpt": {"q1": 1, "q2": 0.5, "q3": 0}, "claude": {"q1": 0, "q2": 1, "q3": 0}}


@pytest.mark.parametrize("text", [BY_ITEM, BY_MODEL], ids=["by item", "by model"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_both_ways(text, delimiter, tmp_path):
    path = put(tmp_path / "x.csv", text.replace(",", delimiter))
    benchmark = jaxbench.read(path)
    assert scores(benchmark) == RIGHT
    assert benchmark.tasks == ("all",)
    assert "read a wide table" in notes(benchmark)


def test_other_kinds_of_files(tmp_path):
    frame = pd.DataFrame({"item_id": ["q1", "q2", "q3"], "gpt": [1, 0.5, 0], "claude": [0, 1, 0]})
    assert scores(jaxbench.read(put(tmp_path / "x.parquet", frame))) == RIGHT
    records = frame.to_dict("records")
    assert scores(jaxbench.read(put(tmp_path / "x.json", json.dumps(records)))) == RIGHT
    text = "\n".join(json.dumps(record) for record in records)
    assert scores(jaxbench.read(put(tmp_path / "x.jsonl", text))) == RIGHT


def test_facts_are_no_models(tmp_path):
    text = lines("Task,item_id,category,prompt,gpt,claude", "t,q1,x,What  is?,1,0",
                 "t,q2,y,\"What\nis?\",0,1", "u,q3,z,Why?,0,1")  # fmt: skip
    benchmark = jaxbench.read(put(tmp_path / "x.csv", text))
    assert benchmark.models == ("claude", "gpt")
    assert benchmark.item_tasks == ("t", "t", "u")
    assert benchmark.categories == ("x", "y", "z")
    assert benchmark.prompt_hashes == tuple(
        prompt_hash(text) for text in ("What is?", "What is?", "Why?")
    )
    assert benchmark.scores.tolist() == [[0, 1, 1], [1, 0, 0]]


def test_ids_over_tasks(tmp_path):
    text = lines("item_id,task,gpt,claude", "1,t,1,0", "1,u,0,1")
    benchmark = jaxbench.read(put(tmp_path / "x.csv", text))
    assert scores(benchmark) == {"gpt": {"t/1": 1, "u/1": 0}, "claude": {"t/1": 0, "u/1": 1}}


def test_empty_cells_are_missing(tmp_path):
    path = put(tmp_path / "x.csv", BY_ITEM.replace("q2,0.5", "q2,"))
    refuse(path, "'gpt' misses 1 of 3: 'q2'")
    kept = scores(jaxbench.read(path, missing="drop_models"))
    assert kept == {"claude": RIGHT["claude"]}


def test_names_that_look_like_numbers_stay_text(tmp_path):
    text = lines("item_id,007,1.0,1e3", "007,1,0,1", "1.0,0,1,1")
    benchmark = jaxbench.read(put(tmp_path / "x.csv", text))
    assert scores(benchmark) == {
        "007": {"007": 1, "1.0": 0}, "1.0": {"007": 0, "1.0": 1}, "1e3": {"007": 1, "1.0": 1},
    }  # fmt: skip


def test_one_model(tmp_path):
    path = put(tmp_path / "x.csv", lines("item_id,gpt", "q1,1", "q2,0"))
    assert scores(jaxbench.read(path, format="wide")) == {"gpt": {"q1": 1, "q2": 0}}
    refuse(path, "columns item_id, gpt", "columns={model:NAME,item_id:NAME,score:NAME}")


def test_thousands_of_columns(tmp_path):
    # A header longer than what is looked at first.
    items = [f"item {n:020d}" for n in range(6000)]
    rows = [f"m{r}," + ",".join("10"[(n + r) % 2] for n in range(6000)) for r in range(2)]
    path = put(tmp_path / "x.csv", lines("model," + ",".join(items), *rows))
    assert len(path.read_text().split("\n")[0]) > 2**17
    benchmark = jaxbench.read(path)
    assert benchmark.items == tuple(items)
    assert benchmark.counts[:, :3].tolist() == [[1, 0, 1], [0, 1, 0]]
    assert benchmark.counts.sum() == 6000


def test_rows_are_chosen(tmp_path):
    text = lines("item_id,axis,gpt,claude", "1,x,1,0", "1,y,0,0", "2,x,0,1", "2,y,9,9")
    path = put(tmp_path / "x.csv", text)
    assert scores(jaxbench.read(path, where={"axis": "x"})) == {
        "gpt": {"1": 1, "2": 0}, "claude": {"1": 0, "2": 1},
    }  # fmt: skip
    refuse(path, "row 4, column 'gpt'", "score 9", where={"axis": "y"})
    refuse(path, "axis=z", "'x', 'y'", where={"axis": "z"})
    refuse(path, "no column 'axes' (where)", where={"axes": "x"})


def test_the_id_may_have_another_name(tmp_path):
    text = BY_ITEM.replace("item_id", "")
    path = put(tmp_path / "x.csv", text)
    assert scores(jaxbench.read(path, columns={"item_id": "unnamed column 1"})) == RIGHT
    refuse(path, "unnamed column 1")
    path = put(tmp_path / "y.csv", BY_MODEL.replace("model", "who"))
    assert scores(jaxbench.read(path, columns={"model": "who"}, format="wide")) == RIGHT
    refuse(path, "'whom'", "did you mean who", columns={"model": "whom"}, format="wide")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (lines("item_id,a,b", "1,1,0", "1,0,1"), ("row 2", "'1'", "more than once")),
        (lines("item_id,a,b", "1,1,0", ",0,1"), ("row 2", "empty item_id")),
        (lines("item_id,a,b", "1,1,0", "2,1,x"), ("row 2, column 'b'", "'x'", "no score")),
        (lines("item_id,a,b", "1,1,0", "2,5,1"), ("'a' goes up to 5 and 'b' up to 1", "max_score")),
        (lines("item_id,a,b", "1,50%,1", "2,100%,0"), ("row 1, column 'b'", "'1'", "without %")),
        (lines("item_id,a,b,", "1,1,0,", "2,1,0,"), ("column 4 has no name",)),
        (lines("item_id,a,a", "1,1,0"), ("'a' stands more than once",)),
        (lines("item_id,a,b"), ("no rows",)),
    ],
)
def test_matrices_that_are_refused(text, words, tmp_path):
    refuse(put(tmp_path / "x.csv", text), *words)


def test_types_that_differ_by_column(tmp_path):
    frame = pd.DataFrame(
        {"item_id": ["1", "2"], "z": ["C", "P"], "y": [0.25, 1], "x": [True, None]}
    )
    benchmark = jaxbench.read(put(tmp_path / "x.parquet", frame), missing="drop_items")
    assert scores(benchmark) == {"x": {"1": 1}, "y": {"1": 0.25}, "z": {"1": 1}}
    mixed = frame.assign(z=["50%", "1%"])
    refuse(put(tmp_path / "y.parquet", mixed), "with % in column 'z'", "without in 'y'")
    odd = frame.assign(w=["I", "odd"])
    refuse(put(tmp_path / "z.parquet", odd), "row 2, column 'w'", "'odd'")


def test_roles_that_a_matrix_has_no_place_for(tmp_path):
    path = put(tmp_path / "x.csv", BY_ITEM)
    refuse(path, "columns.repeats", "wide", columns={"repeats": "gpt"})


def test_two_matrices(tmp_path):
    for name in ("x.csv", "y.csv"):
        put(tmp_path / "d" / name, BY_ITEM)
    refuse(tmp_path / "d", "2 wide tables", "one row per score")


def test_percentages(tmp_path):
    path = put(tmp_path / "x.csv", lines("item_id,a,b", "1,50%,0", "2,100%,25%"))
    assert jaxbench.read(path).scores.tolist() == [[0.5, 1], [0, 0.25]]
    path = put(tmp_path / "y.csv", lines("item_id,a,b", "1,5,0", "2,3,4"))
    assert jaxbench.read(path, max_score=5).scores.tolist() == [[1, 0.6], [0, 0.8]]
