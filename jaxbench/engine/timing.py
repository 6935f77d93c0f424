"""Seconds of a run: what went into compiling, and what into running."""

import time

import jax

_COMPILE_EVENTS = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)


class Stopwatch:
    """Wall seconds inside its blocks, with those that jax spent on tracing and compiling apart."""

    def __init__(self) -> None:
        self.total = self.compile = 0.0

    def __enter__(self) -> "Stopwatch":
        self._start = time.perf_counter()
        jax.monitoring.register_event_duration_secs_listener(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self.total += time.perf_counter() - self._start
        jax.monitoring.unregister_event_duration_listener(self._hear)

    @property
    def run(self) -> float:
        """Seconds that were not spent on compiling."""
        return max(0.0, self.total - self.compile)

    def _hear(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event in _COMPILE_EVENTS:
            self.compile += duration_secs
