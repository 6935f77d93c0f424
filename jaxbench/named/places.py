"""Where the files of a named benchmark are: the offline folder, else the cache, else the network.

With `JAXBENCH_DATA` set nothing is ever downloaded, and the cache is not asked: the folder that was
named holds what is used, or the request is refused. It may hold, in this order: the source's own
files in a folder of the benchmark's name, a clone of the source's repository (both checked against
the pinned hashes), or `items.parquet` and `scores.parquet`, which nothing pins.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from jaxbench.cache import cache_directory
from jaxbench.errors import BadRequest
from jaxbench.named.download import fetch
from jaxbench.named.entry import Named, SourceFile

DATA = "JAXBENCH_DATA"
PAIR = ("items.parquet", "scores.parquet")
BUNDLED, CACHED, OFFLINE = "bundled", "cached", "offline folder"
NOT_DOWNLOADED, NOT_OFFLINE = "not downloaded", "not in JAXBENCH_DATA"


@dataclass(frozen=True)
class Found:
    """The source's own `files` in the order of the catalogue, or the folder of a `pair`."""

    files: tuple[Path, ...] = ()
    pair: Path | None = None


def offline_folder() -> Path | None:
    """The folder that `JAXBENCH_DATA` names, whether or not it exists."""
    named = os.environ.get(DATA)
    return Path(named) if named else None


def cache_folder(entry: Named) -> Path:
    """Where the downloaded files of a benchmark are kept.

    The cache's folder `benchmarks` can be copied to a machine without a connection and named in
    `JAXBENCH_DATA` there.
    """
    return cache_directory() / "benchmarks" / entry.name


def state(entry: Named) -> str:
    """Where a benchmark would come from, in words; hashes are checked only when it is used."""
    if entry.bundled:
        return BUNDLED
    folder = offline_folder()
    if folder is not None:
        return NOT_OFFLINE if _look(entry, folder) is None else OFFLINE
    paths = [cache_folder(entry) / file.name for file in entry.files]
    there = all(
        os.path.isfile(path) and os.path.getsize(path) == file.size
        for path, file in zip(paths, entry.files, strict=True)
    )
    return CACHED if there else NOT_DOWNLOADED


def obtain(entry: Named) -> Found:
    """The files of a benchmark that is not bundled, downloaded where they have to be.

    **Errors:** `BadRequest` where the offline folder is none or lacks them, a file in it is not the
    pinned one, or a download fails.
    """
    folder = offline_folder()
    if folder is None:
        return Found(files=fetch(entry, cache_folder(entry)))
    if not os.path.isdir(folder):
        raise BadRequest(
            f"{DATA}={folder} is not a folder; expected one that holds {entry.name}, or leave "
            f"{DATA} unset to download it"
        )
    found = _look(entry, folder)
    if found is None:
        raise BadRequest(_lacking(entry, folder))
    for path, file in zip(found.files, entry.files, strict=False):
        _check_pinned(path, file)
    return found


def _look(entry: Named, folder: Path) -> Found | None:
    """What the offline folder holds of a benchmark, not checked yet."""
    files = []
    for file in entry.files:
        places = (folder / entry.name / file.name, folder / file.path)
        files += [path for path in places if os.path.isfile(path)][:1]
    if len(files) == len(entry.files):
        return Found(files=tuple(files))
    for name in _folders(entry):
        if all(os.path.isfile(folder / name / file) for file in PAIR):
            return Found(pair=folder / name)
    return None


def _folders(entry: Named) -> tuple[str, ...]:
    return tuple(dict.fromkeys((entry.name, *entry.aliases)))


def _lacking(entry: Named, folder: Path) -> str:
    files = " and ".join(
        f"{entry.name}/{file.name} (or {file.path}, as in a clone of the source)"
        for file in entry.files
    )
    return (
        f"{entry.name} is not in {DATA}={folder}: looked for {files}, and for "
        f"{' with '.join(PAIR)} in {' or '.join(_folders(entry))}; put one of them there, or leave "
        f"{DATA} unset to download it"
    )


def _check_pinned(path: Path, file: SourceFile) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        commit = file.repository.rsplit("/", 1)[-1]
        raise BadRequest(
            f"{path} is not the pinned file: found sha256 {found} ({len(content)} bytes), expected "
            f"{file.sha256} ({file.size} bytes); take it from {file.address} (commit {commit[:12]})"
        )
