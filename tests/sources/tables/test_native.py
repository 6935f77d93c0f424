"""The reader of the native pair: what comes back is what was written."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jaxbench
from pairs import ITEMS, MODELS, item_frame, score_frame, write_pair


def matrix(frame: pd.DataFrame) -> np.ndarray:
    """The scores of a long table, models and items in name order."""
    return frame.pivot(index="model", columns="item_id", values="score").to_numpy()


def test_round_trip(tmp_path):
    benchmark = jaxbench.read(write_pair(tmp_path / "mine"))
    assert benchmark.name == "mine"
    assert benchmark.models == MODELS
    assert benchmark.items == ITEMS
    assert benchmark.tasks == ("left", "right")
    assert benchmark.task_index.tolist() == [0] * 6 + [1] * 6
    assert benchmark.prompt_hashes == tuple(item_frame()["prompt_sha256"])
    assert benchmark.categories is None
    assert benchmark.denominator == 2
    assert np.array_equal(benchmark.scores, matrix(score_frame()))


def test_path_may_be_text_and_end_in_a_slash(tmp_path):
    folder = write_pair(tmp_path / "mine")
    assert jaxbench.read(f"{folder}/").name == "mine"
    assert jaxbench.read(str(folder)).digest() == jaxbench.read(folder).digest()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_row_order_means_nothing(seed, tmp_path):
    def shuffled(frame):
        return frame.sample(frac=1, random_state=seed)

    first = jaxbench.read(write_pair(tmp_path / "first"))
    other = jaxbench.read(
        write_pair(tmp_path / "other", shuffled(item_frame()), shuffled(score_frame()))
    )
    assert other.digest() == first.digest()
    assert np.array_equal(other.counts, first.counts)


def test_items_stand_in_order_of_task_then_name(tmp_path):
    items = item_frame()
    items["task"] = ["right", "left"] * 6
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", items))
    assert benchmark.items == ITEMS[1::2] + ITEMS[::2]
    columns = [ITEMS.index(item) for item in benchmark.items]
    assert np.array_equal(benchmark.scores, matrix(score_frame())[:, columns])


def test_other_columns_and_a_pandas_index_are_ignored(tmp_path):
    folder = tmp_path / "mine"
    plain = jaxbench.read(write_pair(tmp_path / "plain"))
    folder.mkdir()
    items = item_frame().assign(difficulty=1.5, notes="none").sample(frac=1, random_state=3)
    scores = score_frame().assign(latency=[{"p50": 1.0}] * 36, when=pd.Timestamp("2026-01-01"))
    items.to_parquet(folder / "items.parquet")
    scores.set_index(scores.index * 10).to_parquet(folder / "scores.parquet")
    assert jaxbench.read(folder).digest() == plain.digest()


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint16()], ids=str)
def test_dictionary_columns(index, tmp_path):
    def encoded(frame):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        for place, name in enumerate(table.column_names):
            if name != "score":
                kind = pa.dictionary(index, table[name].type)
                table = table.set_column(place, name, table[name].cast(kind))
        return table

    plain = jaxbench.read(write_pair(tmp_path / "plain"))
    folder = write_pair(tmp_path / "mine", encoded(item_frame()), encoded(score_frame()))
    assert pa.types.is_dictionary(pq.read_schema(folder / "items.parquet").field("task").type)
    assert jaxbench.read(folder).digest() == plain.digest()


def test_categorical_columns_of_pandas_with_unused_categories(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    items, scores = item_frame(), score_frame()
    items["task"] = pd.Categorical(items["task"], categories=["right", "never", "left"])
    scores["model"] = pd.Categorical(scores["model"], categories=[*MODELS[::-1], "nobody"])
    items.to_parquet(folder / "items.parquet")
    scores.to_parquet(folder / "scores.parquet")
    benchmark = jaxbench.read(folder)
    assert (benchmark.models, benchmark.tasks) == (MODELS, ("left", "right"))
    assert benchmark.digest() == jaxbench.read(write_pair(tmp_path / "plain")).digest()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_kinds_of_text(kind, tmp_path):
    schema = pa.schema([(name, kind) for name in item_frame().columns])
    items = pa.Table.from_pandas(item_frame(), schema=schema, preserve_index=False)
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", items))
    assert benchmark.digest() == jaxbench.read(write_pair(tmp_path / "plain")).digest()


def test_numbers_as_names_are_read_as_text(tmp_path):
    items, scores = item_frame(), score_frame()
    items["item_id"] = range(12)
    items["task"] = [7] * 6 + [11] * 6
    scores["item_id"] = list(range(12)) * 3
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", items, scores))
    # Text order, as everywhere: "11" before "7", "10" before "6".
    assert benchmark.tasks == ("11", "7")
    assert benchmark.items[:6] == ("10", "11", "6", "7", "8", "9")


def test_names_are_kept_as_they_are(tmp_path):
    names = {"model a": "Opus 5.5 / Claude Code", "model b": " ä ", "model c": "models=x,y"}
    scores = score_frame()
    scores["model"] = scores["model"].map(names)
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", scores=scores))
    assert benchmark.models == tuple(sorted(names.values()))


# Numbers


def scores_as(values, kind) -> pa.Table:
    frame = score_frame()
    return pa.table(
        {
            "model": frame["model"].tolist(),
            "item_id": frame["item_id"].tolist(),
            "score": pa.array(values, type=kind),
        }
    )


@pytest.mark.parametrize(
    ("kind", "denominator"),
    [(np.float64, 3), (np.float32, 3), (np.float64, 7), (np.float32, 7), (np.float16, 4)],
)
def test_fractions_are_found_again(kind, denominator, tmp_path):
    counts = np.arange(36) * 3 % (denominator + 1)
    values = (counts / denominator).astype(kind)
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", scores=scores_as(values, None)))
    assert benchmark.denominator == denominator
    assert np.array_equal(benchmark.counts.ravel(), counts)
    assert f"multiples of 1/{denominator}" in " ".join(benchmark.provenance)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.uint64(), pa.float32()], ids=str)
def test_right_and_wrong_in_any_type(kind, tmp_path):
    values = [bool(number % 3) for number in range(36)]
    plain = [int(value) for value in values] if kind != pa.bool_() else values
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", scores=scores_as(plain, kind)))
    assert benchmark.denominator == 1
    assert benchmark.counts.ravel().tolist() == [int(value) for value in values]


def test_scores_without_a_common_denominator_are_put_on_a_grid(tmp_path):
    values = np.random.default_rng(5).random(36)
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", scores=scores_as(values, None)))
    assert benchmark.denominator == 10**6
    assert np.abs(benchmark.scores.ravel() - values).max() <= 0.5e-6 + 1e-12
    assert "grid of 1e-6" in " ".join(benchmark.provenance)


# Columns that may be missing


def test_categories(tmp_path):
    items = item_frame()
    items["category"] = ["odd", "even"] * 6
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", items.sample(frac=1, random_state=1)))
    assert benchmark.categories == ("odd", "even") * 6
    assert benchmark.digest() != jaxbench.read(write_pair(tmp_path / "plain")).digest()


def test_without_prompt_hashes_every_item_is_its_own_prompt(tmp_path):
    items = item_frame().drop(columns="prompt_sha256")
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", items))
    assert benchmark.prompt_hashes == ITEMS
    assert any("no prompt_sha256" in note for note in benchmark.provenance)
    with_hashes = jaxbench.read(write_pair(tmp_path / "with"))
    assert not any("no prompt_sha256" in note for note in with_hashes.provenance)


def test_equal_prompts_within_a_task_are_kept(tmp_path):
    items = item_frame()
    items["prompt_sha256"] = [f"prompt {number // 2}" for number in range(12)]
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", items))
    assert benchmark.prompt_hashes == tuple(items["prompt_sha256"])


@pytest.mark.parametrize(
    ("repeats", "note"), [([3] * 36, "mean of 3 runs"), ([1] + [5] * 35, "mean of 1 to 5 runs")]
)
@pytest.mark.parametrize("kind", [pa.int8(), pa.float64()], ids=str)
def test_repeats_are_told(repeats, note, kind, tmp_path):
    scores = pa.Table.from_pandas(score_frame(), preserve_index=False)
    scores = scores.append_column("repeats", pa.array(repeats, type=kind))
    benchmark = jaxbench.read(write_pair(tmp_path / "mine", scores=scores))
    assert any(note in line for line in benchmark.provenance)
    assert benchmark.digest() == jaxbench.read(write_pair(tmp_path / "plain")).digest()


def test_bundled_benchmark_is_a_native_pair(root):
    folder = root / "jaxbench/sources/snapshots/terminal_science"
    read, bundled = jaxbench.read(folder), jaxbench.load("terminal_science")
    assert read.digest() == bundled.digest()
    assert (read.name, read.denominator) == ("terminal_science", 3)
    # The protocol is the card's, and a folder of one's own has no card.
    assert read.protocol != bundled.protocol
    assert bundled.protocol.routing_seed == "science-bank0-20260923"
