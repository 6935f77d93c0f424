"""The catalogue: what it says is true, and reading it imports nothing large."""

import re
import subprocess
import sys

import pytest

import jaxbench
from jaxbench import named
from jaxbench.errors import BadRequest

LARGE = ("jax", "numpy", "pandas", "pyarrow", "equinox", "hydra", "pooch", "requests")


def test_reading_it_imports_nothing_large():
    code = (
        "import sys\nfrom jaxbench import named\n"
        "states = [named.state(entry) for entry in named.catalogue().values()]\n"
        f"print(len(states), [m for m in {LARGE!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"{len(named.catalogue())} []\n"


def test_names():
    assert list(named.catalogue()) == [
        "terminal_science", "swe_pro", "swe_verified", "terminal_bench_2",
    ]  # fmt: skip
    assert named.bundled_names() == ("terminal_science",)
    for name, entry in named.catalogue().items():
        assert entry.name == name
        assert entry.bundled == (name in named.bundled_names())


@pytest.mark.parametrize("name", named.bundled_names())
def test_a_card_says_what_the_snapshot_holds(name):
    entry, benchmark = named.find(name), jaxbench.load(name)
    assert (entry.models, entry.items, entry.tasks) == (
        len(benchmark.models), len(benchmark.items), len(benchmark.tasks),
    )  # fmt: skip


@pytest.mark.parametrize("entry", named.DOWNLOADABLE, ids=lambda entry: entry.name)
def test_a_download_is_pinned_and_credited(entry):
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert re.fullmatch(
            r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/data/[\w./]+\.jsonl",
            file.address,
        )
    assert len({file.name for file in entry.files}) == len(entry.files)
    assert any(note.startswith(f"licence {entry.licence}, Copyright") for note in entry.notes)
    assert any(note.startswith(f"cite {entry.citation}") for note in entry.notes)


@pytest.mark.parametrize(
    ("name", "words"),
    [("swe_verfied", "did you mean swe_verified?"), ("", "known: terminal_science, swe_pro")],
)
def test_unknown_names_get_the_nearest_one(name, words):
    with pytest.raises(BadRequest, match=re.escape(words)):
        jaxbench.load(name)
