"""Studies: what a YAML file means, what may be put in its place, and what is refused."""

import os
import subprocess
import sys

import pytest
import yaml

from jaxbench.errors import BadRequest
from jaxbench.options.study import read_study, study_directory, study_names

SMALL = {
    "options": {"benchmark": "terminal_science", "trials": 8},
    "vary": {"endpoints": ["top5", "full_frontier"], "seed": [0, 1]},
    "conditions": [{"interface": "task"}, {"interface": "aggregate"}],
    "sizes": {"smoke": {}, "full": {"options": {"trials": 80}}},
}


def hand():
    return ["here", "there"]


@pytest.fixture
def read(tmp_path):
    """Read a study of these parts, with these options in place of its own."""

    def reading(parts=None, size="smoke", **overrides):
        path = tmp_path / "mine.yaml"
        path.write_text(parts if isinstance(parts, str) else yaml.safe_dump(SMALL | (parts or {})))
        return read_study(str(path), size, overrides, hand)

    return reading


@pytest.fixture
def refuse(read):
    def check(parts, *words, size="smoke", **overrides):
        with pytest.raises(BadRequest) as refusal:
            read(parts, size, **overrides)
        message = str(refusal.value)
        assert len(message.splitlines()) == 1
        for word in words:
            assert word in message, (word, message)

    return check


def column(study, name):
    return [condition.get(name) for condition in study.conditions]


@pytest.mark.parametrize("name", study_names())
def test_every_study_at_every_size(name):
    source = yaml.safe_load((study_directory() / f"{name}.yaml").read_text(encoding="utf-8"))
    assert "smoke" in source["sizes"]
    assert "full" in source["sizes"]
    for size in source["sizes"]:
        study = read_study(name, size, {}, lambda: ["terminal_science"])
        assert study.name == name
        assert study.summary
        assert study.figures
        assert len(study.conditions) > 1
        assert len({repr(condition) for condition in study.conditions}) == len(study.conditions)


def test_a_grid_is_every_combination(read):
    study = read()
    assert len(study.conditions) == 8
    assert study.varied == ("endpoints", "seed", "interface")
    assert {(c["endpoints"], c["seed"], c["interface"]) for c in study.conditions} == {
        (e, s, i) for e in ("top5", "full_frontier") for s in (0, 1) for i in ("task", "aggregate")
    }
    assert column(study, "trials") == [8] * 8
    assert column(read(size="full"), "trials") == [80] * 8


def test_a_count_stands_for_numbers(read):
    assert column(read({"vary": {"seed": {"count": 3}}, "conditions": None}), "seed") == [0, 1, 2]


def test_a_size_changes_what_it_names(read):
    sizes = {"smoke": {"vary": {"seed": [7]}, "conditions": [{"banks": 2}]}}
    study = read({"sizes": sizes})
    assert len(study.conditions) == 2
    assert set(column(study, "seed")) == {7}
    assert study.varied == ("endpoints", "seed")


def test_benchmarks_at_hand(read):
    for parts in (
        {"options": {"benchmark": "at_hand"}},
        {"options": {}, "vary": {"benchmark": "at_hand"}},
        {"options": {}, "vary": {"benchmark": ["at_hand"]}},
    ):
        study = read(parts | {"conditions": None})
        assert set(column(study, "benchmark")) == {"here", "there"}
        assert "benchmark" in study.varied
    assert set(column(read(benchmark="at_hand"), "benchmark")) == {"here", "there"}


def test_no_benchmark_at_hand_is_an_empty_grid(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(SMALL | {"options": {"benchmark": "at_hand"}}))
    with pytest.raises(BadRequest, match="the grid is empty"):
        read_study(str(path), "smoke", {}, list)


# Worlds

WORLD = {"options": {"world": {"items": 60, "tasks": 4}}, "conditions": None}


def worlds(study):
    return [condition["world"] for condition in study.conditions]


def test_parameters_of_a_world_vary(read):
    study = read(WORLD | {"vary": {"world.seed": [0, 1], "world.tasks": [2, 3]}})
    assert worlds(study) == [
        {"items": 60, "tasks": t, "seed": s} for s in (0, 1) for t in (2, 3)
    ]  # fmt: skip


