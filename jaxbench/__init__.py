"""jaxbench: how far can a benchmark number be trusted?

    import jaxbench

    benchmark = jaxbench.load("terminal_science")
    result = jaxbench.attack(benchmark, budgets=[1, 8, 128])
    result.summary()

Names are loaded on first use, so that importing jaxbench does not import jax.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxbench.benchmark import Benchmark as Benchmark
    from jaxbench.card import Card as Card
    from jaxbench.errors import BadRequest as BadRequest
    from jaxbench.jobs.attack import AttackResult as AttackResult
    from jaxbench.jobs.attack import attack as attack
    from jaxbench.jobs.describe import describe as describe
    from jaxbench.jobs.sweep import SweepResult as SweepResult
    from jaxbench.jobs.sweep_into import sweep as sweep
    from jaxbench.sources import load as load
    from jaxbench.sources import read as read
    from jaxbench.sources import write as write
    from jaxbench.synthetic import World as World
    from jaxbench.synthetic import world as world

_HOMES = {
    "AttackResult": "jaxbench.jobs.attack",
    "BadRequest": "jaxbench.errors",
    "Benchmark": "jaxbench.benchmark",
    "Card": "jaxbench.card",
    "SweepResult": "jaxbench.jobs.sweep",
    "World": "jaxbench.synthetic",
    "attack": "jaxbench.jobs.attack",
    "describe": "jaxbench.jobs.describe",
    "load": "jaxbench.sources",
    "read": "jaxbench.sources",
    "sweep": "jaxbench.jobs.sweep_into",
    "world": "jaxbench.synthetic",
    "write": "jaxbench.sources",
}
__all__ = [
    "AttackResult", "BadRequest", "Benchmark", "Card", "SweepResult", "World", "__version__",
    "attack", "describe", "load", "read", "sweep", "world", "write",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("jaxbench")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'jaxbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
