"""Router banks that all trials share, and their copies on disk.

Hashing 12,000 prompts for 2,047 routers takes half a minute, so only prompts on which some pair of
endpoints differs are hashed, once. What was hashed is stored as packed bits under the digest of
everything it depends on, written to a temporary name first, so that a killed run leaves no half of
one. A cache that cannot be written costs time, never a result.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int8, UInt8

from jaxbench import attacker
from jaxbench.attacker.routers import hash_bank, hash_ties, unpack_signs
from jaxbench.benchmark import Benchmark
from jaxbench.cache import cache_directory
from jaxbench.engine import plan
from jaxbench.engine.layout import Layout
from jaxbench.options import AttackRequest
from jaxbench.shapes import bucket

# Smaller banks are hashed faster than they are found.
SMALLEST_CACHED = 2**18
_CHECKSUM = hashlib.sha256().digest_size


class SharedBanks:
    """The published routers of a cell, all its banks, on the items that have been asked for."""

    def __init__(self, benchmark: Benchmark, request: AttackRequest, candidates: int, block: int):
        self.benchmark, self.request, self.block = benchmark, request, block
        self.candidates = candidates
        self._active = np.zeros(len(benchmark.items), dtype=bool)
        # Prompts in the order in which they came up: the bits of one part are hashed together.
        self._place: dict[str, int] = {}
        self._parts: list[tuple[str, ...]] = []
        self._packed: dict[tuple[int, int], np.ndarray] = {}

    def active(self, items: Bool[np.ndarray, " items"]) -> Bool[np.ndarray, " items"]:
        """Add items; all those so far.

        **Errors:** `BadRequest` where the bank would be too large.
        """
        self._active = self._active | items
        plan.check_bank(self.candidates, int(self._active.sum()))
        hashes = (self.benchmark.prompt_hashes[item] for item in np.flatnonzero(self._active))
        new = tuple(dict.fromkeys(h for h in hashes if h not in self._place))
        if new:
            self._place |= {prompt: len(self._place) + i for i, prompt in enumerate(new)}
            self._parts.append(new)
        return self._active

    def bank(self, layout: Layout, bank: int) -> attacker.SharedBank:
        """A bank by the slots of a layout and candidates."""
        items = layout.items[0]
        held = items >= 0
        chosen = [self._place[self.benchmark.prompt_hashes[item]] for item in items[held]]
        none = np.zeros((0, self.candidates), dtype=np.int8)
        drawn = np.concatenate([none, *(self._signs(bank, p) for p in range(len(self._parts)))])
        every = [prompt for part in self._parts for prompt in part]
        padded = -(-bucket(self.candidates + 1) // self.block) * self.block
        signs = np.zeros((len(items), padded), dtype=np.int8)
        ties = np.ones(len(items), dtype=np.int8)
        signs[held, 1 : self.candidates + 1] = drawn[chosen]
        ties[held] = hash_ties(every, self.request.tie_seed)[chosen]
        return attacker.SharedBank(signs=jnp.asarray(signs), tie_signs=jnp.asarray(ties))

    def _signs(self, bank: int, part: int) -> Int8[np.ndarray, "prompts candidates"]:
        prompts = self._parts[part]
        if (bank, part) not in self._packed:
            self._packed[bank, part] = cached_bank(
                prompts, routing_seed=self.request.bank_seed(bank), candidates=self.candidates
            )
        return unpack_signs(self._packed[bank, part], len(prompts)).T


def cached_bank(
    prompts: Sequence[str], *, routing_seed: str, candidates: int
) -> UInt8[np.ndarray, "candidates bytes"]:
    """The published routers as packed bits, from the cache where they are there."""
    if len(prompts) * candidates < SMALLEST_CACHED:
        return hash_bank(prompts, routing_seed=routing_seed, candidates=candidates)
    # Lengths keep two lists of prompts from spelling the same bytes.
    spelled = "".join(f"{len(text)}:{text}," for text in (routing_seed, *prompts))
    digest = hashlib.sha256(spelled.encode()).hexdigest()
    path = cache_directory() / "banks" / f"{digest[:32]}-{candidates}.npy"
    shape = (candidates, (len(prompts) + 7) // 8)
    packed = _read(path, shape)
    if packed is None:
        packed = hash_bank(prompts, routing_seed=routing_seed, candidates=candidates)
        _write(path, packed)
    return packed


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
