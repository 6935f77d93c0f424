"""Benchmarks by name: those that come with the package, and those that are downloaded."""

from jaxbench import named
from jaxbench.benchmark import Benchmark
from jaxbench.options import Protocol
from jaxbench.sources.downloaded import load_downloaded
from jaxbench.sources.native import read_native


def load(name: str, *, anonymise: bool = False) -> Benchmark:
    """A benchmark of `jaxbench list` by name, with its published protocol.

    A benchmark that is not bundled is downloaded on first use into the cache (`JAXBENCH_CACHE`), or
    taken from the folder that `JAXBENCH_DATA` names.

    **Arguments:** `anonymise`: replace the names of models and items.

    **Errors:** `BadRequest` with the nearest known name, or where the files cannot be had.
    """
    entry = named.find(name)
    benchmark = _bundled(entry) if entry.bundled else load_downloaded(entry)
    if anonymise:
        from jaxbench.benchmark.anonymous import (  # pyright: ignore[reportMissingImports]
            anonymous,
        )

        return anonymous(benchmark)
    return benchmark


def _bundled(entry: named.Named) -> Benchmark:
    folder, card = named.snapshot(entry.name)
    return read_native(folder, name=entry.name, protocol=Protocol.from_card(card["protocol"]))
