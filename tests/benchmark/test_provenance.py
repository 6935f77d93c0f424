"""Facts that are read from sentences: what is written is what is found again."""

import pytest

import jaxbench
from jaxbench.benchmark import provenance
from outcome_files import lines, put

HEAD = "model,item_id,task,attempt,prompt,score"


@pytest.mark.parametrize(("fewest", "most"), [(1, 1), (3, 3), (1, 5)])
def test_runs(fewest, most):
    said = ("read from x", provenance.mean_of_runs(fewest, most))
    assert provenance.runs(said) == (fewest, most)
    assert provenance.runs(said[:1]) is None


def test_what_a_reader_says_is_understood(tmp_path):
    rows = [f"{m},q{i},t,{a},Q {i},1" for m in "ab" for i in range(3) for a in (1, 2)]
    path = put(tmp_path / "x.csv", lines(HEAD, *rows[:-1], "b,q2,t,2,Q 2,", "a,q9,t,1,Q 9,0"))
    said = jaxbench.read(path, missing="drop_items").provenance
    assert provenance.runs(said) == (1, 2)
    assert provenance.prompts_told_by(said) == "text"
    missing = provenance.what_is_missing(said)
    assert missing == [
        "missing: 1 row without a score",
        "missing=drop_items: 1 of 4 items left out: 'q9'",
    ]
    assert not provenance.on_grid(said)


@pytest.mark.parametrize("kind", list(provenance.PROMPTS))
def test_what_tells_prompts_apart(kind):
    assert provenance.prompts_told_by(["x", provenance.PROMPTS[kind]]) == kind
    assert provenance.prompts_told_by(["x"]) is None
