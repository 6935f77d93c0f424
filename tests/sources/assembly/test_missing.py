"""Incomplete matrices: the refusal says what is missing, and leaving out says what went."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import jaxbench
from jaxbench.errors import BadRequest
from jaxbench.sources.assembly.missing import keep_complete
from outcome_files import lines, notes, put, refuse, scores

CHOICES = ("drop_items", "drop_models", "drop_fewest")


def kept_of(rows: list[str], choice: str) -> tuple[list[str], list[str]]:
    """Names of the models (letters) and items (numbers) that stay of rows of x and dot."""
    present = np.array([[c == "x" for c in row] for row in rows])
    models = [chr(ord("a") + m) for m in range(len(rows))]
    items = [str(i) for i in range(len(rows[0]))]
    m, i, _ = keep_complete(present, models, items, choice)
    return list(np.array(models)[m]), list(np.array(items)[i])


@pytest.mark.parametrize(
    ("choice", "models", "items"),
    [
        ("drop_items", "abcd", "1"),
        ("drop_models", "a", "01234"),
        # Without d: 3 x 3; without d and c: 2 x 4 = 8; a alone: 5; all: 4 x 1.
        ("drop_fewest", "abc", "123"),
    ],
)
def test_what_stays(choice, models, items):
    rows = ["xxxxx", "xxxx.", ".xxx.", ".x..x"]
    assert kept_of(rows, choice) == (list(models), list(items))


def test_of_equals_most_models_stay():
    # 2 x 1 or 1 x 2.
    assert kept_of(["xx", "x."], "drop_fewest") == (["a", "b"], ["0"])
    # Of models with as many gaps, the first by name goes first.
    assert kept_of(["x....xxx", ".xxx.xxx", "x.xx.xxx"], "drop_fewest")[0] == ["b", "c"]


@given(arrays.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 7))))
def test_drop_fewest_keeps_at_least_as_much(present):
    models = [f"m{m}" for m in range(len(present))]
    items = [f"i{i}" for i in range(present.shape[1])]
    sizes = {}
    for choice in CHOICES:
        try:
            m, i, notes = keep_complete(present, models, items, choice)
        except BadRequest as refusal:
            sizes[choice] = 0 if choice in str(refusal) else -1
            continue
        assert present[np.ix_(m, i)].all()
        sizes[choice] = int(m.sum() * i.sum())
        assert sizes[choice] > 0
        assert sum(len(note.names) for note in notes) == (~m).sum() + (~i).sum()
        again = keep_complete(present, models, items, choice)
        assert (again[0] == m).all()
        assert (again[1] == i).all()
    # Each refusal named its choice.
    assert min(sizes.values()) >= 0
    assert sizes["drop_fewest"] >= max(sizes.values())
    if present.all():
        assert set(sizes.values()) == {present.size}
    # Nothing stays only where no model has any item.
    assert (sizes["drop_fewest"] == 0) == (not present.any())


@given(arrays.arrays(bool, (5, 6)), st.permutations(range(6)))
def test_drop_fewest_does_not_hang_on_the_order_of_items(present, order):
    if not present.any():
        return
    models, items = list("abcde"), list("012345")
    m, i, _ = keep_complete(present, models, items, "drop_fewest")
    shuffled = keep_complete(present[:, order], models, [items[o] for o in order], "drop_fewest")
    assert (shuffled[0] == m).all()
    assert (shuffled[1] == i[list(order)]).all()


TABLE = lines("model,item_id,task,score", "a,1,t,1", "a,2,t,0", "a,3,u,1", "b,1,t,0", "b,2,t,1",
              "c,1,t,1")  # fmt: skip


def test_a_file_with_gaps(tmp_path):
    path = put(tmp_path / "x.csv", TABLE)
    error = refuse(path, "2 of 3 models miss items", "'c' misses 2 of 3: '2', '3'",
                   *(f"{choice}" for choice in CHOICES), most=3)  # fmt: skip
    assert error.splitlines()[1:] == [
        "  c       2 missing: '2' and 1 more",
        "  b       1 missing: '3'",
    ]
    by_items = jaxbench.read(path, missing="drop_items")
    assert scores(by_items) == {"a": {"1": 1}, "b": {"1": 0}, "c": {"1": 1}}
    assert "note: missing=drop_items: 2 of 3 items left out: '2', '3'" in notes(by_items)
    assert "note: 1 tasks have no item left: 'u'" in notes(by_items)
    by_models = jaxbench.read(path, missing="drop_models")
    assert scores(by_models) == {"a": {"1": 1, "2": 0, "3": 1}}
    assert "note: missing=drop_models: 2 of 3 models left out: 'b', 'c'" in notes(by_models)
    fewest = jaxbench.read(path, missing="drop_fewest")
    assert scores(fewest) == {"a": {"1": 1, "2": 0}, "b": {"1": 0, "2": 1}}
    assert "1 of 3 models left out: 'c'" in notes(fewest)
    assert "1 of 3 items left out: '3'" in notes(fewest)


@pytest.mark.parametrize("choice", CHOICES)
def test_nothing_that_would_stay(choice, tmp_path):
    text = lines("model,item_id,score", "a,1,", "a,2,", "b,1,", "b,2,")
    refuse(put(tmp_path / "x.csv", text), "no row has a score", missing=choice)


@pytest.mark.parametrize("choice", CHOICES[:2])
def test_models_with_nothing_in_common(choice, tmp_path):
    path = put(tmp_path / "x.csv", lines("model,item_id,score", "a,1,1", "b,2,1"))
    refuse(path, f"missing={choice} would leave no", most=3, missing=choice)


def test_the_table_of_a_refusal_is_bounded(tmp_path):
    rows = [
        f"{m:02d} {'long name ' * 30},{'item ' * 50}{i},1"
        for m in range(40)
        for i in range(60)
        if i == 59 or i < 55 - m
    ]
    path = put(tmp_path / "x.csv", lines("model,item_id,score", *rows))
    error = refuse(path, "39 of 40 models miss items", "and 31 more models", most=10)
    # As much as the command line shows without a cut.
    assert len(error) - len(str(path)) < 1000
    # Those that miss most come first.
    assert error.splitlines()[1].startswith("  39 long")
    assert [int(line.split()[0]) for line in error.splitlines()[1:-1]] == [*range(39, 31, -1)]


def test_line_breaks_in_names_do_not_break_the_table(tmp_path):
    text = 'model,item_id,score\n"a\n\x1b[31m",1,1\nb,2,1\nc,1,1\nc,2,1\n'
    error = refuse(put(tmp_path / "x.csv", text), most=3)
    assert "\x1b" not in error
