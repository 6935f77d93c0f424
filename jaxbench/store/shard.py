"""A shard: one group of conditions over one range of trials, named by what it is made from."""

import hashlib
import json
import re
import stat
from pathlib import Path
from typing import NamedTuple

# The folder of the shards in a run directory.
SHARDS = "shards"
# Sixteen digits tell the groups of any sweep apart; the whole key stands in the file.
SHORT = 16
NAME = re.compile(r"[0-9a-f]{16}-[0-9]{8,}-[0-9]{8,}\.parquet")
# The lock, and the end of the name of a file that is being written.
LOCK, PARTIAL = ".lock", ".partial"
# The first and the last bytes of every Parquet file.
ENDS = b"PAR1"


def content_key(*parts: object) -> str:
    """The SHA-256 of what a shard is made from, as 64 hexadecimal digits.

    Equal parts give equal keys in every process and on every machine. Parts are what JSON holds:
    text, whole numbers, finite floats, booleans, None, lists (a tuple is a list), and dictionaries
    with keys of text, in any order. 1 and 1.0 are different.

    **Errors:** `TypeError` or `ValueError` for anything else: a set has no order and NaN no text,
    so that a key of them would not stand still.
    """
    for part in parts:
        _check(part)
    spelled = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(spelled.encode()).hexdigest()


def _check(part: object) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            # JSON would make the text "1" of the number 1, and one key of two.
            if not isinstance(key, str):
                raise TypeError(f"a key of a content key must be text, not {key!r}")
            _check(value)
    elif isinstance(part, list | tuple):
        for value in part:
            _check(value)


class Shard(NamedTuple):
    """Trials `first` to `last`, both included, of the conditions behind a content key."""

    key: str
    first: int
    last: int

    @property
    def trials(self) -> int:
        """How many trials the range has."""
        return self.last - self.first + 1

    @property
    def name(self) -> str:
        """The name of its file; names sort as ranges do."""
        return f"{self.key[:SHORT]}-{self.first:08d}-{self.last:08d}.parquet"

    def path(self, folder: Path) -> Path:
        """Where it lies in a run directory."""
        return folder / SHARDS / self.name


def check_shard(shard: Shard) -> Shard:
    """The shard, if its key and range are such.

    **Errors:** `ValueError`.
    """
    if not (isinstance(shard.key, str) and re.fullmatch("[0-9a-f]{64}", shard.key)):
        raise ValueError(f"the key of a shard has 64 hexadecimal digits, not {shard.key!r}")
    if type(shard.first) is not int or type(shard.last) is not int:
        raise ValueError("the trials of a shard are whole numbers")
    if not 0 <= shard.first <= shard.last:
        raise ValueError(f"trials {shard.first} to {shard.last} are no range")
    return shard


def is_of_the_store(path: Path) -> bool:
    """Whether a file of the folder of shards bears a name that the store gives."""
    name = path.name
    if name.startswith(".") and name.endswith(PARTIAL):
        name = name[1:].removesuffix(PARTIAL)
    return name == LOCK or NAME.fullmatch(name) is not None


def looks_whole(path: Path) -> bool:
    """Whether there is a file that begins and ends like Parquet: no more than a glance."""
    try:
        # A pipe would block, a folder cannot be opened.
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as file:
            if file.read(len(ENDS)) != ENDS:
                return False
            file.seek(-len(ENDS), 2)
            return file.tell() > len(ENDS) and file.read() == ENDS
    except OSError:
        return False
