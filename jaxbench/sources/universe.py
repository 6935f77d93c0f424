"""`items=FILE`: every item of a benchmark, for logs that leave some out."""

from pathlib import Path

import pandas as pd

from jaxbench.errors import BadRequest
from jaxbench.sources import tables
from jaxbench.sources.files import read_bytes, read_json, read_text
from jaxbench.sources.long_table import hashed
from jaxbench.sources.roles import find_roles

ROLES = ("item_id", "task", "category", "subtask", "chance", "prompt_hash", "doc_hash")


def read_items(path: Path) -> pd.DataFrame:
    """A row per item: `item_id` and what else the file says (task, category, prompt hash).

    A table (CSV, Parquet, JSON lines) with a column of items, a JSON list of ids, or a text file
    with one id a line.

    **Errors:** `BadRequest` where the file names no items, or one of them twice.
    """
    head = read_bytes(path, 65536)
    ids = None
    if not head.startswith(tables.PARQUET):
        if head.lstrip()[:1] == b"[":
            content = read_json(path)
            if all(isinstance(entry, str | int) for entry in content):
                ids = [str(entry) for entry in content]
        elif path.suffix not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json"):
            lines = [line.strip() for line in read_text(path).removeprefix("\ufeff").splitlines()]
            ids = [line for line in lines if line]
    if ids is not None:
        return _checked(pd.DataFrame({"item_id": ids}, dtype=object), path)
    names = tables.column_names(path, head)
    # A list of items may call them by a name that a table of scores keeps for tasks.
    roles = {r: c for r, c in find_roles(names, {}, (), path).items() if r in (*ROLES, "prompt")}
    if "item_id" not in roles:
        if len(names) != 1:
            raise BadRequest(
                f"{path}: no column is the item; found {', '.join(names) or 'none'}; expected "
                "item_id"
            )
        roles = {"item_id": names[0]}
    table = tables.read_table(path, list(dict.fromkeys(roles.values())))
    made = {}
    for role, column in roles.items():
        values = tables.texts(table[column], path, column)
        if role == "prompt":
            if "prompt_hash" in roles:
                continue
            role, values = "prompt_hash", hashed(values)
        made[role] = values.cast("string").to_pandas().astype(object)
    return _checked(pd.DataFrame(made), path)


def _checked(items: pd.DataFrame, path: Path) -> pd.DataFrame:
    empty = items["item_id"].isna() | (items["item_id"].astype(str).str.strip() == "")
    if items.empty or empty.any():
        row = int(empty.to_numpy().argmax()) + 1 if len(items) else 0
        raise BadRequest(f"{path}: row {row} has no item" if row else f"{path} names no item")
    return items
