"""Names replaced: nothing that is written holds a true one, and every number stays."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import jaxbench
from commands import answer, elsewhere
from jaxbench.benchmark import Benchmark, anonymous
from outcome_files import CSV, lines, put

MODELS = ("Secret Sauce 7B", "hush/hush-mini", "=whisper(1)", "zz [quiet]")
ITEMS = tuple(f"riddle-{n}" for n in range(12))
TASKS = ("left", "right")


def small(models=MODELS, items=ITEMS, provenance=()) -> Benchmark:
    rng = np.random.default_rng(7)
    return Benchmark.from_scores(
        rng.integers(0, 3, (len(models), len(items))) / 2,
        models=models,
        items=items,
        tasks=[TASKS[i % 2] for i in range(len(items))],
        categories=["kind" for _ in items],
        name="puzzle",
        provenance=provenance,
    )


def test_only_names_change():
    true = small()
    hidden = anonymous(true)
    assert sorted(hidden.models) == ["model 1", "model 2", "model 3", "model 4"]
    assert sorted(hidden.items) == [f"item {n:02d}" for n in range(1, 13)]
    # Places stay, so ties are decided as before.
    assert np.array_equal(hidden.counts, true.counts)
    assert np.array_equal(hidden.task_index, true.task_index)
    assert hidden.prompt_hashes == true.prompt_hashes
    assert (hidden.tasks, hidden.categories) == (true.tasks, true.categories)
    assert hidden.name == "puzzle"


def test_numbers_do_not_follow_the_alphabet_and_hang_on_the_outcomes():
    names = [f"m{n:02d}" for n in range(40)]
    hidden = anonymous(small(models=names))
    assert list(hidden.models) != sorted(hidden.models)
    other = small(models=names)
    other = Benchmark.from_scores(1 - other.scores, models=names, items=other.items,
                                  tasks=other.item_tasks)  # fmt: skip
    assert anonymous(other).models != hidden.models
    assert anonymous(small(models=names)).models == hidden.models


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]),
                min_size=1, max_size=8)  # fmt: skip


@given(st.sets(NAMES, min_size=2, max_size=6), st.data())
def test_sentences_that_name_somebody_go(names, data):
    models, items = sorted(names)[::2], [f"{name}?" for name in sorted(names)[1::2]]
    who = data.draw(st.sampled_from([*models, *items]))
    told = f"left out: {who!r}, and more"
    hidden = anonymous(small(models, items, ("read with care", told)))
    assert told not in hidden.provenance
    assert any("left out" in note for note in hidden.provenance)
    for name in (*hidden.models, *hidden.items):
        assert re.fullmatch(r"(model|item) \d+", name)


def test_numbers_in_sentences_are_no_names():
    said = ("each score is the mean of 3 runs", "1 of 3 items left out", "left out: '3'")
    hidden = anonymous(small(items=[str(n) for n in range(12)], provenance=said))
    assert hidden.provenance[:2] == said[:2]
    assert said[2] not in hidden.provenance


def test_a_file_of_one_model_bears_its_name(tmp_path):
    path = put(tmp_path / "hush-mini.csv", lines("item_id,score", "riddle,1", "other,0"))
    hidden = jaxbench.read(path, anonymise=True)
    spoken = repr((hidden.name, hidden.models, hidden.items, hidden.provenance))
    assert "hush" not in spoken
    assert "riddle" not in spoken


# A run


def table() -> str:
    rows = [
        f'"{model}",{item},{TASKS[i % 2]},{int((i * 5 + m * 3) % 7 > 2)}'
        for m, model in enumerate(MODELS)
        for i, item in enumerate(ITEMS)
    ]
    # One item that a model lacks: the note on what was left out would name it.
    extra = [f'"{model}",riddle-lost,left,1' for model in MODELS[:-1]]
    return lines("model,item_id,task,score", *rows, *extra)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run with true names and without, from a table and with the routers of hashes."""
    with elsewhere(tmp_path_factory.mktemp("runs")) as here:
        put(here / "x.csv", table())
        yield here


@pytest.mark.parametrize("routers", ["prng", "hash"])
def test_a_run_without_names(routers, runs, capsys):
    common = ("attack", "path=x.csv", "missing=drop_items", "trials=6", "budgets=[1,2,4]",
              "resamples=20", f"routers={routers}", "holdout_fraction=1/2")  # fmt: skip
    for out, more in (("true", ()), ("hidden", ("anonymise=true",))):
        found = answer(capsys, *common, *more, f"out={routers}-{out}")
        assert (found.status, found.err) == (0, "")
        if out == "hidden":
            assert not named(found.out)
    true, hidden = runs / f"{routers}-true", runs / f"{routers}-hidden"
    # The true run does hold names: the search below would find them.
    assert named(everything(true))
    assert named(everything(hidden)) == []
    assert "left" in everything(hidden)
    columns = ["no_attack_model", "selected_model", "endpoint_a", "endpoint_b"]
    one, other = (pq.read_table(f / "trials.parquet").to_pandas() for f in (true, hidden))
    pd.testing.assert_frame_equal(one.drop(columns=columns), other.drop(columns=columns))
    for column in columns:
        # One new name for each old one.
        pairs = set(zip(one[column], other[column], strict=True))
        assert len(pairs) == one[column].nunique(dropna=False)
    one, other = (pd.read_csv(f / "summary.csv") for f in (true, hidden))
    numbers = one.select_dtypes("number").columns
    pd.testing.assert_frame_equal(one[numbers], other[numbers])
    assert (true / "selection_loss.pdf").exists() == (hidden / "selection_loss.pdf").exists()


def test_the_configuration_of_a_run_without_names_repeats_it(runs):
    config = yaml.safe_load((runs / "prng-hidden/config.yaml").read_text())
    assert config["anonymise"] is True
    again = jaxbench.read(config["path"], missing=config["missing"], anonymise=True)
    record = json.loads((runs / "prng-hidden/run.json").read_text())
    assert record["benchmark"]["sha256"] == again.digest()


def everything(folder) -> str:
    """What a run wrote, as text: tables spelled out, figures as they are."""
    parts = []
    for file in sorted(folder.rglob("*")):
        if file.suffix == ".parquet":
            parts.append(pq.read_table(file).to_pandas().to_csv())
            parts.append(str(pq.read_schema(file).metadata))
        elif file.is_file():
            parts.append(file.read_bytes().decode("utf-8", errors="replace"))
    return "\n".join(parts)


def named(text: str) -> list[str]:
    return [name for name in (*MODELS, *ITEMS, "riddle-lost") if name in text]


def test_what_is_written_of_it_holds_no_name(tmp_path):
    benchmark = jaxbench.read(put(tmp_path / "mine.csv", CSV), anonymise=True)
    # Without hashes, item ids stand for the prompts while numbers are computed.
    assert "q1" in benchmark.prompt_hashes
    for form in ("native", "every_eval_ever"):
        folder = jaxbench.write(benchmark, tmp_path / form, format=form)
        again = jaxbench.read(folder)
        assert np.array_equal(np.sort(again.counts.sum(axis=1)), [1, 2])
        written = b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())
        assert not any(f"q{n}".encode() in written for n in (1, 2, 3))
        assert len(set(again.prompt_hashes)) == 3
