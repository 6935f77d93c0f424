"""The shards of one run directory, each a file that is whole and in its place, or absent."""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from jaxbench.errors import BadRequest
from jaxbench.store import parquet
from jaxbench.store.atomic import cannot_write, remove_partials, write_atomically
from jaxbench.store.lock import exclusive
from jaxbench.store.shard import NAME, SHARDS, Shard, check_shard, looks_whole

# Without locks, a half-written file of this age (seconds) belongs to nobody any more.
ABANDONED = 3600.0


class Damaged(NamedTuple):
    """A file that is not the shard its name says; it counts as absent until it is replaced."""

    path: Path
    why: str


class Store:
    """The shards of a run directory.

    Reading needs nothing; `write` needs the block `with store.exclusive():`. A shard whose file
    is damaged counts as absent: it is reported once (`damaged`, and `report` where given), never
    read, and replaced when it is written anew.

    **Arguments:** `folder`: the run directory; `report`: is told of every damaged file.
    """

    def __init__(self, folder: Path, report: Callable[[Damaged], None] | None = None) -> None:
        self.folder = folder
        self.damaged: list[Damaged] = []
        self._report = report
        self._mine = False

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Have the run directory to oneself, clear of what killed processes left half-written.

        **Errors:** `BadRequest` if another process writes there, or nothing can be written.
        """
        with exclusive(self.folder) as locked:
            older = None if locked else time.time() - ABANDONED
            for folder in (self.folder, self.folder / SHARDS):
                remove_partials(folder, older)
            self._mine = True
            try:
                yield
            finally:
                self._mine = False

    def write(self, shard: Shard, table: pa.Table) -> Path:
        """Write a shard in one stroke, over whatever lies in its place; its file.

        It is not forced onto the disk: after a power cut it may be damaged, and is then found so.

        **Errors:** `BadRequest` for a full disk and whatever else the system refuses; the other
        shards stay, and no half of this one is left.
        """
        if not self._mine:
            raise RuntimeError("a shard is written inside `with store.exclusive():`")
        data = parquet.encode(shard, table)
        path = shard.path(self.folder)
        try:
            try:
                write_atomically(path, data, settle=False)
            except IsADirectoryError:
                _move_aside(path)
                write_atomically(path, data, settle=False)
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        return path

    def has(self, shard: Shard) -> bool:
        """Whether its file is there and looks whole; `verify` looks inside."""
        return looks_whole(shard.path(self.folder))

    def verify(self, shard: Shard) -> bool:
        """Whether it is there, whole, and what its name says: every byte is checked."""
        return self._sound(shard, parquet.check) is not None

    def read(self, shard: Shard) -> pa.Table | None:
        """Its table, or None if it is absent or damaged."""
        tables = []
        if self._sound(shard, lambda s, data: tables.append(parquet.decode(s, data))) is None:
            return None
        return tables[0]

    def tables(self, shards: Iterable[Shard]) -> Iterator[tuple[Shard, pa.Table]]:
        """The tables in the order asked for; one at a time is in memory.

        **Errors:** `BadRequest` at the first shard that is absent or damaged.
        """
        for shard in shards:
            table = self.read(shard)
            if table is None:
                path = shard.path(self.folder)
                why = {damaged.path: damaged.why for damaged in self.damaged}.get(path)
                reason = f"{path.name} {why}" if why else f"{path.name} is not there"
                raise BadRequest(
                    f"out={self.folder}: shard {reason}; resume=true computes it again"
                )
            yield shard, table

    def missing(self, shards: Iterable[Shard]) -> list[Shard]:
        """Those of `shards` that have to be computed: absent or damaged."""
        return [shard for shard in shards if not self.verify(shard)]

    def orphans(self, shards: Iterable[Shard]) -> list[Path]:
        """Shard files that belong to none of `shards`: of other options, data or versions.

        They are kept and never read. Files of other names are not looked at.
        """
        asked = {shard.name for shard in shards}
        try:
            names = sorted(os.listdir(self.folder / SHARDS))
        except FileNotFoundError:
            return []
        return [
            self.folder / SHARDS / name
            for name in names
            if NAME.fullmatch(name) and name not in asked
        ]

    def _sound(self, shard: Shard, check: Callable[[Shard, bytes], object]) -> bytes | None:
        """The bytes of a shard that passes a check, or None; what is damaged is reported."""
        path = check_shard(shard).path(self.folder)
        try:
            # A pipe would block.
            if not stat.S_ISREG(path.stat().st_mode):
                raise parquet.Unsound("is no file")
            data = path.read_bytes()
            check(shard, data)
            return data
        except FileNotFoundError:
            return None
        except parquet.Unsound as error:
            self._note(Damaged(path, str(error)))
        except OSError as error:
            self._note(Damaged(path, f"cannot be read ({(error.strerror or str(error)).lower()})"))
        return None

    def _note(self, damaged: Damaged) -> None:
        if damaged not in self.damaged:
            self.damaged.append(damaged)
            if self._report:
                self._report(damaged)


def _move_aside(folder: Path) -> None:
    """Give a folder that has the name of a shard another one: what is in it is not ours."""
    number = 1
    while (aside := folder.with_name(f"{folder.name}.aside{number}")).exists():
        number += 1
    folder.rename(aside)
