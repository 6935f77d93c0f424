"""Every benchmark that goes by a name."""

import json
from functools import cache
from pathlib import Path

from jaxbench.errors import unknown
from jaxbench.named.downloadable import DOWNLOADABLE
from jaxbench.named.entry import Named

# Found by path: importing the package that holds the snapshots would import jax.
SNAPSHOTS = Path(__file__).resolve().parents[1] / "sources" / "snapshots"
CARD = "card.json"


def bundled_names() -> tuple[str, ...]:
    """Names of the benchmarks that come with the package."""
    return tuple(sorted(card.parent.name for card in SNAPSHOTS.glob(f"*/{CARD}")))


def snapshot(name: str) -> tuple[Path, dict]:
    """The folder of a bundled benchmark and what its card says."""
    folder = SNAPSHOTS / name
    return folder, json.loads((folder / CARD).read_text(encoding="utf-8"))


@cache
def catalogue() -> dict[str, Named]:
    """All benchmarks by name, bundled ones first."""
    entries = [_bundled(name) for name in bundled_names()]
    return {entry.name: entry for entry in (*entries, *DOWNLOADABLE)}


def find(name: str) -> Named:
    """The benchmark of this name.

    **Errors:** `BadRequest` with the nearest name there is.
    """
    entries = catalogue()
    if not isinstance(name, str) or name not in entries:
        raise unknown("benchmark", name, entries)
    return entries[name]


def _bundled(name: str) -> Named:
    card = snapshot(name)[1]
    return Named(
        name=name,
        summary=card["summary"],
        models=card["models"],
        items=card["items"],
        tasks=len(card["tasks"]),
        licence=card["licence"],
        source=card["source"],
    )
