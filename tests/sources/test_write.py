"""What is written reads back equal, fits the schema, and is complete or absent."""

import hashlib
import importlib
import json
import os
import stat
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jaxbench
from commands import everything_below
from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest
from worlds import worlds

# The package's `write` is the function.
writing = importlib.import_module("jaxbench.sources.write")

FORMATS = ("native", "every_eval_ever")
# Names that files, JSON or paths could trip over.
ODD = ("org/model", "../../up", "/", ".hidden", "a" * 200, "名前", 'q"uo\'te', "back\\slash", "a ",
       "e\u0301", "line\u2028end", "CON", "C:\\x", "a,b=c", "0", "1.0", "nan", "None", "tab\there",
       "org/model/", "Org/Model", "\U0001f600")  # fmt: skip

names = st.one_of(
    st.sampled_from(ODD),
    st.text(
        st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=12
    ).filter(str.strip),
)


@st.composite
def outcomes(draw) -> dict:
    """Worlds under odd names, and now and then with scores of no small denominator."""
    world = draw(worlds(tasks=2, most_models=4))
    scores = np.array(world.successes) / world.repeats
    if draw(st.booleans()):
        grid = st.floats(0, 1, allow_subnormal=False)
        shape = scores.shape
        size = scores.size
        scores = np.array(draw(st.lists(grid, min_size=size, max_size=size))).reshape(shape)
    models = draw(_distinct(len(world.models)))
    items = draw(_distinct(len(world.items)))
    tasks = dict(zip(dict.fromkeys(world.tasks), draw(_distinct(2)), strict=True))
    group = draw(names)
    return {
        "scores": scores,
        "models": models,
        "items": items,
        "tasks": [tasks[t] for t in world.tasks],
        "prompt_hashes": world.prompts,
        "categories": world.categories and [f"{group}{c}" for c in world.categories],
        "subtasks": world.subtasks,
        "chances": world.chances,
    }


def _distinct(count: int):
    return st.lists(names, min_size=count, max_size=count, unique=True)


@given(whole=outcomes())
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("format", FORMATS)
def test_round_trip(format, tmp_path_factory, whole):
    benchmark = Benchmark.from_scores(**whole)
    folder = tmp_path_factory.mktemp("round")
    written = writing.write(benchmark, folder / "out", format)
    back = jaxbench.read(written)
    assert back.models == benchmark.models
    assert back.denominator == benchmark.denominator
    assert np.array_equal(back.counts, benchmark.counts)
    assert back.digest() == benchmark.digest()
    # Names lead nowhere else.
    assert [p.name for p in folder.iterdir()] == ["out"]


def made(models=("a", "b"), **options) -> Benchmark:
    scores = np.arange(3 * len(models)).reshape(len(models), 3) % 3 / 2
    given = {"items": ["i", "j", "k"], "tasks": ["t", "t", "u"], **options}
    return Benchmark.from_scores(scores, models=models, **given)


@pytest.mark.parametrize("format", FORMATS)
def test_one_model_one_item_and_duplicate_prompts(format, tmp_path):
    one = Benchmark.from_scores(np.array([[1 / 3]]), models=["m"], items=["i"], tasks=["t"])
    shared = made(prompt_hashes=["p", "p", "q"], chances=[Fraction(1, 3)] * 3, subtasks=["s"] * 3)
    for number, benchmark in enumerate((one, shared)):
        back = jaxbench.read(writing.write(benchmark, tmp_path / str(number), format))
        assert back.digest() == benchmark.digest()


@pytest.mark.parametrize("format", FORMATS)
def test_a_denominator_larger_than_needed_stays(format, tmp_path):
    benchmark = made(denominator=10)
    assert benchmark.denominator == 10
    assert jaxbench.read(writing.write(benchmark, tmp_path / "x", format)).denominator == 10


@pytest.mark.parametrize("format", FORMATS)
def test_the_grid_of_a_millionth(format, tmp_path):
    scores = np.random.default_rng(0).random((2, 5))
    items = [f"item {i}" for i in range(5)]
    benchmark = Benchmark.from_scores(scores, models=["a", "b"], items=items, tasks=["t"] * 5)
    assert benchmark.denominator == 10**6
    back = jaxbench.read(writing.write(benchmark, tmp_path / "x", format))
    assert back.digest() == benchmark.digest()


@pytest.mark.parametrize("format", FORMATS)
def test_a_real_benchmark(format, tmp_path, shared):
    benchmark = jaxbench.read(shared / "data" / "terminal_bench_2")
    back = jaxbench.read(writing.write(benchmark, tmp_path / "x", format))
    assert len(back.models) == 83
    assert back.digest() == benchmark.digest()


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.js*")}


