"""Benchmarks by name: those that come with the package, and those that are downloaded."""

from jaxbench import named
from jaxbench.benchmark import Benchmark, anonymous
from jaxbench.options import Protocol, ReadOptions
from jaxbench.sources.assembly.assemble import assemble
from jaxbench.sources.downloaded import load_downloaded
from jaxbench.sources.tables.native import read_pair


def load(name: str, *, anonymise: bool = False) -> Benchmark:
    """A benchmark of `jaxbench list` by name, with its published protocol.

    A benchmark that is not bundled is downloaded on first use into the cache (`JAXBENCH_CACHE`), or
    taken from the folder that `JAXBENCH_DATA` names.

    **Arguments:** `anonymise`: replace the names of models and items.

    **Errors:** `BadRequest` with the nearest known name, or where the files cannot be had.
    """
    entry = named.find(name)
    benchmark = _bundled(entry) if entry.bundled else load_downloaded(entry, anonymise=anonymise)
    return anonymous(benchmark) if anonymise else benchmark


def _bundled(entry: named.Named) -> Benchmark:
    folder, card = named.snapshot(entry.name)
    return assemble(
        read_pair(folder, ReadOptions()),
        ReadOptions(),
        name=entry.name,
        source=entry.name,
        protocol=Protocol.from_card(card["protocol"]),
    )
