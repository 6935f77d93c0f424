"""The command that lists benchmarks: answers at once, without jax and without the network."""

import os
from collections.abc import Mapping

from jaxbench import named
from jaxbench.cache import cache_directory
from jaxbench.named.places import DATA, offline_folder

HEADS = ("name", "models x items", "tasks", "licence", "state", "summary")


def run(options: Mapping[str, object], command: str, several: bool = False) -> None:
    """Print every benchmark of the catalogue, then where files come from and how to use one."""
    print("\n".join([*_table(), "", *_places()]))


def _table() -> list[str]:
    """Names and facts in columns; the last one is as long as it is."""
    rows: list[tuple[str, ...]] = [HEADS]
    for entry in named.catalogue().values():
        # What a licence is, without what is to be said about it.
        licence = entry.licence.split(";")[0]
        size = f"{entry.models} x {entry.items}"
        rows.append(
            (entry.name, size, str(entry.tasks), licence, named.state(entry), entry.summary)
        )
    widths = [max(len(row[c]) for row in rows) for c in range(len(HEADS) - 1)] + [0]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _places() -> list[str]:
    folder = offline_folder()
    if folder is None:
        offline = "not set; names a folder that holds the files, for use without a connection"
    elif os.path.isdir(folder):
        offline = f"{folder}; nothing is downloaded while it is set"
    else:
        offline = f"{folder} is not a folder; nothing is downloaded while it is set"
    return [
        f"cache: {cache_directory() / 'benchmarks'} (JAXBENCH_CACHE chooses another folder)",
        f"{DATA}: {offline}",
        'use: jaxbench attack benchmark=NAME, or jaxbench.load("NAME") in Python'
        + ("; what is not here is downloaded on first use" if folder is None else ""),
    ]
