"""Files of outcomes: small tables, what was read and said, and how files are refused."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest

# Two models, three items in two tasks; every cell tells row from column and model from model.
ROWS = (
    ("a", "q1", "t", 1), ("a", "q2", "t", 0), ("a", "q3", "u", 1),
    ("b", "q1", "t", 0), ("b", "q2", "t", 0), ("b", "q3", "u", 1),
)  # fmt: skip
HEADER = ("model", "item_id", "task", "score")
MATRIX = [[1, 0, 1], [0, 0, 1]]
CSV = "\n".join([",".join(HEADER), *(",".join(map(str, row)) for row in ROWS)]) + "\n"


def put(path: Path, content: str | bytes | pd.DataFrame | pa.Table) -> Path:
    """Write a file, folders and all: text as UTF-8, tables as Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pd.DataFrame):
        content = pa.Table.from_pandas(content, preserve_index=False)
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def lines(*rows: str) -> str:
    """Rows of a CSV file."""
    return "\n".join(rows) + "\n"


def scores(benchmark: Benchmark) -> dict[str, dict[str, float]]:
    """Score by model and item."""
    return {
        model: dict(zip(benchmark.items, row, strict=True))
        for model, row in zip(benchmark.models, benchmark.scores.tolist(), strict=True)
    }


def notes(benchmark: Benchmark) -> str:
    """What was said about the reading, a line each."""
    return "\n".join(benchmark.provenance)


def refuse(path: Path, *words: str, starts: Path | None = None, most: int = 1, **options) -> str:
    """Refused with these words; the message starts with the path."""
    with pytest.raises(BadRequest) as refusal:
        jaxbench.read(path, **options)
    text = str(refusal.value)
    assert text.startswith(str(starts or path)), text
    assert len(text.splitlines()) <= most, text
    for word in words:
        assert word in text, (word, text)
    return text


def noted(benchmark: Benchmark, *words: str) -> None:
    """Exactly one sentence of the provenance holds all these words."""
    found = [note for note in benchmark.provenance if all(word in note for word in words)]
    assert len(found) == 1, (words, benchmark.provenance)
