"""The offline folder before the cache, and nothing from the network while it is set."""

import pytest

from commands import elsewhere, refused
from jaxbench.errors import BadRequest
from jaxbench.named import places
from jaxbench.named.places import Found, obtain, state
from pairs import write_pair
from serving import serving, small, source_file, whole

FIRST, SECOND = b'{"one": 1}\n', b'{"two": 2}\n'
FILES = (source_file(FIRST), source_file(SECOND, "data/small/tasks.jsonl"))
ENTRY = small(*FILES)


@pytest.fixture(autouse=True)
def server(monkeypatch, tmp_path):
    """Everything could be downloaded, and that would be seen."""
    with serving() as server:
        server.serve(FILES[0], whole(FIRST))
        server.serve(FILES[1], whole(SECOND))
        monkeypatch.setenv("JAXBENCH_MIRROR", server.address)
        monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.delenv("JAXBENCH_DATA", raising=False)
        yield server


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("JAXBENCH_DATA", str(folder))
    return folder


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def refuse(*words):
    with pytest.raises(BadRequest) as failure:
        obtain(ENTRY)
    text = str(failure.value)
    assert len(text.splitlines()) == 1
    for word in words:
        assert word in text, (word, text)


# Without an offline folder


def test_download_then_cache(server, tmp_path):
    assert state(ENTRY) == "not downloaded"
    found = obtain(ENTRY)
    assert [path.read_bytes() for path in found.files] == [FIRST, SECOND]
    assert found.pair is None
    assert state(ENTRY) == "cached"
    assert obtain(ENTRY) == found
    assert len(server.asked) == 2


@pytest.mark.parametrize("name", ["responses.jsonl", "tasks.jsonl"])
def test_half_a_cache_is_no_cache(name, tmp_path):
    obtain(ENTRY)
    put(places.cache_folder(ENTRY) / name, b"short")
    assert state(ENTRY) == "not downloaded"


def test_the_cache_can_be_carried_to_another_machine(server, tmp_path, monkeypatch):
    obtain(ENTRY)
    monkeypatch.setenv("JAXBENCH_DATA", str(tmp_path / "cache" / "benchmarks"))
    monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path / "new"))
    assert state(ENTRY) == "offline folder"
    assert [path.read_bytes() for path in obtain(ENTRY).files] == [FIRST, SECOND]
    assert len(server.asked) == 2


# With one: its order


def test_own_files_come_before_a_clone_and_a_clone_before_a_pair(server, data):
    folders = [write_pair(data / name) for name in ("small_old", "small_pair")]
    assert obtain(ENTRY) == Found(pair=folders[1])
    clone = tuple(put(data / file.path, c) for file, c in zip(FILES, (FIRST, SECOND), strict=True))
    assert obtain(ENTRY) == Found(files=clone)
    own = tuple(
        put(data / "small" / path.name, c) for path, c in zip(clone, (FIRST, SECOND), strict=True)
    )
    assert obtain(ENTRY) == Found(files=own)
    assert state(ENTRY) == "offline folder"
    assert server.asked == []


def test_a_pair_in_the_folder_of_the_name_comes_before_aliases(data):
    folder = write_pair(data / "small")
    write_pair(data / "small_pair")
    assert obtain(ENTRY) == Found(pair=folder)


def test_some_of_the_files_are_not_enough(server, data):
    put(data / "small" / "responses.jsonl", FIRST)
    assert state(ENTRY) == "not in JAXBENCH_DATA"
    refuse("small/tasks.jsonl")
    pair = write_pair(data / "small_old")
    assert obtain(ENTRY) == Found(pair=pair)
    assert server.asked == []


# With one: refusals


def test_another_file_is_refused_even_beside_a_pair(server, data):
    write_pair(data / "small_pair")
    put(data / "small" / "responses.jsonl", FIRST)
    path = put(data / "small" / "tasks.jsonl", b"other")
    refuse(str(path), FILES[1].sha256, source_file(b"other").sha256, "0123abcd")
    assert server.asked == []


def test_a_folder_without_the_benchmark_names_what_was_looked_for(server, data):
    refuse(
        f"JAXBENCH_DATA={data}", "small/responses.jsonl", "small/tasks.jsonl",
        "data/small/responses.jsonl", "data/small/tasks.jsonl", "items.parquet",
        "scores.parquet", "small_pair", "small_old",
    )  # fmt: skip
    assert server.asked == []


def test_offline_means_offline_whatever_the_cache_holds(server, tmp_path, monkeypatch):
    obtain(ENTRY)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("JAXBENCH_DATA", str(tmp_path / "empty"))
    refuse("small is not in JAXBENCH_DATA")


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_folder_that_is_none(kind, server, data, monkeypatch):
    put(data / "file", b"")
    monkeypatch.setenv("JAXBENCH_DATA", str(data / kind))
    refuse(f"JAXBENCH_DATA={data / kind} is not a folder")
    assert state(ENTRY) == "not in JAXBENCH_DATA"
    assert server.asked == []


def test_an_empty_setting_is_none(server, monkeypatch):
    monkeypatch.setenv("JAXBENCH_DATA", "")
    assert len(obtain(ENTRY).files) == 2
    assert len(server.asked) == 2


def test_the_command_line_says_it_in_one_line(server, data, tmp_path, capsys):
    with elsewhere(tmp_path) as here:
        refused(capsys, here, ("attack", "benchmark=swe_pro"), "swe_pro is not in JAXBENCH_DATA=",
                "swebench_pro_14")  # fmt: skip
    assert server.asked == []
