"""Prompts by their text."""

import hashlib


def prompt_hash(text: str | None) -> str | None:
    """SHA-256, in hexadecimal, of a prompt with runs of white space made one space."""
    plain = " ".join((text or "").split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest() if plain else None
