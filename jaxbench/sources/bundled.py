"""Benchmarks that come with the package: a native pair and a card each."""

import json
from importlib.resources import files
from pathlib import Path

from jaxbench.benchmark import Benchmark
from jaxbench.errors import unknown
from jaxbench.options import Protocol, ReadOptions
from jaxbench.sources.assemble import assemble
from jaxbench.sources.native import read_pair

SNAPSHOTS = "snapshots"


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled benchmarks."""
    root = files("jaxbench.sources") / SNAPSHOTS
    return tuple(sorted(e.name for e in root.iterdir() if (e / "card.json").is_file()))


def load(name: str, *, anonymise: bool = False) -> Benchmark:
    """A bundled benchmark by name, with its published protocol.

    **Errors:** `BadRequest` with the nearest known name.
    """
    names = bundled_names()
    if name not in names:
        raise unknown("benchmark", name, names)
    folder = Path(str(files("jaxbench.sources") / SNAPSHOTS / name))
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    options = ReadOptions(anonymise=anonymise)
    return assemble(
        read_pair(folder, options),
        options,
        name=name,
        source=name,
        protocol=Protocol.from_card(card["protocol"]),
    )