def test_a_whole_world_gives_way_to_its_parameters(read):
    # Whichever stands first in the file, and wherever.
    listed = [{"world": {"tasks": 1}}, {"world": {"tasks": 2}}]
    study = read({"options": {}, "vary": {"world.seed": [0, 1]}, "conditions": listed})
    assert worlds(study) == [{"tasks": t, "seed": s} for s in (0, 1) for t in (1, 2)]
    study = read({"options": {"world.items": 80}, "vary": {}, "conditions": listed})
    assert worlds(study) == [{"tasks": t, "items": 80} for t in (1, 2)]
    vary = {"world.seed": [0, 1], "world": [{"tasks": 1}, {"tasks": 2}]}
    study = read({"options": {}, "vary": vary, "conditions": None})
    assert worlds(study) == [{"tasks": t, "seed": s} for t in (1, 2) for s in (0, 1)]


def test_a_benchmark_takes_the_place_of_worlds(read):
    vary = {"world.seed": [0, 1], "interface": ["task", "aggregate"]}
    for parts in (
        WORLD | {"vary": vary},
        {"options": {}, "vary": vary, "conditions": [{"world": {"tasks": 1}}, {"seed": 3}]},
    ):
        for given in ({"benchmark": "x"}, {"path": "x"}):
            study = read(parts, **given)
            (name,) = given
            assert set(column(study, name)) == {"x"}
            assert set(column(study, "world")) == {None}
            assert "world.seed" not in study.varied
    # What told conditions apart has gone, and with it all but one.
    assert len(read(WORLD | {"vary": vary}, benchmark="x").conditions) == 2


def test_a_world_takes_the_place_of_benchmarks(read):
    for parts in ({}, {"options": {}, "vary": {"benchmark": ["a", "b"]}}):
        study = read(parts, world={"items": 40})
        assert worlds(study) == [{"items": 40}] * len(study.conditions)
        assert set(column(study, "benchmark")) == {None}


def test_a_world_takes_the_place_of_what_it_names(read):
    parts = WORLD | {"vary": {"world.seed": [0, 1], "world.items": [60, 240]}}
    study = read(parts, world={"items": 40})
    assert worlds(study) == [{"items": 40, "seed": 0}, {"items": 40, "seed": 1}]


def test_what_gives_way_is_said(read):
    vary = {"world.seed": [0, 1], "interface": ["task", "aggregate"]}
    study = read(WORLD | {"vary": vary}, benchmark="x")
    assert study.notes == (
        "note: world.seed of the study gave way to benchmark=x; 2 conditions left",
    )
    listed = [{"benchmark": "a"}, {"world": {"tasks": 1}}]
    study = read({"options": {}, "conditions": listed}, path="x")
    assert study.notes == (
        "note: benchmark, world of the study gave way to path=x; 4 conditions left",
    )
    study = read({"options": {}, "vary": vary | {"benchmark": ["a", "b"]}}, world={"items": 40})
    assert study.notes == (
        "note: benchmark of the study gave way to world={items:40}; 4 conditions left",
    )
    # A value in place of another one, and a source that was the same throughout, are no surprise.
    assert read({}, benchmark="x").notes == ()
    assert read({"options": {}, "vary": {"benchmark": ["a", "b"]}}, benchmark="x").notes == ()
    assert read(WORLD | {"vary": {"seed": [0, 1]}}, benchmark="x").notes == ()
    assert read(WORLD | {"vary": vary}).notes == ()


def test_a_study_of_worlds_alone_says_what_a_benchmark_leaves_of_it(read):
    parts = WORLD | {"vary": {"world.seed": [0, 1], "world.items": [60, 240]}}
    (note,) = read(parts, benchmark="x").notes
    assert note.endswith(
        "world.items, world.seed of the study gave way to benchmark=x; 1 condition left"
    )
    (note,) = read(parts, benchmark=["a", "b"]).notes
    assert note.endswith("benchmark=[a,b]; 2 conditions left")


