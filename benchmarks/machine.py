"""What a measurement was made on, and how it is written down."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import jax

PACKAGES = ("jaxbench", "jax", "jaxlib", "numpy", "pandas")


def describe() -> dict[str, object]:
    """Machine and versions."""
    device = jax.devices()[0]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "device": f"{device.platform}: {device.device_kind}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
    }


def seconds(run: Callable[[], object], repeats: int) -> list[float]:
    """Wall seconds of `repeats` calls, each until its arrays are there."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(run())
        found.append(time.perf_counter() - start)
    return found


def paired(run: Callable[[], object], floor: Callable[[], object], repeats: int) -> dict:
    """Milliseconds of both, taken in turns, and the median of the ratios of neighbours.

    On a shared machine a ratio of neighbours holds where absolute times drift.
    """
    seconds(run, 2), seconds(floor, 2)
    pairs = [(seconds(run, 1)[0], seconds(floor, 1)[0]) for _ in range(repeats)]
    return {
        "ms": round(1e3 * statistics.median(p[0] for p in pairs), 2),
        "floor_ms": round(1e3 * statistics.median(p[1] for p in pairs), 2),
        "ratio": round(statistics.median(p[0] / p[1] for p in pairs), 2),
    }


def write(name: str, results: dict[str, object], target: str | None) -> None:
    """Print the results as JSON, and write them to `target` if it is given."""
    text = json.dumps({"benchmark": name, "machine": describe(), "results": results}, indent=2)
    print(text)
    if target:
        Path(target).write_text(text + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
