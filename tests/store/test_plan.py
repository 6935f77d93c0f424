"""The plan of a sweep on disk."""

import json
import os

import pytest

from commands import everything_below
from jaxbench.errors import BadRequest
from jaxbench.store import Group, Plan, Shard, content_key, read_plan, write_plan

A, B = content_key("a"), content_key("b")
PLAN = Plan(
    "bandwidth", "smoke",
    (Group(A, "interface=[é]", 4, ((0, 249), (250, 299))), Group(B, "rank", 1, ((0, 299),))),
)  # fmt: skip


def test_what_is_written_comes_back(tmp_path):
    assert read_plan(tmp_path) is None
    write_plan(tmp_path, PLAN)
    assert read_plan(tmp_path) == PLAN
    assert everything_below(tmp_path) == {"plan.json"}
    assert list(PLAN) == [Shard(A, 0, 249), Shard(A, 250, 299), Shard(B, 0, 299)]
    assert PLAN.trials == 4 * 300 + 300
    write_plan(tmp_path, Plan("other", "full", ()))
    assert read_plan(tmp_path) == Plan("other", "full", ())


def test_the_file_is_as_documented(tmp_path):
    write_plan(tmp_path, PLAN)
    assert json.loads((tmp_path / "plan.json").read_text(encoding="utf-8")) == {
        "format": 1,
        "study": "bandwidth",
        "size": "smoke",
        "groups": [
            {"key": A, "name": "interface=[é]", "conditions": 4, "ranges": [[0, 249], [250, 299]]},
            {"key": B, "name": "rank", "conditions": 1, "ranges": [[0, 299]]},
        ],
    }


@pytest.mark.parametrize("ranges", [((0, 9), (0, 9)), ((9, 0),), ((0, 9), (-1, 4))])
def test_plans_that_are_none(ranges):
    with pytest.raises(ValueError, match=r"range|one name"):
        Plan("s", "smoke", (Group(A, "a", 1, ranges),))


GROUP = {"key": A, "name": "a", "conditions": 1, "ranges": [[0, 9]]}
SOUND = {"format": 1, "study": "s", "size": "smoke", "groups": [GROUP]}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"a"', "{}", json.dumps(SOUND)[:-1], json.dumps(SOUND | {"format": 2}),
     json.dumps(SOUND | {"groups": [GROUP | {"key": "../../etc"}]}),
     json.dumps(SOUND | {"groups": [GROUP | {"ranges": [[0]]}]}),
     json.dumps(SOUND | {"groups": [GROUP | {"ranges": [["0", "9"]]}]}),
     json.dumps(SOUND | {"groups": 3}), "[" * 100_000,
     # JSON as Python reads it knows infinity.
     json.dumps(SOUND | {"groups": [GROUP | {"conditions": float("inf")}]})],
)  # fmt: skip
def test_damaged_plans_are_named(text, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(SOUND))
    assert read_plan(tmp_path) is not None
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(BadRequest, match=r"plan\.json"):
        read_plan(tmp_path)


def test_a_full_disk_keeps_the_old_plan(tmp_path, monkeypatch):
    write_plan(tmp_path, PLAN)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadRequest, match="the disk is full"):
        write_plan(tmp_path, Plan("other", "full", ()))
    assert read_plan(tmp_path) == PLAN
    assert everything_below(tmp_path) == {"plan.json"}
