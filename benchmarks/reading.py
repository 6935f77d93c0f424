"""Seconds and peak memory of reading a million scores, beside only parsing the same file.

    python benchmarks/reading.py [RESULTS.json]

Every figure is of a process of its own: 50 models x 20,000 items in ten tasks, each item with a
prompt of its own, as CSV, Parquet and JSON lines. The floor is pyarrow's reading of a CSV or
Parquet file, and `json.loads` of every line.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from machine import write

MODELS, ITEMS, TASKS = 50, 20_000, 10
REPEATS = 3
FILES = ("scores.csv", "scores_long.parquet", "scores.jsonl")


def make(folder: Path) -> None:
    """The same long table in every form."""
    rng = np.random.default_rng(0)
    item = np.tile(np.arange(ITEMS), MODELS)
    table = pa.table(
        {
            "model": [f"organisation/model-{m:02d}" for m in np.repeat(np.arange(MODELS), ITEMS)],
            "item_id": [f"item-{i:05d}" for i in item],
            "task": [f"task-{i % TASKS}" for i in item],
            "prompt": [f"Question {i}: what is {i} + {i}? Answer with a number." for i in item],
            "score": rng.integers(0, 2, len(item)).astype(float),
        }
    )
    pyarrow.csv.write_csv(table, folder / FILES[0])
    pq.write_table(table, folder / FILES[1])
    with (folder / FILES[2]).open("w") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row) + "\n")


def measure(path: Path, what: str) -> dict[str, float]:
    """Median seconds and peak MB of several processes, imports left out of the time."""
    found = []
    for _ in range(REPEATS):
        command = [sys.executable, __file__, "--one", what, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    return {
        "s": round(statistics.median(f["s"] for f in found), 2),
        "peak_mb": round(statistics.median(f["peak_mb"] for f in found)),
    }


def one(what: str, path: Path) -> None:
    """Read one file once and print what it took."""
    import jaxbench

    jaxbench.read  # noqa: B018  what it imports is not part of the time
    start = time.perf_counter()
    if what == "read":
        assert jaxbench.read(path).counts.shape == (MODELS, ITEMS)
    elif path.suffix == ".csv":
        pyarrow.csv.read_csv(path)
    elif path.suffix == ".parquet":
        pq.read_table(path)
    else:
        with path.open() as file:
            rows = [json.loads(line) for line in file]
        assert len(rows) == MODELS * ITEMS
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"s": took, "peak_mb": peak}))


def main(target: str | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # In a process of its own: a child counts its parent's peak as its own.
        subprocess.run([sys.executable, __file__, "--make", str(folder)], check=True)
        results = {
            name: {
                "file_mb": round((folder / name).stat().st_size / 2**20),
                "read": measure(folder / name, "read"),
                "only_parse": measure(folder / name, "parse"),
            }
            for name in FILES
        }
    write("reading", results, target)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
