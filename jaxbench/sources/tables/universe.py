"""`items=FILE`: every item of a benchmark, for logs that leave some out."""

import re
from pathlib import Path

import pandas as pd

from jaxbench.errors import BadRequest
from jaxbench.sources.files import HEAD, read_bytes, read_json, read_text, start_of
from jaxbench.sources.tables import tabular
from jaxbench.sources.tables.choosing import listed
from jaxbench.sources.tables.long_table import hashed
from jaxbench.sources.tables.roles import find_roles

ROLES = ("item_id", "task", "category", "subtask", "chance", "prompt_hash", "doc_hash")


def read_items(path: Path) -> pd.DataFrame:
    """A row per item: `item_id` and what else the file says (task, category, prompt hash).

    A table (CSV, Parquet, JSON lines) with a column of items, a JSON list of ids, or a text file
    with one id a line.

    **Errors:** `BadRequest` where the file names no items, or one of them twice.
    """
    head = read_bytes(path, HEAD)
    ids = None
    if not head.startswith(tabular.PARQUET):
        suffix = path.suffix.lower()
        if suffix not in (".csv", ".tsv", ".txt") and start_of(head).lstrip()[:1] == "[":
            content = read_json(path)
            if all(isinstance(entry, str | int) for entry in content):
                ids = [str(entry) for entry in content]
        elif suffix not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json"):
            ids = [line.strip() for line in re.split(r"\r\n|\r|\n", read_text(path))]
            ids = [line for line in ids if line]
    if ids is not None:
        return _checked(pd.DataFrame({"item_id": ids}, dtype=object), path)
    names = tabular.column_names(path, head)
    # A list of items may call them by a name that a table of scores keeps for tasks.
    roles = {r: c for r, c in find_roles(names, {}, (), path).items() if r in (*ROLES, "prompt")}
    if "item_id" not in roles:
        raise BadRequest(
            f"{path}: no column is the item; found {listed(names) or 'none'}; expected item_id "
            "(a list without a header is a text file)"
        )
    table = tabular.read_table(path, list(dict.fromkeys(roles.values())))
    made = {}
    # The text of prompts comes last: its hash stands for the column of hashes.
    for role, column in sorted(roles.items(), key=lambda role: role[0] == "prompt"):
        values = tabular.texts(table[column], path, column)
        if role == "prompt":
            role, values = "prompt_hash", hashed(values)
            if values.null_count and "prompt_hash" in made:
                continue
        made[role] = values.cast("string").to_pandas().astype(object)
    return _checked(pd.DataFrame(made), path)


def _checked(items: pd.DataFrame, path: Path) -> pd.DataFrame:
    empty = items["item_id"].isna() | (items["item_id"].astype(str).str.strip() == "")
    if items.empty or empty.any():
        row = int(empty.to_numpy().argmax()) + 1 if len(items) else 0
        raise BadRequest(f"{path}: row {row} has no item" if row else f"{path} names no item")
    keys = [key for key in ("item_id", "task") if key in items]
    if (again := items.duplicated(keys)).any():
        row = int(again.to_numpy().argmax())
        raise BadRequest(
            f"{path}: row {row + 1} names item {str(items['item_id'].iloc[row])!r} a second time"
        )
    return items
