"""From rows to a benchmark: repeats, several files, ids over tasks."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.options import ReadOptions
from jaxbench.sources.assembly.assemble import assemble
from jaxbench.sources.outcomes import Outcomes
from outcome_files import CSV, lines, notes, put, refuse, scores
from pairs import score_frame, write_pair

UNMARKED = "rows of one model and item count as repeats"


# Repeats


def test_repeats_with_a_column_that_tells_them_apart(tmp_path):
    # Not as many for every item.
    text = lines("model,item_id,{},score", "a,1,1,1", "a,1,2,0", "a,1,3,0", "a,2,1,1")
    for name in ("epoch", "attempt", "seed", "run_id"):
        benchmark = jaxbench.read(put(tmp_path / "x.csv", text.format(name)))
        assert benchmark.counts.tolist() == [[1, 3]]
        assert benchmark.denominator == 3
        assert "each score is the mean of 1 to 3 runs" in notes(benchmark)
        assert UNMARKED not in notes(benchmark)
    path = put(tmp_path / "x.csv", text.format("which"))
    refuse(path, "model 'a' has 3 scores for item '1'", "columns={epoch:NAME}")
    assert jaxbench.read(path, columns={"epoch": "which"}).counts.tolist() == [[1, 3]]


def test_an_epoch_that_stands_twice(tmp_path):
    text = lines("model,item_id,epoch,score", "a,1,1,1", "a,1,1,0", "a,2,1,1", "a,2,1,1")
    refuse(put(tmp_path / "x.csv", text), "2 scores for item '1' in epoch 1")


def test_as_many_rows_for_all_without_a_column(tmp_path):
    text = lines("model,item_id,score", "a,1,1", "a,1,0", "a,2,1", "a,2,1", "b,1,0", "b,1,0",
                 "b,2,0", "b,2,1")  # fmt: skip
    path = put(tmp_path / "x.csv", text)
    benchmark = jaxbench.read(path)
    assert benchmark.scores.tolist() == [[0.5, 1], [0, 0.5]]
    # Said aloud: it might be something else.
    assert f"note: each score is the mean of 2 runs: {UNMARKED}" in notes(benchmark)
    refuse(put(path, text + "b,2,1\n"), "'a' has 2 scores for item '1'")
    refuse(put(path, text.replace("b,2,1\n", "")), "'a' has 2 scores for item '1'")


def test_means_that_say_of_how_many(tmp_path):
    text = lines("model,item_id,epoch,score,repeats", "a,1,1,0.5,2", "a,1,2,0,4", "a,2,1,1,1",
                 "a,2,2,0.25,4")  # fmt: skip
    benchmark = jaxbench.read(put(tmp_path / "x.csv", text))
    # (0.5 x 2 + 0 x 4) / 6 and (1 + 0.25 x 4) / 5.
    assert benchmark.scores[0].tolist() == pytest.approx([1 / 6, 2 / 5])
    assert "mean of 5 to 6 runs" in notes(benchmark)


@pytest.mark.parametrize("value", ["0", "", "-1", "1.5", "many", "nan", "inf"])
@pytest.mark.parametrize("name", ["repeats", "n_runs"])
def test_repeats_that_are_no_number_of_runs(value, name, tmp_path):
    text = lines(f"model,item_id,score,{name}", "a,1,1,2", f"a,2,1,{value}")
    refuse(put(tmp_path / "x.csv", text), "row 2", name, f"'{value}'", "whole number")


def test_repeats_of_numbers_and_none(tmp_path):
    frame = pd.DataFrame({"model": "a", "item_id": [1, 2], "score": 1.0, "repeats": [2.0, None]})
    refuse(put(tmp_path / "x.parquet", frame), "row 2", "repeats", "whole number")


@given(st.data())
def test_a_mean_is_the_mean_of_its_repeats(data):
    cells = data.draw(
        st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), min_size=4, max_size=4)
    )
    rows = [
        (f"m{c // 2}", f"i{c % 2}", "t", str(e), float(score))
        for c, runs in enumerate(cells)
        for e, score in enumerate(runs)
    ]
    rows = data.draw(st.permutations(rows))
    frame = pd.DataFrame(rows, columns=["model", "item_id", "task", "epoch", "score"])
    benchmark = assemble(Outcomes(frame), ReadOptions(), name="x", source="x")
    expected = [sum(runs) / len(runs) for runs in cells]
    assert benchmark.scores.ravel().tolist() == pytest.approx(expected, abs=1e-12)


# Several files


def test_two_files_of_one_model(tmp_path):
    for name in ("first.csv", "second.csv"):
        put(tmp_path / "d" / name, CSV)
    refuse(tmp_path / "d", "'a' has 2 scores for item 'q1'", "'first.csv', 'second.csv'",
           "column task")  # fmt: skip
    for name in ("1/x.csv", "2/x.csv"):
        put(tmp_path / "e" / name, CSV)
    refuse(tmp_path / "e", "'1/x.csv', '2/x.csv'")
    for epoch in "12":
        text = CSV.replace("score", "score,epoch").replace("1\n", f"1,{epoch}\n")
        put(tmp_path / "f" / f"{epoch}.csv", text.replace("0\n", f"0,{epoch}\n"))
    assert scores(jaxbench.read(tmp_path / "f")) == scores(jaxbench.read(tmp_path / "d/first.csv"))


def test_files_of_several_tasks(tmp_path):
    put(tmp_path / "d/math.csv", lines("model,item_id,task,score", "a,1,math,1", "b,1,math,0"))
    put(tmp_path / "d/code.csv", lines("model,item_id,task,score", "a,1,code,0", "b,1,code,1"))
    benchmark = jaxbench.read(tmp_path / "d")
    assert scores(benchmark) == {
        "a": {"code/1": 0, "math/1": 1}, "b": {"code/1": 1, "math/1": 0},
    }  # fmt: skip
    assert "items are named TASK/ID" in notes(benchmark)


def test_order_of_rows_and_files_means_nothing(tmp_path):
    whole = jaxbench.read(put(tmp_path / "x.csv", CSV))
    header, *rows = CSV.split()
    put(tmp_path / "d/1.csv", lines(header, *rows[::-2]))
    put(tmp_path / "d/2.csv", lines(header, *rows[-2::-2]))
    assert jaxbench.read(tmp_path / "d").digest() == whole.digest()


# The native pair, which is read by the same rules


def test_options_that_a_native_pair_has_no_use_for(tmp_path):
    folder = write_pair(tmp_path / "d")
    refuse(folder, "columns={score:...}", columns={"score": "model"})
    refuse(folder, "no column 'metric'", starts=folder / "scores.parquet", score="acc")
    same = jaxbench.read(folder, columns={"score": "score"})
    assert same.digest() == jaxbench.read(folder).digest()


def test_metrics_of_a_native_pair(tmp_path):
    good = score_frame().assign(metric="acc")
    other = score_frame().assign(metric="f1", score=0.25)
    folder = write_pair(tmp_path / "d", scores=pd.concat([good, other]))
    refuse(folder, "differ in 'metric'", "score=acc")
    plain = jaxbench.read(write_pair(tmp_path / "plain"))
    assert jaxbench.read(folder, score="acc").digest() == plain.digest()
    assert set(jaxbench.read(folder, score="f1").scores.ravel()) == {0.25}


def test_a_benchmark_is_what_comes_out(tmp_path):
    assert isinstance(jaxbench.read(put(tmp_path / "x.csv", CSV)), Benchmark)
