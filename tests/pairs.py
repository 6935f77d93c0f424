"""A small native pair, `items.parquet` and `scores.parquet`, whole or with something wrong."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

MODELS = ("model a", "model b", "model c")
ITEMS = tuple(f"item {number:02d}" for number in range(12))


def item_frame() -> pd.DataFrame:
    """Two tasks of six items, every item with its own prompt."""
    return pd.DataFrame(
        {
            "item_id": ITEMS,
            "task": ["left"] * 6 + ["right"] * 6,
            "prompt_sha256": [f"{number:064x}" for number in range(12)],
        }
    )


def score_frame() -> pd.DataFrame:
    """Halves, in the order of models and items: the first model leads left, the second right."""
    levels = ((1, 0), (0, 1), (0, 0))
    rows = [
        (model, item, (levels[m][i // 6] + i % 2) / 2)
        for m, model in enumerate(MODELS)
        for i, item in enumerate(ITEMS)
    ]
    return pd.DataFrame(rows, columns=["model", "item_id", "score"])


def write_pair(
    folder: Path,
    items: pd.DataFrame | pa.Table | None = None,
    scores: pd.DataFrame | pa.Table | None = None,
) -> Path:
    """Write a pair into a new folder; None: the good table."""
    folder.mkdir(parents=True)
    write_table(item_frame() if items is None else items, folder / "items.parquet")
    write_table(score_frame() if scores is None else scores, folder / "scores.parquet")
    return folder


def write_table(table: pd.DataFrame | pa.Table, path: Path) -> None:
    """Write a table as it is: NaN stays NaN, which pandas would turn into an empty cell."""
    if isinstance(table, pd.DataFrame):
        columns = {
            name: pa.array(values.tolist(), from_pandas=values.dtype != "float64")
            for name, values in table.items()
        }
        table = pa.table(columns)
    pq.write_table(table, path)
