"""`jaxbench list`: what there is, whether it is here, at once and without jax."""

import subprocess
import sys

import pytest

from commands import answer, elsewhere, everything_below, refused
from jaxbench import named


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAXBENCH_DATA", raising=False)
    with elsewhere(tmp_path) as folder:
        yield folder


def rows(capsys):
    found = answer(capsys, "list")
    assert (found.status, found.err) == (0, "")
    table, places = found.out.split("\n\n")
    # The columns are where the head says.
    head, *lines = table.splitlines()
    starts = [head.index(word) for word in ("name", "models", "tasks", "licence", "state", "summ")]
    cells = [
        [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        for line in lines
    ]
    return {first: rest for first, *rest in cells}, places.splitlines()


def test_every_benchmark_has_a_line(capsys, here):
    table, places = rows(capsys)
    assert set(table) == set(named.catalogue())
    assert table["swe_verified"][:4] == ["134 x 500", "12", "MIT", "not downloaded"]
    assert table["swe_pro"][:4] == ["14 x 730", "11", "MIT", "not downloaded"]
    assert table["terminal_bench_2"][:4] == ["83 x 88", "16", "MIT", "not downloaded"]
    assert table["terminal_science"][:4] == ["17 x 70", "5", "none stated by the source", "bundled"]
    for name, (*_, summary) in table.items():
        assert summary == named.find(name).summary
    cache, data, use = places
    assert str(here.parent / "cache" / "benchmarks") in cache
    assert data.startswith("JAXBENCH_DATA: not set")
    assert "benchmark=NAME" in use
    assert everything_below(here) == set()


def test_states(capsys, here, monkeypatch):
    file = named.find("swe_pro").files[0]
    kept = here.parent / "cache" / "benchmarks" / "swe_pro" / file.name
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b" " * file.size)
    table, _ = rows(capsys)
    assert table["swe_pro"][3] == "cached"
    data = here.parent / "data"
    (data / "swebench_verified_submissions").mkdir(parents=True)
    for name in ("items.parquet", "scores.parquet"):
        (data / "swebench_verified_submissions" / name).write_bytes(b"")
    monkeypatch.setenv("JAXBENCH_DATA", str(data))
    table, places = rows(capsys)
    assert [table[name][3] for name in ("terminal_science", "swe_verified", "swe_pro")] == [
        "bundled", "offline folder", "not in JAXBENCH_DATA",
    ]  # fmt: skip
    assert str(data) in places[1]
    monkeypatch.setenv("JAXBENCH_DATA", str(data / "none"))
    assert "is not a folder" in rows(capsys)[1][1]


def test_it_imports_no_jax_no_pandas_and_no_hydra(here):
    large = ("jax", "numpy", "pandas", "hydra", "omegaconf", "pooch")
    code = (
        "import sys\nfrom jaxbench.cli import main\n"
        "status = main(['list'])\n"
        f"print(status, [m for m in {large!r} if m in sys.modules])"
    )
    # A process takes a tenth of a second; jax alone would take one, the bound is for busy machines.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("swe_pro", ["'swe_pro' is not an option"]),
        ("trials=3", ["unknown option 'trials'", "takes none"]),
        ("--long", ["unknown flag --long"]),
    ],
)
def test_other_words_are_refused(word, words, capsys, here):
    refused(capsys, here, ("list", word), "jaxbench list: ", *words)


def test_help_and_hydra_flags_work(capsys, here):
    found = answer(capsys, "list", "--help")
    assert found.status == 0
    assert "takes no options" in found.out
    found = answer(capsys, "list", "--cfg", "job")
    assert (found.status, found.out.strip(), found.err) == (0, "{}", "")
