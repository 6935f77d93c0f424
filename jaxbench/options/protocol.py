"""The published protocol of a benchmark: the defaults of `preset=published`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from jaxbench.errors import BadRequest


@dataclass(frozen=True)
class Protocol:
    """How a benchmark's published attack was run; the defaults stand where there is no card.

    Source: spec of the attack, sections 2 to 7, and the option table (column `published`).
    """

    trials: int = 250
    budgets: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
    split_seed_base: int = 0
    holdout_fraction: str = "2/3"
    min_task_items: int = 1
    scoring: str = "item_mean"
    precision: str = "exact"
    endpoints: str = "top5"
    routing_seed: str = "jaxbench"
    tie_seed: str = "jaxbench"

    @classmethod
    def from_card(cls, entries: Mapping[str, Any]) -> "Protocol":
        """Read the `protocol` entry of a benchmark card (missing entries keep the default)."""
        known = {field.name for field in fields(cls)}
        if extra := set(entries) - known:
            raise BadRequest(f"benchmark card: unknown protocol entry {sorted(extra)[0]!r}")
        lists = {name: tuple(value) for name, value in entries.items() if isinstance(value, list)}
        return cls(**{**entries, **lists})
