"""`plan.json`: all shards of a sweep, so that `jaxbench status` needs nothing else.

    {"format": 1, "study": "bandwidth", "size": "smoke",
     "groups": [{"key": "<64 digits>", "name": "interface=task", "conditions": 4,
                 "ranges": [[0, 249], [250, 499]]}]}

A group is the conditions that are computed together; each of its ranges of trials (first and last,
both included) is one shard.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from jaxbench.errors import BadRequest
from jaxbench.store.atomic import cannot_write, write_atomically
from jaxbench.store.shard import Shard, check_shard

NAME = "plan.json"
FORMAT = 1


@dataclass(frozen=True)
class Group:
    """Conditions that are computed together, over fixed ranges of trials.

    **Arguments:** `key`: their content key; `name`: what people call them; `conditions`: how many;
    `ranges`: first and last trial of every shard, both included.
    """

    key: str
    name: str
    conditions: int
    ranges: tuple[tuple[int, int], ...]

    def shards(self) -> list[Shard]:
        """Its shards, in the order of the ranges."""
        return [Shard(self.key, first, last) for first, last in self.ranges]


@dataclass(frozen=True)
class Plan:
    """All shards of a sweep."""

    study: str
    size: str
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        shards = list(self)
        for shard in shards:
            check_shard(shard)
        if len({shard.name for shard in shards}) < len(shards):
            raise ValueError("two shards of a plan have one name")

    def __iter__(self) -> Iterator[Shard]:
        """The shards, group by group."""
        for group in self.groups:
            yield from group.shards()

    @property
    def trials(self) -> int:
        """Trials of all conditions together."""
        return sum(group.conditions * shard.trials for group in self.groups
                   for shard in group.shards())  # fmt: skip


def write_plan(folder: Path, plan: Plan) -> None:
    """Write `plan.json` in one stroke.

    **Errors:** `BadRequest` if the system refuses.
    """
    text = json.dumps({"format": FORMAT, **asdict(plan)}, ensure_ascii=False)
    try:
        write_atomically(folder / NAME, (text + "\n").encode())
    except OSError as error:
        raise cannot_write(folder, error) from None


def read_plan(folder: Path) -> Plan | None:
    """The plan of a sweep, or None where there is none.

    **Errors:** `BadRequest` for a file that is no plan.
    """
    path = folder / NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise BadRequest(f"{path} has format {found['format']}, expected {FORMAT}")
        groups = [
            Group(
                str(g["key"]),
                str(g["name"]),
                int(g["conditions"]),
                tuple((first, last) for first, last in g["ranges"]),
            )
            for g in found["groups"]
        ]
        return Plan(str(found["study"]), str(found["size"]), tuple(groups))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadRequest(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, BadRequest):
            raise
        raise BadRequest(f"{path} is no plan of a sweep, or damaged") from None
