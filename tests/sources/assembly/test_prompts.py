"""Which items ask the same thing: text, hash, document or id, and never two kinds at once."""

import hashlib

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxbench
from jaxbench.options import ReadOptions
from jaxbench.sources import read_as
from jaxbench.sources.prompt_text import prompt_hash
from outcome_files import lines, notes, put, refuse, scores

IDS = "no hash of prompts or documents: every item counts as its own prompt"
TEXT = "prompts are hashed by their text"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def read(tmp_path):
    """Read rows; the path is the same each time."""

    def reading(*rows, **options):
        return jaxbench.read(put(tmp_path / "x.csv", lines(*rows)), **options)

    return reading


def test_text_is_hashed_without_its_white_space(read):
    benchmark = read("model,item_id,prompt,score", 'a,1,"  What\n is\tit? ",1', "a,2,What is it?,0",
                     "a,3,what is it?,0")  # fmt: skip
    assert benchmark.prompt_hashes == (sha("What is it?"), sha("What is it?"), sha("what is it?"))
    assert TEXT in notes(benchmark)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=5), st.data())
def test_white_space_makes_no_other_prompt(words, data):
    space = st.text(st.sampled_from(" \t\n\r\u00a0"), min_size=1)
    plain = [w for word in words for w in word.split()]
    spaced = "".join(data.draw(space) + word for word in plain) + data.draw(space)
    expected = sha(" ".join(plain)) if plain else None
    assert prompt_hash(spaced) == prompt_hash(" ".join(plain)) == expected


def test_the_strongest_that_all_items_have(read):
    header = "model,item_id,prompt,prompt_hash,doc_hash,score"
    full = read(header, "a,1,x,h1,d1,1", "a,2,y,h2,d2,0")
    assert full.prompt_hashes == (sha("x"), sha("y"))
    # A text is missing: hashes of the table, for every item.
    some_text = read(header, "a,1,x,h1,d1,1", "a,2,,h2,d2,0")
    assert some_text.prompt_hashes == ("h1", "h2")
    assert TEXT not in notes(some_text)
    assert "note: some items have no text of a prompt" in notes(some_text)
    some_hash = read(header, "a,1,x,h1,d1,1", "a,2,,,d2,0")
    assert some_hash.prompt_hashes == ("d1", "d2")
    assert "note: prompt_hash is known for 1 of 2 items, so it is not used" in notes(some_hash)
    assert "document hash" in notes(some_hash)
    nothing = read(header, "a,1,x,h1,d1,1", "a,2,,,,0")
    assert nothing.prompt_hashes == nothing.items == ("1", "2")
    assert IDS in notes(nothing)
    empty = read(header, "a,1,,,,1", "a,2,, ,,0")
    assert empty.prompt_hashes == ("1", "2")
    assert "is known for" not in notes(empty)


def test_what_one_model_says_of_an_item_is_enough(read):
    benchmark = read("model,item_id,prompt,score", "a,1,x,1", "a,2,y,0", "b,1,,0", "b,2,,0")
    assert benchmark.prompt_hashes == (sha("x"), sha("y"))


def test_an_all_empty_column_of_floats(tmp_path):
    frame = pd.DataFrame({"model": "a", "item_id": [1, 2], "prompt_hash": float("nan"),
                          "score": [0, 1]})  # fmt: skip
    assert jaxbench.read(put(tmp_path / "x.parquet", frame)).prompt_hashes == ("1", "2")


def test_files_do_not_mix_kinds(tmp_path):
    put(tmp_path / "d/a.csv", lines("item_id,prompt,prompt_hash,score", "1,x,h1,1", "2,y,h2,1"))
    put(tmp_path / "d/b.csv", lines("item_id,prompt_hash,score", "1,h1,1", "2,h2,1"))
    # The text is known of every item.
    assert jaxbench.read(tmp_path / "d").prompt_hashes == (sha("x"), sha("y"))
    put(tmp_path / "d/a.csv", lines("item_id,task,prompt,prompt_hash,score", "1,t,x,h1,1"))
    put(tmp_path / "d/b.csv", lines("item_id,task,prompt_hash,score", "1,u,h2,1"))
    mixed = jaxbench.read(tmp_path / "d", missing="drop_fewest")
    assert set(mixed.prompt_hashes) <= {"h1", "h2"}


