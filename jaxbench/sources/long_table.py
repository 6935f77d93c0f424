"""Long tables: a row per score, columns by any of the usual names."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from jaxbench.errors import BadRequest, some
from jaxbench.options import ReadOptions
from jaxbench.sources import tables
from jaxbench.sources.files import read_bytes
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.roles import (
    VARIANTS,
    check_variants,
    find_roles,
    guessed,
    score_candidates,
    spelled,
)
from jaxbench.sources.score_values import as_fractions, score_column

TEXT_ROLES = ("model", "item_id", "task", "category", "subtask", "chance", "epoch", "prompt_hash",
              "doc_hash")  # fmt: skip
NEEDED = ("model", "item_id", "task")


def read_long(files: Sequence[Path], options: ReadOptions) -> Outcomes:
    """Read long tables, one benchmark together; a file without a model column is one model.

    **Errors:** `BadRequest` naming file, row and column: a column that is missing or could be
    several, an empty id, a score that is none, or rows that a choice has to tell apart.
    """
    parts, notes = [], []
    for path in files:
        part, told = _read_one(path, options)
        parts.append(part)
        notes += [note for note in told if note not in notes]
    table = pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()
    starts = np.cumsum([0, *(part.num_rows for part in parts)])

    def place(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        return tables.place_in(files[part], parts[part].num_rows)(row - int(starts[part]))

    scores, percent = score_column(table["score"], place, "score")
    # A header may say it: score_pct.
    percent = percent or any(note.text.endswith("percent") for note in notes)
    scores, note = as_fractions(scores, place, max_score=options.max_score, percent=percent)
    if note:
        notes.append(Note(note, shown=True))
    frame = table.drop_columns(["score"]).to_pandas()
    frame["score"] = scores
    check_variants(frame, options)
    return Outcomes(
        frame.drop(columns=[c for c in frame if str(c) in VARIANTS]), notes=tuple(notes)
    )


def _read_one(path: Path, options: ReadOptions) -> tuple[pa.Table, list[Note]]:
    names = tables.column_names(path, read_bytes(path, 65536))
    roles = find_roles(names, options.columns, options.score, path)
    metric = next((name for name in names if spelled(name) == "metric"), None)
    for role in ("item_id", "score"):
        if role not in roles:
            raise BadRequest(_no_role(path, role, names, roles, options))
    variants = [n for n in names if spelled(n) in VARIANTS and n not in roles.values()]
    for column in options.where:
        if column not in names:
            raise BadRequest(f"{path} has no column {column!r} (where); found {', '.join(names)}")
    wanted = list(dict.fromkeys([*roles.values(), *variants, *options.where]))
    table = tables.read_table(path, wanted)
    if not table.num_rows:
        raise BadRequest(f"{path} has no rows")
    where = dict(options.where)
    if metric and options.score and roles["score"] not in options.score:
        where[metric] = _chosen_metric(table[metric], options.score, path)
    table = _filtered(table, where, path)
    made = _columns(table, roles, path)
    for name in variants:
        made[spelled(name)] = tables.texts(table[name], path, name)
    rows = table.num_rows
    if "model" not in made:
        model = path.stem
        made["model"] = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [model])
    file = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [str(path)])
    made["file"] = file
    notes = []
    if told := guessed(roles, options.columns):
        notes.append(Note(f"columns were guessed: {told}", shown=True))
    if "percent" in spelled(roles["score"]) or spelled(roles["score"]).endswith("_pct"):
        notes.append(Note(f"column {roles['score']!r} holds percent"))
    return pa.table(made), notes


def _columns(table: pa.Table, roles: dict[str, str], path: Path) -> dict[str, pa.ChunkedArray]:
    made: dict[str, pa.ChunkedArray] = {"score": table[roles["score"]]}
    for role in TEXT_ROLES:
        if role in roles:
            made[role] = tables.texts(table[roles[role]], path, roles[role])
            if role in NEEDED:
                _check_filled(made[role], path, roles[role])
    if "repeats" in roles:
        made["repeats"] = whole_repeats(table[roles["repeats"]], path)
    if "prompt" in roles and "prompt_hash" not in roles:
        made["prompt_hash"] = hashed(tables.texts(table[roles["prompt"]], path, roles["prompt"]))
    return made


def hashed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """SHA-256 of texts with runs of white space made one space; empty stays empty."""
    chunks = []
    for chunk in column.unify_dictionaries().chunks:
        digests = [prompt_hash(t) for t in chunk.dictionary.to_pylist()]
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, pa.array(digests, pa.string())))
    return pa.chunked_array(chunks, type=pa.dictionary(pa.int32(), pa.string()))


def prompt_hash(text: str | None) -> str | None:
    """SHA-256, in hexadecimal, of a prompt with runs of white space made one space."""
    plain = " ".join((text or "").split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest() if plain else None


def whole_repeats(values: pa.ChunkedArray, path: Path) -> pa.Array:
    """How many runs each score is the mean of.

    **Errors:** `BadRequest` naming the first row that is no whole number >= 1.
    """
    try:
        numbers = values.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        raise BadRequest(
            f"{path}: column 'repeats' holds {values.type}, expected numbers"
        ) from None
    bad = ~np.isfinite(numbers) | (numbers < 1) | (numbers != np.rint(numbers))
    if bad.any():
        row = int(np.argmax(bad))
        raise BadRequest(
            f"{path}: row {row + 1} of {len(numbers)} has repeats {numbers[row]}, expected a whole "
            "number of runs >= 1"
        )
    return pa.array(numbers.astype(np.int64))


def _check_filled(column: pa.ChunkedArray, path: Path, name: str) -> None:
    values = _categorical(column)
    blank = [c for c, text in enumerate(values.cat.categories) if not str(text).strip()]
    empty = values.isna().to_numpy() | np.isin(values.cat.codes.to_numpy(), blank)
    if empty.any():
        row = int(np.argmax(empty)) + 1
        raise BadRequest(f"{path}: row {row} of {len(column)} has an empty {name}")


def _categorical(column: pa.ChunkedArray) -> pd.Series:
    return column.unify_dictionaries().to_pandas()


def _filtered(table: pa.Table, where: dict[str, tuple[str, ...]], path: Path) -> pa.Table:
    for column, values in where.items():
        found = _categorical(tables.texts(table[column], path, column))
        kept = found.isin(values).to_numpy()
        if not kept.any():
            there = some([str(v) for v in found.cat.categories], most=8)
            raise BadRequest(f"{path}: no row has {column}={' or '.join(values)}; found {there}")
        table = table.filter(pa.array(kept))
    return table


def _chosen_metric(column: pa.ChunkedArray, score: Sequence[str], path: Path) -> tuple[str, ...]:
    there = [str(v) for v in _categorical(tables.texts(column, path, "metric")).cat.categories]
    chosen = [s for s in score if s in there]
    if not chosen:
        raise BadRequest(f"{path}: no score {' or '.join(score)}; found {some(there, most=8)}")
    return (chosen[0],)


def _no_role(path: Path, role: str, names, roles, options: ReadOptions) -> str:
    found = ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
    if role == "score":
        if options.score:
            return f"{path} has no score column {' or '.join(options.score)}; found {found}"
        if several := score_candidates(names, roles):
            choose = " or ".join(f"score={name}" for name in several)
            return f"{path}: several columns could be the score; choose {choose}"
    return f"{path}: no column is the {role}; found {found}; name it with columns={{{role}:NAME}}"
