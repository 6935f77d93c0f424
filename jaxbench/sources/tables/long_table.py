"""Long tables: a row per score, columns by any of the usual names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources.files import HEAD, read_bytes
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.prompt_text import prompt_hash
from jaxbench.sources.score_values import as_fractions, score_column
from jaxbench.sources.tables import tabular
from jaxbench.sources.tables.choosing import (
    Rows,
    categorical,
    chosen_metric,
    chosen_rows,
    listed,
    where_columns,
)
from jaxbench.sources.tables.roles import (
    GUESSES,
    VARIANTS,
    check_variants,
    find_roles,
    guessed,
    score_candidates,
    spelled,
)

TEXT_ROLES = ("model", "item_id", "task", "category", "subtask", "chance", "epoch", "prompt_hash",
              "doc_hash")  # fmt: skip
NEEDED = ("model", "item_id", "task")


@dataclass(frozen=True)
class _Part:
    """One file: its columns by role, its scores as they stand, and whether they are percent."""

    rows: Rows
    table: pa.Table
    scores: np.ndarray
    percent: bool
    variants: dict[str, str]
    notes: list[Note]


def read_long(files: Sequence[Path], options: ReadOptions) -> Outcomes:
    """Read long tables, one benchmark together; a file without a model column is one model.

    **Errors:** `BadRequest` naming file, row and column: a column that is missing or could be
    several, an empty id, a score that is none, or rows that a choice has to tell apart.
    """
    alone = len(files) == 1
    parts = [
        _read_one(f, m, options, alone) for f, m in zip(files, _model_names(files), strict=True)
    ]
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    table = pa.concat_tables(
        [part.table for part in parts], promote_options="permissive"
    ).unify_dictionaries()
    starts = np.cumsum([0, *(part.table.num_rows for part in parts)])

    def place(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        return parts[part].rows.place(row - int(starts[part]))

    notes += _check_scales(parts, options)
    scores, note = as_fractions(
        np.concatenate([part.scores for part in parts]),
        place,
        max_score=options.max_score,
        percent=options.max_score is None and _percent(parts),
    )
    if note:
        notes.append(Note(note, shown=True))
    frame = table.to_pandas()
    frame["score"] = scores
    check_variants(frame, {k: v for part in parts for k, v in part.variants.items()})
    frame, told = _one_hash(frame)
    return Outcomes(
        frame.drop(columns=[c for c in frame if str(c) in VARIANTS]), notes=(*notes, *told)
    )


def _model_names(files: Sequence[Path]) -> list[str]:
    """What a model is called whose file does not say: after the file, else the folder."""
    stems = [path.stem for path in files]
    if len(set(stems)) == len(files):
        return stems
    # Every model's results lie in a folder of its own: what differs of the paths is the name.
    paths = [path.with_suffix("").parts for path in files]
    if len({len(parts) for parts in paths}) > 1:
        shortest = zip(*paths, strict=False)
        common = next((n for n, column in enumerate(shortest) if len(set(column)) > 1), 0)
        return ["/".join(parts[common:]) for parts in paths]
    differ = [len(set(column)) > 1 for column in zip(*paths, strict=True)]
    if not any(differ):
        return [path.name for path in files]
    return ["/".join(p for p, d in zip(parts, differ, strict=True) if d) for parts in paths]


def _check_scales(parts: Sequence[_Part], options: ReadOptions) -> list[Note]:
    """Refuse files on different scales, or say so where the user has named the perfect score."""
    largest = [float(np.nanmax(p.scores, initial=0.0)) for p in parts]
    low = [n for n, most in enumerate(largest) if 0 < most <= 1]
    high = [n for n, most in enumerate(largest) if most > 1 + 1e-6]
    if not low or not high or any(part.percent for part in parts):
        return []
    said = (
        f"scores go up to {largest[low[0]]:g} in {parts[low[0]].rows.path.name} and up to "
        f"{largest[high[0]]:g} in {parts[high[0]].rows.path.name}"
    )
    if options.max_score is None:
        raise BadRequest(
            f"{parts[high[0]].rows.path}: {said}: bring the files to one scale, or say what a "
            "perfect score is in all of them with max_score"
        )
    return [Note(f"{said}: check that both are out of {options.max_score}", shown=True)]


def _percent(parts: Sequence[_Part]) -> bool:
    """Whether the files say that their scores are percentages.

    **Errors:** `BadRequest` where some say so and others with scores do not.
    """
    says = [part for part in parts if part.percent]
    silent = [p for p in parts if not p.percent and np.nan_to_num(p.scores).any()]
    if says and silent:
        raise BadRequest(
            f"{silent[0].rows.path} does not say that its scores are percentages, as "
            f"{says[0].rows.path} does; write them alike"
        )
    return bool(says)


def _read_one(path: Path, model: str, options: ReadOptions, alone: bool) -> _Part:
    names = tabular.column_names(path, read_bytes(path, HEAD))
    roles = find_roles(names, options.columns, options.score, path)
    metric = next((name for name in names if spelled(name) == "metric"), None)
    for role in ("item_id", "score"):
        if role not in roles:
            raise BadRequest(_no_role(path, role, names, roles, options))
    score = roles["score"]
    named = [n for n in names if spelled(n) in VARIANTS and n not in roles.values()]
    where = where_columns(names, options.where, path)
    rows = Rows.of(path, [*roles.values(), *named, *where])
    by_metric = metric in named and bool(options.score) and score not in options.score
    if options.score and score not in options.score and not by_metric:
        raise BadRequest(_no_role(path, "score", names, roles, options))
    rows = chosen_rows(rows, where, every=alone)
    if by_metric and metric and metric not in where:
        rows = chosen_metric(rows, metric, roles.get("task"), options.score)
    made = _columns(rows, roles)
    for name in named:
        made[spelled(name)] = tabular.texts(rows.table[name], path, name)
    same = np.zeros(rows.table.num_rows, dtype=np.int32)
    notes = []
    if "model" not in made:
        made["model"] = pa.DictionaryArray.from_arrays(same, [model])
        notes.append(Note("no column is the model: models are named after their files", shown=True))
        if "epoch" not in made and not named and _repeats(made):
            raise BadRequest(
                f"{path}: items stand several times and no column is the model; name it with "
                "columns={model:NAME}, or with columns={epoch:NAME} what tells repeats apart"
            )
    made["file"] = pa.DictionaryArray.from_arrays(same, [str(path)])
    if told := guessed(roles, options.columns):
        notes.append(Note(f"columns were guessed: {told}", shown=True))
    left = [n for n in names if spelled(n) in GUESSES["score"] and n not in roles.values()]
    if left and not options.score and "score" not in options.columns:
        notes.append(
            Note(f"scores are those of column {score!r}; not read: {listed(left)}", shown=True)
        )
    if "task" not in made and "category" in made:
        notes.append(
            Note(
                f"columns={{task:{roles['category']}}} would take the categories as tasks",
                shown=True,
            )
        )
    scores, percent = score_column(rows.table[score], rows.place, score)
    if "%" in score or {"percent", "percentage", "pct"} & set(spelled(score).split("_")):
        notes.append(Note(f"column {score!r} holds percent"))
        if options.max_score is None and 0 < np.nanmax(scores, initial=0.0) <= 1:
            raise BadRequest(
                f"{path}: column {score!r} says percent, but no score is above 1; say which with "
                "max_score=100 or max_score=1"
            )
        percent = True
    return _Part(rows, pa.table(made), scores, percent, {spelled(n): n for n in named}, notes)


def _repeats(made: Mapping[str, pa.ChunkedArray | pa.Array]) -> bool:
    """Whether an item of a task has several rows."""
    keys = [made[role].to_pandas().astype(str) for role in ("task", "item_id") if role in made]
    return bool(pd.concat(keys, axis=1).duplicated().any())


def _columns(rows: Rows, roles: dict[str, str]) -> dict[str, pa.ChunkedArray | pa.Array]:
    table, path = rows.table, rows.path
    made: dict[str, pa.ChunkedArray | pa.Array] = {}
    for role in TEXT_ROLES:
        if role in roles:
            column = tabular.texts(table[roles[role]], path, roles[role])
            if role in NEEDED:
                _check_filled(column, rows, roles[role])
            made[role] = column
    if "repeats" in roles:
        made["repeats"] = whole_repeats(rows, roles["repeats"])
    if "prompt" in roles:
        made["text_hash"] = hashed(tabular.texts(table[roles["prompt"]], path, roles["prompt"]))
    return made


def _one_hash(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """The hash of the prompts' text where every item has a text, else the table's own hash."""
    if "text_hash" not in frame:
        of_table = "prompt_hash" in frame and frame["prompt_hash"].notna().any()
        return frame, [Note("hashes of prompts are those of the table")] if of_table else []
    keys = [frame[k].astype(str) for k in ("task", "item_id") if k in frame]
    if frame["text_hash"].notna().groupby(keys).any().all():
        frame["prompt_hash"] = frame["text_hash"]
        return frame.drop(columns="text_hash"), [Note("prompts are hashed by their text")]
    lack = "some items have no text of a prompt: texts are not used to tell prompts apart"
    return frame.drop(columns="text_hash"), [Note(lack, shown=True)]


def hashed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """SHA-256 of texts with runs of white space made one space; empty stays empty."""
    chunks = []
    digests: pa.Array | None = None
    for chunk in column.unify_dictionaries().chunks:
        # All chunks have one dictionary now, and every text is hashed once.
        if digests is None:
            digests = pa.array([prompt_hash(t) for t in chunk.dictionary.to_pylist()], pa.string())
        whole = pa.DictionaryArray.from_arrays(chunk.indices, digests)
        # Texts that differ in white space only, and empty ones, made the dictionary repeat itself.
        chunks.append(whole.cast(pa.string()).dictionary_encode())
    return pa.chunked_array(chunks, type=pa.dictionary(pa.int32(), pa.string()))


def whole_repeats(rows: Rows, column: str) -> pa.Array:
    """How many runs each score is the mean of.

    **Errors:** `BadRequest` naming the first row that is no whole number >= 1.
    """
    spelled_out = rows.texts(column)
    read = [pd.to_numeric(str(v), errors="coerce") for v in spelled_out.cat.categories]
    good = np.array([np.isfinite(n) and n >= 1 and n == np.rint(n) for n in read], dtype=bool)
    codes = spelled_out.cat.codes.to_numpy()
    bad = (codes < 0) | ~np.append(good, False)[codes]
    if bad.any():
        row = int(np.argmax(bad))
        found = "none" if codes[row] < 0 else repr(str(spelled_out.iloc[row])[:40])
        raise BadRequest(
            f"{rows.place(row)} has {column} {found}, expected a whole number of runs >= 1"
        )
    return pa.array(np.array(read, dtype=np.int64)[codes])


def _check_filled(column: pa.ChunkedArray, rows: Rows, name: str) -> None:
    values = categorical(column)
    blank = [c for c, text in enumerate(values.cat.categories) if not str(text).strip()]
    codes = values.cat.codes.to_numpy()
    empty = (codes < 0) | np.isin(codes, blank)
    if empty.any():
        raise BadRequest(f"{rows.place(int(np.argmax(empty)))} has an empty {name}")


def _no_role(path: Path, role: str, names, roles, options: ReadOptions) -> str:
    found = listed(names)
    if role == "score":
        if options.score:
            return f"{path} has no score column {' or '.join(options.score)}; found {found}"
        if several := score_candidates(names, roles):
            choose = " or ".join(f"score={name}" for name in several)
            return f"{path}: several columns could be the score; choose {choose}"
    return f"{path}: no column is the {role}; found {found}; name it with columns={{{role}:NAME}}"
