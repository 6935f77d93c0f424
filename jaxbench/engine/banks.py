"""Router banks kept on disk: hashing 12,000 prompts for 2,047 routers takes half a minute.

A bank is stored as packed bits under the digest of everything it depends on, written to a
temporary name first, so that a killed run leaves no half of one. A cache that cannot be written
costs time, never a result.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int8

from jaxbench.attacker.routers import hash_bank, unpack_signs
from jaxbench.cache import cache_directory

# Smaller banks are hashed faster than they are found.
SMALLEST_CACHED = 2**18
_CHECKSUM = hashlib.sha256().digest_size


def cached_bank(
    prompts: Sequence[str], *, routing_seed: str, candidates: int
) -> Int8[np.ndarray, "candidates prompts"]:
    """Signs of the published routers, from the cache where they are there."""
    if len(prompts) * candidates < SMALLEST_CACHED:
        packed = hash_bank(prompts, routing_seed=routing_seed, candidates=candidates)
        return unpack_signs(packed, len(prompts))
    # Lengths keep two lists of prompts from spelling the same bytes.
    spelled = "".join(f"{len(text)}:{text}," for text in (routing_seed, *prompts))
    digest = hashlib.sha256(spelled.encode()).hexdigest()
    path = cache_directory() / "banks" / f"{digest[:32]}-{candidates}.npy"
    shape = (candidates, (len(prompts) + 7) // 8)
    packed = _read(path, shape)
    if packed is None:
        packed = hash_bank(prompts, routing_seed=routing_seed, candidates=candidates)
        _write(path, packed)
    return unpack_signs(packed, len(prompts))


def _read(path: Path, shape: tuple[int, int]) -> np.ndarray | None:
    """The stored bank, or None where there is none or it is damaged."""
    try:
        stored = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if stored.dtype != np.uint8 or stored.shape != (shape[0] * shape[1] + _CHECKSUM,):
        return None
    bits, checksum = stored[:-_CHECKSUM], stored[-_CHECKSUM:].tobytes()
    if hashlib.sha256(bits.tobytes()).digest() != checksum:
        return None
    return bits.reshape(shape)


def _write(path: Path, packed: np.ndarray) -> None:
    checksum = np.frombuffer(hashlib.sha256(packed.tobytes()).digest(), dtype=np.uint8)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".partial")
        try:
            with os.fdopen(handle, "wb") as file:
                np.save(file, np.concatenate([packed.ravel(), checksum]), allow_pickle=False)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
