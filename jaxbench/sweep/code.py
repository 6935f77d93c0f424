"""The version of the code that outcomes depend on: part of the key of every shard."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

# Rooms and modules that make numbers; commands, readers, options' texts and pictures do not.
ROOMS = (
    "attacker", "benchmark", "engine", "leaderboard", "metrics", "stats", "sweep", "synthetic",
)  # fmt: skip
MODULES = ("counters.py", "shapes.py")
# A logarithm may end in another digit under another version of these.
LIBRARIES = ("jax", "jaxlib", "numpy")


@cache
def code_digest() -> str:
    """SHA-256 over the source of what outcomes depend on, and the versions beneath it."""
    package = Path(__file__).resolve().parents[1]
    paths = [path for room in ROOMS for path in sorted((package / room).rglob("*.py"))]
    digest = hashlib.sha256(repr([(name, version(name)) for name in LIBRARIES]).encode())
    for path in (*paths, *(package / module for module in MODULES)):
        digest.update(str(path.relative_to(package)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
