"""`items=FILE`: every item of a benchmark, in all its forms."""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

import jaxbench
from jaxbench.errors import BadRequest
from outcome_files import lines, notes, put, refuse, scores

ROWS = lines("model,item_id,score", "a,1,1", "a,02,0", "b,1,0", "b,02,1")
RIGHT = {"a": {"02": 0, "1": 1}, "b": {"02": 1, "1": 0}}
FACTS = pd.DataFrame({"item_id": ["02", "1"], "task": ["t", "u"], "category": ["x", "y"],
                      "prompt": ["p  q", "r"]})  # fmt: skip


@pytest.fixture
def table(tmp_path) -> Path:
    return put(tmp_path / "x.csv", ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("i.txt", "02\n1\n"),
        ("i", "\r\n 02 \r\n\r\n1"),
        ("i.txt", b"\xef\xbb\xbf02\n1\n"),
        ("i.txt", "02\n1\n".encode("utf-16")),
        ("i.json", '["02", 1]'),
        ("i", '\n["02", "1"]'),
        ("i.csv", "item_id\n02\n1\n"),
        ("i.csv", "note;Question ID\nx;02\ny;1\n"),
        ("i.jsonl", '{"item_id": "02"}\n{"item_id": 1}\n'),
        ("i.json", '[{"id": "02"}, {"id": "1"}]'),
        ("i.parquet", pd.DataFrame({"item_id": ["02", "1"]})),
    ],
)
def test_ids_alone(name, content, table, tmp_path):
    benchmark = jaxbench.read(table, items=str(put(tmp_path / "list" / name, content)))
    assert scores(benchmark) == RIGHT
    assert benchmark.tasks == ("all",)


@pytest.mark.parametrize("name", ["i.csv", "i.parquet", "i.json", "i.jsonl"])
def test_ids_and_facts(name, table, tmp_path):
    content = {
        "i.csv": FACTS.to_csv(index=False),
        "i.parquet": FACTS,
        "i.json": FACTS.to_json(orient="records"),
        "i.jsonl": FACTS.to_json(orient="records", lines=True),
    }[name]
    benchmark = jaxbench.read(table, items=str(put(tmp_path / "list" / name, content)))
    assert benchmark.items == ("02", "1")
    assert benchmark.item_tasks == ("t", "u")
    assert benchmark.categories == ("x", "y")
    assert benchmark.prompt_hashes == tuple(
        hashlib.sha256(text).hexdigest() for text in (b"p q", b"r")
    )


def test_an_item_that_is_not_in_the_list(table, tmp_path):
    items = put(tmp_path / "i.txt", "1\n")
    refuse(table, "1 items have scores but are not in the list of items", "'02'", items=str(items))


def test_an_item_that_nobody_has_is_missing(table, tmp_path):
    items = str(put(tmp_path / "i.txt", "1\n02\n3\n"))
    refuse(table, "2 of 2 models miss items", "1 of 3: '3'", most=3, items=items)
    benchmark = jaxbench.read(table, items=items, missing="drop_fewest")
    assert scores(benchmark) == RIGHT
    assert "1 of 3 items left out: '3'" in notes(benchmark)


def test_tasks_come_from_the_list_or_the_rows(tmp_path):
    table = put(tmp_path / "x.csv", lines("model,item_id,task,score", "a,1,t,1", "a,2,u,0"))
    items = put(tmp_path / "i.txt", "1\n2\n")
    assert jaxbench.read(table, items=str(items)).item_tasks == ("t", "u")
    refuse(table, "no task is known for 1 items", "'3'", items=str(put(items, "1\n2\n3\n")))
    # All of one task: so is an item that nobody has.
    one = put(tmp_path / "y.csv", lines("model,item_id,task,score", "a,1,t,1", "a,2,t,0"))
    refuse(one, "'a' misses 1 of 3: '3'", items=str(items))


def test_ids_that_stand_in_several_tasks(tmp_path):
    rows = lines("model,item_id,task,score", "a,1,t,1", "a,1,u,0", "b,1,t,0.5", "b,1,u,0")
    table = put(tmp_path / "x.csv", rows)
    items = put(tmp_path / "i.csv", lines("item_id,task", "1,u", "1,t"))
    benchmark = jaxbench.read(table, items=str(items))
    assert scores(benchmark) == {"a": {"t/1": 1, "u/1": 0}, "b": {"t/1": 0.5, "u/1": 0}}
    # Without tasks the list does not say which of the two is meant.
    plain = put(tmp_path / "i.txt", "1\n")
    refuse(table, "stand in several tasks", "'1'", "column task", items=str(plain))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("i.txt", "", ("is empty",)),
        ("i.txt", " \n\n", ("is empty",)),
        ("i.json", "[]", ("names no item",)),
        ("i.csv", "item_id\n", ("names no item",)),
        ("i.csv", "item_id,task\n1,t\n,t\n", ("row 2 has no item",)),
        ("i.txt", "1\n02\n1\n", ("row 3", "'1'", "second time")),
        ("i.csv", "item_id,task\n1,t\n02,t\n1,t\n", ("row 3", "'1'", "second time")),
        ("i.csv", "1\n02\n", ("no column is the item", "found 1", "text file")),
        ("i.csv", "x,y\n1,2\n", ("no column is the item", "found x, y")),
        ("i.json", '{"1": {"task": "t"}}', ("no column is the item",)),
        ("i.json", '[["1"], ["02"]]', ("no column is the item",)),
        ("i.json", '["1", ', ("no JSON", "cut off")),
        ("i.jsonl", '{"item_id": 1}\n{"item', ("line 2 is no JSON", "cut off")),
        ("i.parquet", b"PAR1 and no more", ("cannot be read as Parquet",)),
        ("i.txt", "é\n".encode("latin-1"), ("line 1 is not UTF-8",)),
        ("i.txt", b"1\n\0\n", ("line 2 holds a zero byte",)),
    ],
)
def test_lists_that_are_refused(name, content, words, table, tmp_path):
    items = put(tmp_path / "list" / name, content)
    refuse(table, *words, starts=items, items=str(items))


def test_no_list_at_all(table, tmp_path):
    refuse(table, "is missing", starts=tmp_path / "no.txt", items=str(tmp_path / "no.txt"))
    refuse(table, "not a regular file", starts=tmp_path, items=str(tmp_path))


def test_a_text_file_may_hold_anything(tmp_path):
    ids = ["[a]", "{b}", "c,d", '"e', "=cmd()"]
    rows = [json.dumps({"model": "m", "item_id": i, "score": 1}) for i in ids]
    table = put(tmp_path / "x.jsonl", lines(*rows))
    items = put(tmp_path / "i.txt", lines(*ids))
    assert jaxbench.read(table, items=str(items)).items == tuple(sorted(ids))


def test_a_native_pair_has_its_own_list(root, tmp_path):
    folder = root / "jaxbench/sources/snapshots/terminal_science"
    items = put(tmp_path / "i.txt", "1\n")
    with pytest.raises(BadRequest, match=r"items\.parquet is the list of items"):
        jaxbench.read(folder, items=str(items))