def test_conditions_are_crossed_with_sources(read):
    sources = [{"benchmark": "at_hand"}, {"world": {"items": 60}}]
    listed = [{"interface": "task"}, {"mechanism": "ladder:0.1", "on": "gate"}]
    parts = {"options": {}, "vary": {}, "conditions": listed, "sources": sources}
    study = read(parts)
    assert len(study.conditions) == 6
    assert column(study, "benchmark") == ["here", "here", "there", "there", None, None]
    assert column(study, "on") == [None, "gate"] * 3
    assert set(study.varied) == {"benchmark", "world", "interface", "mechanism", "on"}
    assert column(read(parts, benchmark="x"), "benchmark") == ["x", "x"]
    smaller = {"sizes": {"smoke": {"sources": [{"benchmark": "a"}]}}}
    assert column(read(parts | smaller), "benchmark") == ["a", "a"]


# Other options in place of the study's


def test_overrides(read):
    assert column(read(trials=5), "trials") == [5] * 8
    study = read(seed=4)
    assert set(column(study, "seed")) == {4}
    assert len(study.conditions) == 4
    assert set(column(read(seed=[4, 5]), "seed")) == {4, 5}
    study = read(trials=[5, 6])
    assert len(study.conditions) == 16
    assert "trials" in study.varied
    # In place of what a listed condition says; the two conditions are one then.
    study = read(interface="task")
    assert len(study.conditions) == 4
    assert set(column(study, "interface")) == {"task"}
    assert read(seed=None) == read()


def test_a_list_of_budgets_is_one_value(read):
    assert set(map(tuple, column(read(budgets=[1, 2]), "budgets"))) == {(1, 2)}
    study = read(budgets=[[1, 2], [4]])
    assert set(map(tuple, column(study, "budgets"))) == {(1, 2), (4,)}
    assert "budgets" in study.varied
    varied = {"vary": {"budgets": [[1], [2]]}}
    for given, found in (([1, 2], {(1, 2)}), ([[1, 2], [4]], {(1, 2), (4,)})):
        assert set(map(tuple, column(read(varied, budgets=given), "budgets"))) == found
    assert set(column(read(varied, budgets=8), "budgets")) == {8}
    assert column(read(varied, budgets=[]), "budgets") == [[], []]


# Refusals


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"option": {}}, ["unknown key", "'option'", "did you mean options?"]),
        ({True: 1}, ["unknown key", "'True'"]),
        ({"options": {"trails": 3}}, ["unknown option 'trails'", "trials"]),
        ({"vary": {"endpoint": ["top5"]}}, ["unknown option 'endpoint'", "endpoints"]),
        ({"conditions": [{"mechanim": 1}]}, ["unknown option 'mechanim'"]),
        ({"vary": {"world.leadergap": [1]}}, ["parameter of a world", "leader_gap"]),
        ({"options": {"world.itms": 1}}, ["parameter of a world", "items"]),
        ({"vary": {"worlds": [1]}}, ["unknown option 'worlds'"]),
        ({"vary": {"seed": []}}, ["vary.seed is []", "at least one value"]),
        ({"vary": {"seed": 3}}, ["vary.seed is 3", "expected a list"]),
        ({"vary": {"seed": None}}, ["vary.seed is None", "expected a list"]),
        ({"vary": {"seed": [1, 2, 1]}}, ["vary.seed has 1 twice"]),
        ({"vary": {"seed": {"count": 0}}}, ["vary.seed.count=0"]),
        ({"vary": {"seed": {"count": 10**12}}}, ["vary.seed.count", "1,000,000"]),
        ({"vary": {"seed": {"counts": 3}}}, ["vary.seed is", "expected a list"]),
        ({"vary": [1]}, ["vary is [1]", "expected a mapping"]),
        ({"conditions": []}, ["conditions is []", "at least one"]),
        ({"conditions": {"seed": 1}}, ["conditions is", "expected a list"]),
        ({"conditions": ["task"]}, ["conditions is task", "expected a mapping"]),
        ({"options": "trials"}, ["options is trials", "expected a mapping"]),
        ({"impossible": "skp"}, ["impossible", "'skp'", "skip"]),
        ({"sizes": {"smoke": {"option": {}}}}, ["key of sizes.smoke", "options"]),
        ({"sizes": {"smoke": [1]}}, ["sizes.smoke is [1]", "expected a mapping"]),
        ({"sizes": {"smal": {}}}, ["size", "'smoke'", "smal"]),
        ({"sizes": None}, ["has no sizes"]),
        ({"figures": [{"name": "a"}]}, ["a figure has no metric"]),
        ({"figures": [{"metric": "a"}]}, ["a figure has no name"]),
        ({"figures": [{"name": "a", "metric": "b", "line": 1}]}, ["key of a figure", "lines"]),
        ({"figures": ["loss"]}, ["figures is loss", "expected a mapping"]),
        ({"figures": [{"name": "a", "metric": "b", "budgets": [2, 1]}]}, ["budgets", "rise"]),
        ({"figures": [{"name": "a", "metric": "b"}] * 2}, ["two figures are named a"]),
        *(
            ({"figures": [{"name": name, "metric": "b"}]}, ["letters, digits"])
            for name in ("../up", "a/b", "a.b", "a b", ".hidden", "ä", "x" * 81)
        ),
    ],
    ids=str,
)
def test_studies_that_are_none(parts, words, refuse):
    refuse(parts, "mine.yaml", *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1", ["is no YAML"]),
        ("", ["is no study", "expected a mapping"]),
        ("- 1", ["is no study"]),
        ("just words", ["is no study"]),
        ("a: !!python/object/apply:os.getcwd []", ["is no YAML"]),
        ("vary: {interface: &a [task, *a]}", ["is no YAML", "recursive"]),
        ("options: &a {world: *a}", ["is no YAML", "recursive"]),
        ("vary: {a: [1], a: [2]}", ["is no YAML", "'a' stands twice"]),
        ("options: {}\nvary: {}\noptions: {}", ["is no YAML", "'options' stands twice"]),
        ("summary: 2026-99-99", ["is no YAML", "month"]),
        (f"summary: {'9' * 5000}", ["is no YAML", "digits"]),
        (f"summary: {'[' * 3000}{']' * 3000}", ["nested too deeply"]),
    ],
)
def test_text_that_is_no_study(text, words, refuse):
    refuse(text, *words)


