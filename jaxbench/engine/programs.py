"""Compiled programs: what they are made for, how long compiling took, and what they need."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax

from jaxbench.engine import kernel


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
        leaves, tree = jax.tree.flatten(arguments)
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        key = (tree, shapes, tuple(static.items()))
        if key not in self._made:
            start = time.perf_counter()
            made = kernel.attack_rows.lower(*arguments, **static).compile().memory_analysis()
            rows, _, budgets, rules = arguments
            self._made[key] = Program(
                rows=rows.public.shape[0],
                slots=rows.public.shape[2],
                units=len(static["sizes"]),
                budgets=len(budgets),
                conditions=len(rules.view_of),
                views=rows.public.shape[1],
                arithmetic=static["arithmetic"].name,
                bytes=_bytes(made),
                seconds=time.perf_counter() - start,
            )
            if self.told:
                self.told(self._made[key])
        return self._made[key]


def _bytes(analysis: object) -> int:
    """Memory of a call; 0 where a backend does not say."""
    parts = ("argument", "output", "temp")
    return sum(int(getattr(analysis, f"{part}_size_in_bytes", 0)) for part in parts)
