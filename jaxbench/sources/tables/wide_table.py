"""Wide matrices: a row per item and a column per model, or the other way round."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from jaxbench.errors import BadRequest, counted, nearest
from jaxbench.options import ReadOptions
from jaxbench.sources.files import HEAD, read_bytes
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.score_values import as_fractions, score_column
from jaxbench.sources.tables import tabular
from jaxbench.sources.tables.choosing import Rows, chosen_rows, listed, where_columns
from jaxbench.sources.tables.long_table import hashed
from jaxbench.sources.tables.roles import GUESSES, spelled

# Beside the id, a matrix of items may hold these; every other column is a model.
FACT_NAMES = ("task", "category", "prompt", "prompt_hash", "prompt_sha256", "subtask", "chance")
MODEL_NAMES = ("model", "model_name", "system")
FACT_GUESSES = frozenset(
    guess
    for role, guesses in GUESSES.items()
    if role not in ("model", "score")
    for guess in guesses
)
# A column of these names sums up the others and is no model or item.
SUMMARIES = frozenset(
    ("mean", "average", "avg", "total", "overall", "sum", "median", "std", "sd", "stderr", "min",
     "max", "count", "rank")
)  # fmt: skip


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
    names = tabular.column_names(path, read_bytes(path, HEAD))
    found = orientation(names, options)
    if not names:
        raise BadRequest(f"{path} has no columns")
    if found is None:
        raise BadRequest(
            f"{path}: a wide table needs a first column named item_id (a column per model) or "
            f"model (a column per item); found {names[0]!r}; name it with columns={{item_id:NAME}}"
        )
    role, key = found
    if key not in names:
        raise BadRequest(f"{path} has no column {key!r} (columns.{role}); {nearest(key, names)}")
    facts = {} if role == "model" else _facts(names, key, options)
    where = where_columns(names, options.where, path)
    others = _score_columns(path, names, (key, *facts.values(), *where), options.score)
    if not others:
        raise BadRequest(f"{path}: no column of scores beside {key!r}")
    if nameless := [n for n in others if n.startswith(tabular.UNNAMED)]:
        raise BadRequest(
            f"{path}: {nameless[0].removeprefix('unnamed ')} has no name; expected that of a "
            f"{'model' if role == 'item_id' else 'item'}"
        )
    rows = chosen_rows(Rows.of(path, names), where)
    ids = tabular.texts(rows.table[key], path, key).cast("string").to_pylist()
    if any(not (i or "").strip() for i in ids):
        row = next(r for r, i in enumerate(ids) if not (i or "").strip())
        raise BadRequest(f"{rows.place(row)} has an empty {key}")
    by_row = pd.DataFrame({role: np.array(ids, dtype=object)} | _fact_columns(rows, facts))
    again = by_row.duplicated([c for c in by_row if c in (role, "task", "epoch")]).to_numpy()
    if again.any():
        row = int(np.argmax(again))
        raise BadRequest(
            f"{rows.place(row)}: {key} {ids[row]!r} stands more than once; a table with a row per "
            "score is told by columns={model:NAME,item_id:NAME,score:NAME}"
        )

    def place(cell: int) -> str:
        column, row = divmod(cell, len(ids))
        return f"{rows.place(row)}, column {others[column][:40]!r}"

    matrix, percent = _matrix(rows, others, place)
    if options.max_score is None and not percent:
        _check_scales(path, others, matrix)
    scores, note = as_fractions(matrix.ravel(), place, max_score=options.max_score, percent=percent)
    across = "model" if role == "item_id" else "item_id"
    long = pd.DataFrame({c: np.tile(by_row[c].to_numpy(), len(others)) for c in by_row})
    long[across] = np.repeat(np.array(others, dtype=object), len(ids))
    long["score"] = scores
    shape = (
        f"a wide table: {len(ids)} rows by {key!r}, {counted(len(others), 'column')} of scores "
        f"({listed(others)})"
    )
    notes = [Note(f"read {shape}", shown=True)]
    if note:
        notes.append(Note(note, shown=True))
    return Outcomes(long, notes=tuple(notes))


def _matrix(
    rows: Rows, columns: Sequence[str], place: Callable[[int], str]
) -> tuple[np.ndarray, bool]:
    """Scores by column and row, and whether all are written with a % sign."""
    matrix = np.empty((len(columns), rows.table.num_rows))
    # Columns of one type are read as one: there can be thousands.
    kinds: dict[str, list[int]] = {}
    for c, name in enumerate(columns):
        kinds.setdefault(str(rows.table[name].type), []).append(c)
    signs: dict[bool, str] = {}
    for group in kinds.values():
        chunks = [chunk for c in group for chunk in rows.table[columns[c]].chunks]

        def of_group(cell: int, group: list[int] = group) -> str:
            column, row = divmod(cell, matrix.shape[1])
            return place(group[column] * matrix.shape[1] + row)

        try:
            found, percent = score_column(
                pa.chunked_array(chunks, type=rows.table[columns[group[0]]].type), of_group, "score"
            )
        except BadRequest as refusal:
            raise BadRequest(
                f"{refusal}; score=[NAME,...] names the columns of scores, if this is none"
            ) from None
        matrix[group] = found.reshape(len(group), -1)
        # Nothing and 0 are what they are, with a sign or without.
        if np.nan_to_num(found).any():
            signs.setdefault(percent, columns[group[0]])
    if len(signs) == 2:
        raise BadRequest(
            f"{rows.path}: scores are written with % in column {signs[True]!r} and without in "
            f"{signs[False]!r}"
        )
    return matrix, True in signs


def _is_no_name(name: str) -> bool:
    """Whether a column is called as summaries, numbers of rows or facts of items are."""
    plain = spelled(name)
    nameless = name.startswith(tabular.UNNAMED)
    return (
        plain in SUMMARIES
        or plain in FACT_GUESSES
        or (plain.startswith("unnamed") and not nameless)
    )


def _choice(names: Sequence[str]) -> str:
    """How columns of scores are named on the command line."""
    shown = ",".join(f'"{name}"' for name in names[:6])
    return f"'score=[{shown}{',...' if len(names) > 6 else ''}]'"


def _check_scales(path: Path, columns: Sequence[str], matrix: np.ndarray) -> None:
    """Refuse columns of two scales: one of them holds something else than scores."""
    largest = np.nanmax(np.where(np.isnan(matrix), 0.0, matrix), axis=1)
    low, high = (largest > 0) & (largest <= 1), largest > 1 + 1e-6
    if low.any() and high.any():
        few = high if high.sum() <= low.sum() else low
        name, other = columns[int(np.argmax(few))], columns[int(np.argmax(~few & (largest > 0)))]
        kept = [c for c, leave in zip(columns, few, strict=True) if not leave]
        raise BadRequest(
            f"{path}: column {name!r} goes up to {largest[few][0]:g} and {other!r} up to "
            f"{largest[~few & (largest > 0)][0]:g}; leave out what holds no scores with "
            f"{_choice(kept)}, or say with max_score what a perfect score is in all"
        )


def _score_columns(
    path: Path, names: Sequence[str], taken: Sequence[str], score: Sequence[str]
) -> list[str]:
    """The columns of scores: those that the user named, or all that are nothing else.

    **Errors:** `BadRequest` for a named one that is not there, or one that sums up the others.
    """
    for name in score:
        if name not in names:
            raise BadRequest(f"{path} has no column {name!r} (score); {nearest(name, names)}")
    others = [n for n in names if n not in taken and (not score or n in score)]
    if odd := [n for n in others if _is_no_name(n) and not score]:
        raise BadRequest(
            f"{path}: column {odd[0]!r} seems to hold no scores of its own; name the columns that "
            f"do with {_choice([n for n in others if n not in odd])}"
        )
    return others


def _fact_columns(rows: Rows, facts: dict[str, str]) -> dict[str, np.ndarray]:
    """What the table says about its items, as text; of a prompt, the hash of its text."""
    made = {}
    for fact, column in facts.items():
        values = tabular.texts(rows.table[column], rows.path, column)
        if fact == "prompt":
            values, fact = hashed(values), "prompt_hash"
            if values.null_count and "prompt_hash" in made:
                continue
        made[fact] = np.asarray(values.cast("string").to_pandas(), dtype=object)
    return made


def _facts(names: Sequence[str], key: str, options: ReadOptions) -> dict[str, str]:
    """Column of every fact, the hash of prompts before their text."""
    facts = {}
    for role, column in options.columns.items():
        if role in ("item_id", "model"):
            continue
        if role not in (*FACT_NAMES, "doc_hash", "epoch"):
            raise BadRequest(f"columns.{role} means nothing for a wide table")
        facts[role] = column
    for name in names:
        plain = spelled(name).replace("prompt_sha256", "prompt_hash")
        if spelled(name) in FACT_NAMES and name != key and plain not in facts:
            facts[plain] = name
    return dict(sorted(facts.items(), key=lambda fact: fact[0] == "prompt"))
