"""Keys and names of shards."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.store import Shard, content_key, looks_whole

PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def test_a_key_stands_still():
    config = {"interface": "task", "budgets": [1, 2], "holdout_fraction": "2/3", "é": None}
    key = content_key(config, "0" * 64, "0.1.0")
    # The canonical text, hashed by hand: a key of today finds the shards of yesterday.
    text = (
        r'[{"budgets":[1,2],"holdout_fraction":"2/3","interface":"task","\u00e9":null},"'
        + "0" * 64 + '","0.1.0"]'
    )  # fmt: skip
    assert key == hashlib.sha256(text.encode()).hexdigest()


@given(PARTS)
def test_order_and_the_kind_of_sequence_do_not_matter(part):
    def turned(value):
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return tuple(map(turned, value)) if isinstance(value, list) else value

    assert content_key(part) == content_key(turned(part))


def test_what_differs_has_another_key():
    parts = [
        (), (None,), (1,), (1.0,), ("1",), (True,), ([1],), (1, 1), ({"a": 1},), ({"b": 1},),
        ({"a": 2},), ({"a": 1, "b": 1},), ([[], 1],), ([[1]],), ("a", "b"), ("ab",),
    ]  # fmt: skip
    assert len({content_key(*part) for part in parts}) == len(parts)


@pytest.mark.parametrize("part", [{1, 2}, float("nan"), b"a", {1: 2}, [{(1,): 2}], object()])
def test_what_has_no_single_spelling_is_refused(part):
    with pytest.raises((TypeError, ValueError)):
        content_key(part)


def test_keys_are_equal_in_other_processes():
    code = "from jaxbench.store import content_key; print(content_key({'b': 1, 'a': [1.5]}, 'x'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == content_key({"a": [1.5], "b": 1}, "x")


def test_names_sort_as_ranges_do():
    key = content_key("a")
    shards = [Shard(key, first, first + 9) for first in (0, 10, 250, 9990, 123450)]
    assert sorted(s.name for s in shards) == [s.name for s in shards]
    assert shards[1].name == f"{key[:16]}-00000010-00000019.parquet"
    assert shards[1].trials == 10
    assert shards[1].path(Path("run")) == Path("run/shards") / shards[1].name


def test_status_needs_no_parquet():
    code = (
        "import sys, jaxbench.store, jaxbench.jobs.status_command; "
        "print([m for m in ('pyarrow', 'jax', 'numpy', 'hydra') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("data", "whole"),
    [(b"PAR1....PAR1", True), (b"", False), (b"PAR1", False), (b"PAR1..", False),
     (b"..PAR1", False), (b"PAR2....PAR1", False)],
)  # fmt: skip
def test_a_glance_at_both_ends(data, whole, tmp_path):
    (tmp_path / "file").write_bytes(data)
    assert looks_whole(tmp_path / "file") == whole
    assert not looks_whole(tmp_path)
    assert not looks_whole(tmp_path / "nothing")
