"""The version of the code that outcomes depend on: part of the key of every shard."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

# Rooms and modules that make numbers; commands, readers, options' texts and pictures do not.
ROOMS = (
    "attacker", "benchmark", "engine", "leaderboard", "metrics", "stats", "studies", "synthetic",
)  # fmt: skip
MODULES = ("counters.py", "shapes.py")
# A logarithm may end in another digit under another version of these.
LIBRARIES = ("jax", "jaxlib", "numpy")


@cache
def code_digest() -> str:
    """SHA-256 over the source of what outcomes depend on, and the versions beneath it."""
    package = Path(__file__).resolve().parents[1]
    found = {room: sorted((package / room).rglob("*.py")) for room in ROOMS}
    assert all(found.values()), "a room has moved, and its code would not be in the key"
    paths = [path for room in ROOMS for path in found[room]]
    digest = hashlib.sha256(repr([(name, version(name)) for name in LIBRARIES]).encode())
    for path in (*paths, *(package / module for module in MODULES)):
        digest.update(str(path.relative_to(package)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