def test_the_same_outcomes_make_the_same_files(tmp_path):
    first, second = (
        contents(writing.write(made(), tmp_path / name, "every_eval_ever")) for name in "xy"
    )
    assert first == second
    assert len(first) == 4
    other = contents(writing.write(made(("a", "c")), tmp_path / "z", "every_eval_ever"))
    assert not first.keys() & other.keys()


def test_unsafe_names_stay_inside_and_apart(tmp_path):
    models = ("../../up", "..", "/etc/x", ".hidden", "a/b", "a_b", "A/b", "x" * 300)
    benchmark = made(models)
    folder = writing.write(benchmark, tmp_path / "home" / "x", "every_eval_ever")
    assert [p.name for p in tmp_path.iterdir()] == ["home"]
    assert [p.name for p in (tmp_path / "home").iterdir()] == ["x"]
    parts = {part for path in contents(folder) for part in Path(path).parts}
    assert not {p for p in parts if p.startswith(".") or len(p) > 100}
    assert len(contents(folder)) == 2 * len(models)
    assert jaxbench.read(folder).models == benchmark.models


def test_written_samples_fit_the_schema(tmp_path, shared):
    file = shared / "formats" / "every_eval_ever" / "instance_level_eval.schema.json"
    schema = jsonschema.Draft7Validator(json.loads(file.read_text()))
    benchmark = made(("org/a", "b"), categories=["c"] * 3, chances=["1/4"] * 3, subtasks=["s"] * 3)
    folder = writing.write(benchmark, tmp_path / "x", "every_eval_ever")
    samples = sorted(folder.rglob("*_samples.jsonl"))
    rows = [json.loads(line) for path in samples for line in path.read_text().splitlines()]
    assert len(rows) == 6
    for row in rows:
        schema.validate(row)
    # The validator can say no.
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(rows[0] | {"metadata": {"chance": 0.25}})


def test_the_checksum_and_the_means(tmp_path):
    folder = writing.write(made(), tmp_path / "x", "every_eval_ever")
    for path in folder.rglob("*.json"):
        content = json.loads(path.read_text())
        details = content["detailed_evaluation_results"]
        samples = folder / details["file_path"]
        assert hashlib.sha256(samples.read_bytes()).hexdigest() == details["checksum"]
        assert details["total_rows"] == len(samples.read_text().splitlines()) == 3
        means = {r["evaluation_name"]: r["score_details"]["score"]
                 for r in content["evaluation_results"]}  # fmt: skip
        assert means == {"t": 0.25, "u": 1.0}


# Complete or absent


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_half_a_benchmark_never_stays(format, there, error, tmp_path, monkeypatch):
    target = tmp_path / "new" / "x"
    if there:
        target.mkdir(parents=True)
    before = everything_below(tmp_path)
    calls = []

    def fails(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise error
        return original(*arguments, **options)

    # The second table, the second model.
    owner, name = (writing.pq, "write_table") if format == "native" else (writing, "_aggregate")
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, fails)
    kind = BadRequest if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(kind, match="no space" if kind is BadRequest else None):
        writing.write(made(), target, format)
    assert len(calls) == 2
    assert everything_below(tmp_path) == before


def test_what_is_there_is_not_written_over(tmp_path, monkeypatch):
    folder = writing.write(made(), tmp_path / "x")
    before = everything_below(tmp_path)
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)
    for target, word in ((folder, "is there already"), (tmp_path / "link", "is there already"),
                         (tmp_path / "file", "is there already"), (".", "current folder"),
                         (tmp_path / "file" / "y", "not a directory")):  # fmt: skip
        with pytest.raises(BadRequest, match=word):
            writing.write(made(), target)
    assert everything_below(tmp_path) == before | {"link", "file"}


def test_an_empty_folder_is_taken_and_parents_are_made(tmp_path):
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        writing.write(made(), target)
        assert {p.name for p in target.iterdir()} == {"items.parquet", "scores.parquet"}
    usual = tmp_path / "usual"
    usual.mkdir()
    assert stat.S_IMODE((tmp_path / "empty").stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(BadRequest, match="permission denied"):
        writing.write(made(), tmp_path / "x")


@pytest.mark.parametrize("format", FORMATS)
def test_half_a_character(format, tmp_path):
    with pytest.raises(BadRequest, match="cannot be written as UTF-8"):
        writing.write(made(("a", "b\ud800")), tmp_path / "x", format)
    assert everything_below(tmp_path) == set()


def test_another_format(tmp_path):
    with pytest.raises(BadRequest, match="unknown format 'csv'"):
        writing.write(made(), tmp_path / "x", "csv")