def test_documents_that_differ_under_one_id(tmp_path):
    rows = ("model,item_id,doc_hash,score", "a,1,d,1", "b,1,e,0", "a,2,f,1", "b,2,f,0")
    refuse(put(tmp_path / "x.csv", lines(*rows)), "more than one document", "'1'", "one id")


def test_prompts_that_differ_by_model(read):
    rows = ("model,item_id,prompt,doc_hash,score", "a,1,x,d,1", "b,1,X,d,0", "a,2,y,e,1",
            "b,2,y,e,0")  # fmt: skip
    benchmark = read(*rows)
    assert benchmark.prompt_hashes == ("d", "e")
    assert "note: models were prompted differently on 1 items" in notes(benchmark)


def test_prompts_that_differ_within_a_model_are_no_repeats(tmp_path):
    rows = ("model,item_id,prompt,score", "a,1,x,1", "a,1,y,0")
    refuse(put(tmp_path / "x.csv", lines(*rows)), "2 scores for item '1'", "different prompts")


@pytest.mark.parametrize("fact", ["category", "subtask", "chance"])
def test_an_item_is_one_thing(fact, tmp_path):
    path = put(tmp_path / "x.csv", lines(f"model,item_id,{fact},score", "a,1,1/3,1", "b,1,1/4,0"))
    refuse(path, f"more than one {fact}", "'1'")
    path = put(tmp_path / "x.csv", lines(f"model,item_id,{fact},score", "a,1,,1", "b,1,1/4,0"))
    values = {"category": "categories", "subtask": "subtasks", "chance": "chances"}
    found = getattr(jaxbench.read(path), values[fact])
    assert [str(f) for f in found] == ["1/4"]


def test_a_fact_that_some_items_lack_is_not_used(read):
    benchmark = read("model,item_id,category,score", "a,1,x,1", "a,2, ,0")
    assert benchmark.categories is None
    assert "note: category is known for 1 of 2 items, so it is not used" in notes(benchmark)


SHARED = ("model,item_id,task,prompt,score", "a,1,t,x,1", "a,2,u,x,0", "a,3,u,y,0.5", "a,4,t,z,1",
          "a,5,t,z,0")  # fmt: skip


def test_a_prompt_in_two_tasks(tmp_path, read):
    path = put(tmp_path / "x.csv", lines(*SHARED))
    refuse(path, sha("x"), "'1' in 't'", "'2' in 'u'", "shared_prompts=drop")
    benchmark = read(*SHARED, shared_prompts="drop")
    # Duplicates within a task stay, together.
    assert scores(benchmark) == {"a": {"3": 0.5, "4": 1, "5": 0}}
    assert benchmark.prompt_hashes == (sha("z"), sha("z"), sha("y"))
    said = "note: shared_prompts=drop: 2 of 5 items left out, whose 1 prompts stand in several"
    assert said in notes(benchmark)
    refuse(put(path, lines(*SHARED[:3])), "would leave no item", shared_prompts="drop")


def test_as_many_as_bfcl_has(tmp_path):
    # 1,700 items, of which 196 ask in two tasks: 98 prompts, an item in each.
    rows = [f"a,s{i},left,shared {i},1" for i in range(98)]
    rows += [f"a,z{i},right,shared  {i},0" for i in range(98)]
    rows += [f"a,o{i},{'left' if i % 2 else 'right'},own {i},1" for i in range(1504)]
    path = put(tmp_path / "x.csv", lines("model,item_id,task,prompt,score", *rows))
    refuse(path, "two tasks")
    benchmark = jaxbench.read(path, shared_prompts="drop")
    assert len(benchmark.items) == 1504
    assert "196 of 1700 items left out, whose 98 prompts" in notes(benchmark)
    assert benchmark.counts.all()


def test_keep_is_for_studies_that_split_nothing(tmp_path):
    path = put(tmp_path / "x.csv", lines(*SHARED))
    with pytest.raises(jaxbench.BadRequest, match="'keep'; known: refuse, drop"):
        jaxbench.read(path, shared_prompts="keep")
    assert len(read_as(path, ReadOptions(shared_prompts="keep")).items) == 5