def test_anchors_and_merges(read):
    """An alias beside what it names, and a key that a merge brings too, are plain YAML."""
    study = read(
        "sizes: {smoke: {}}\n"
        "conditions: [&a {world: &w {items: 24}, seed: 1}, {<<: *a, seed: 2}, {world: *w}]\n"
    )
    assert column(study, "seed") == [1, 2, None]
    assert worlds(study) == [{"items": 24}] * 3


@pytest.mark.parametrize("option", ["path", "items", "benchmark"])
def test_addresses_are_not_repeated(option, read):
    """Of a study's own options, of what it varies, and of conditions: they may hold a token."""
    address = "https://user:TOKEN@host/x"
    for parts in (
        {"options": {option: address}},
        {"options": {option: ["a", address]}},
        {"options": {}, "vary": {option: ["a", address]}},
        {"options": {}, "conditions": [{option: "a"}, {option: address}]},
    ):
        with pytest.raises(BadRequest, match="address of the network") as refusal:
            read(parts)
        assert "TOKEN" not in str(refusal.value)
    # What a table holds may well be one.
    read({"options": {"where": {"source": address}}})


def test_too_many_conditions(refuse):
    axes = {f"world.{name}": {"count": 1000} for name in ("seed", "items", "models")}
    refuse({"vary": axes}, "1,000,000", "conditions")


@pytest.mark.parametrize("name", ["terminal", "no_such_study", "a b", ""])
def test_an_unknown_study(name):
    with pytest.raises(BadRequest, match="unknown study"):
        read_study(name, "smoke", {}, hand)
    with pytest.raises(BadRequest, match="did you mean published"):
        read_study("publish", "smoke", {}, hand)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    # Waiting for a writer would be for ever.
    os.mkfifo(tmp_path / "pipe.yaml")
    for name, words in (
        ("pipe.yaml", "not a regular file"),
        ("folder.yaml", "is a directory"),
        ("bytes.yaml", "no text"),
        ("none.yaml", "no such file"),
        ("none", "no such file"),
        ("a\0b.yaml", "no text"),
    ):
        with pytest.raises(BadRequest, match=words):
            read_study(f"{tmp_path}/{name}", "smoke", {}, hand)


def test_reading_a_study_needs_no_jax():
    code = (
        "import sys\n"
        "from jaxbench.options.study import read_study, study_names\n"
        "from jaxbench.options.sweep import SWEEP\n"
        "for name in study_names(): read_study(name, 'smoke', {}, lambda: ['a'])\n"
        "print([m for m in ('jax', 'pandas', 'pyarrow', 'numpy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
