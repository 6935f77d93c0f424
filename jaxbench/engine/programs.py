"""Compiled programs: what they are made for, how long compiling took, and what they need."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from jaxbench.engine import kernel, reduced


@dataclass(frozen=True)
class Program:
    """One compiled form of the kernel.

    `bytes` are arguments, outcomes and working memory of a call, as the compiler counts them;
    `seconds` went into tracing and compiling.
    """

    rows: int
    slots: int
    units: int
    budgets: int
    conditions: int
    views: int
    arithmetic: str
    bytes: int
    seconds: float


class Programs:
    """Compiles each program once, before its first call, and remembers what it needs.

    The call itself goes through `jax.jit`, which finds what was compiled here.
    """

    def __init__(self, told: Callable[[Program], None] | None = None):
        self.told = told
        self._made: dict[object, Program] = {}

    def __iter__(self):
        """The programs so far."""
        return iter(self._made.values())

    def compiled(self, arguments: tuple, static: dict) -> Program:
        """The program of these arguments (inside `jax.enable_x64(True)`)."""
        rows, _, budgets, rules = arguments
        facts = {
            "rows": rows.public.shape[0],
            "slots": rows.public.shape[2],
            "units": len(static["sizes"]),
            "budgets": len(budgets),
            "conditions": len(rules.view_of),
            "views": rows.public.shape[1],
            "arithmetic": static["arithmetic"].name,
        }
        return self._program(kernel.attack_rows, arguments, static, facts)

    def compiled_reduced(self, arguments: tuple, shape: reduced.Shape) -> Program:
        """The reduced simulator's program (inside `jax.enable_x64(True)`)."""
        rows, budgets, _, _ = arguments
        facts = {
            "rows": len(rows.step),
            "slots": sum(shape.slots),
            "units": len(shape.slots),
            "budgets": len(budgets),
            "conditions": 1,
            "views": 1,
            "arithmetic": "reduced",
        }
        return self._program(reduced.reduced_rows, arguments, {"shape": shape}, facts)

    def _program(self, call: Any, arguments: tuple, static: dict, facts: dict) -> Program:
        leaves, tree = jax.tree.flatten(arguments)
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        key = (call, tree, shapes, tuple(static.items()))
        if key not in self._made:
            start = time.perf_counter()
            made = call.lower(*arguments, **static).compile().memory_analysis()
            seconds = time.perf_counter() - start
            self._made[key] = Program(**facts, bytes=_bytes(made), seconds=seconds)
            if self.told:
                self.told(self._made[key])
        return self._made[key]


def _bytes(analysis: object) -> int:
    """Memory of a call; 0 where a backend does not say."""
    parts = ("argument", "output", "temp")
    return sum(int(getattr(analysis, f"{part}_size_in_bytes", 0)) for part in parts)
