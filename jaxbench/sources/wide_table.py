"""Wide matrices: a row per item and a column per model, or the other way round."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources import tables
from jaxbench.sources.files import read_bytes
from jaxbench.sources.long_table import hashed
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.roles import GUESSES, spelled
from jaxbench.sources.score_values import as_fractions, score_column

# Beside the id, a matrix of items may hold these; every other column is a model.
FACT_NAMES = ("task", "category", "prompt", "prompt_hash", "prompt_sha256", "subtask", "chance")
MODEL_NAMES = ("model", "model_name", "system")


def orientation(names: Sequence[str], options: ReadOptions) -> tuple[str, str] | None:
    """Whether rows are `item_id`s or `model`s, and the column that names them; None: no matrix."""
    for role in ("model", "item_id"):
        if role in options.columns:
            return role, options.columns[role]
    first = names[0] if names else ""
    if spelled(first) in MODEL_NAMES:
        return "model", first
    if spelled(first) in GUESSES["item_id"]:
        return "item_id", first
    by_name = {spelled(name): name for name in names}
    for guess in GUESSES["item_id"][:4]:
        if guess in by_name:
            return "item_id", by_name[guess]
    return None


def read_wide(files: Sequence[Path], options: ReadOptions) -> Outcomes:
    """Read a matrix of scores.

    **Errors:** `BadRequest` for more than one file, a repeated row, or a cell that is no score.
    """
    if len(files) > 1:
        raise BadRequest(
            f"{files[0].parent} holds {len(files)} wide tables; expected one, or long tables with "
            "one row per score"
        )
    path = files[0]
    names = tables.column_names(path, read_bytes(path, 65536))
    found = orientation(names, options)
    if found is None:
        raise BadRequest(
            f"{path}: a wide table needs a first column named item_id (a column per model) or "
            f"model (a column per item); found {names[0]!r}"
        )
    role, key = found
    facts = {} if role == "model" else _facts(names, key, options)
    where = [column for column in options.where if column in names]
    others = [n for n in names if n not in (key, *facts.values(), *where)]
    if not others:
        raise BadRequest(f"{path}: no column of scores beside {key!r}")
    table = tables.read_table(path, names)
    if not table.num_rows:
        raise BadRequest(f"{path} has no rows")
    ids = tables.texts(table[key], path, key).cast("string").to_pylist()
    if any(not (i or "").strip() for i in ids):
        row = next(r for r, i in enumerate(ids) if not (i or "").strip())
        raise BadRequest(f"{path}: row {row + 1} of {len(ids)} has an empty {key}")
    matrix = np.empty((len(others), len(ids)))
    percents = []
    for c, name in enumerate(others):
        matrix[c], percent = score_column(table[name], tables.place_in(path, len(ids)), name)
        percents.append(percent)

    def place(cell: int) -> str:
        column, row = divmod(cell, len(ids))
        return f"{path}: row {row + 1} of {len(ids)}, column {others[column]!r}"

    scores, note = as_fractions(
        matrix.ravel(), place, max_score=options.max_score, percent=any(percents)
    )
    across = "model" if role == "item_id" else "item_id"
    rows = pd.DataFrame(
        {
            role: np.tile(np.array(ids, dtype=object), len(others)),
            across: np.repeat(np.array(others, dtype=object), len(ids)),
            "score": scores,
        }
    )
    for fact, column in facts.items():
        values = tables.texts(table[column], path, column)
        if fact == "prompt":
            values, fact = hashed(values), "prompt_hash"
        rows[fact] = np.tile(
            np.asarray(values.cast("string").to_pandas(), dtype=object), len(others)
        )
    shape = f"a wide table: {len(ids)} rows by {key!r}, {len(others)} columns of scores"
    notes = [Note(f"read {shape}", shown=True)]
    if note:
        notes.append(Note(note, shown=True))
    return Outcomes(rows, notes=tuple(notes))


def _facts(names: Sequence[str], key: str, options: ReadOptions) -> dict[str, str]:
    facts = {r: c for r, c in options.columns.items() if r not in ("item_id", "model")}
    for name in names:
        plain = spelled(name).replace("prompt_sha256", "prompt_hash")
        if spelled(name) in FACT_NAMES and name != key and plain not in facts:
            facts[plain] = name
    return facts
