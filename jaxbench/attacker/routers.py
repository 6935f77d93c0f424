"""Random routers: which endpoint each candidate sends a prompt to.

Source: spec of the attack, section 4. The published bank is a keyed hash of the prompt hash, so
anyone can rebuild it bit for bit, and equal prompts are routed alike by construction.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int8, UInt8


def hash_bank(
    prompts: Sequence[str], *, routing_seed: str, candidates: int
) -> UInt8[np.ndarray, "candidates bytes"]:
    """The published routers as packed bits (`numpy.packbits` order), bit 1 for sign +1.

    Candidate j sends a prompt to endpoint A (+1) if the lowest bit of
    BLAKE2b(prompt hash, key=SHA-256 of `probe|{routing_seed}|{j}`, one byte) is 1.

    **Arguments:** `prompts`: prompt hashes as text; `candidates`: routers 0 to candidates - 1.
    """
    encoded = [prompt.encode() for prompt in prompts]
    packed = np.empty((candidates, (len(encoded) + 7) // 8), dtype=np.uint8)
    for j in range(candidates):
        key = hashlib.sha256(f"probe|{routing_seed}|{j}".encode()).digest()
        packed[j] = np.packbits(_lowest_bits(encoded, key))
    return packed


def hash_ties(prompts: Sequence[str], tie_seed: str) -> Int8[np.ndarray, " prompts"]:
    """The sign that a zero vote takes, per prompt."""
    key = hashlib.sha256(f"tie|{tie_seed}".encode()).digest()
    return _signs(_lowest_bits([prompt.encode() for prompt in prompts], key))


def unpack_signs(
    packed: UInt8[np.ndarray, "candidates bytes"], prompts: int
) -> Int8[np.ndarray, "candidates prompts"]:
    """Packed bits as signs: +1 to endpoint A, -1 to endpoint B."""
    return _signs(np.unpackbits(packed, axis=1, count=prompts))


def _lowest_bits(encoded: list[bytes], key: bytes) -> UInt8[np.ndarray, " prompts"]:
    blake2b = hashlib.blake2b
    digests = b"".join([blake2b(p, key=key, digest_size=1).digest() for p in encoded])
    return np.frombuffer(digests, dtype=np.uint8) & 1


def _signs(bits: np.ndarray) -> np.ndarray:
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)
