"""Items under names that are distinct over tasks, each with its task."""

from collections.abc import Callable

import pandas as pd

from jaxbench.errors import BadRequest, some
from jaxbench.sources.outcomes import Note

ONE_TASK = "all"


def keyed(
    rows: pd.DataFrame,
    given: pd.DataFrame | None,
    task_of: Callable[[str], str] | None,
    notes: list[Note],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and items under names of items that are distinct over tasks.

    **Arguments:** `given`: the list of all items, if there is one; `task_of`: the task of an item
    id, where a format knows it.

    **Errors:** `BadRequest` for an item that is listed twice, is not in the list, or has no task.
    """
    rows = rows.copy(deep=False)
    return _listed(rows, given, task_of, notes) if given is not None else _found(rows, notes)


def _listed(
    rows: pd.DataFrame,
    given: pd.DataFrame,
    task_of: Callable[[str], str] | None,
    notes: list[Note],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows beside a list of all items, whose tasks come first."""
    items = given.copy(deep=False)
    repeated = items["item_id"].duplicated()
    if repeated.any() and "task" in items and "task" in rows:
        items["item_id"], rows["item_id"] = _by_task(items), _by_task(rows)
        repeated = items["item_id"].duplicated()
        notes.append(Note("item ids stand in several tasks: items are named TASK/ID"))
    if twice := items["item_id"][repeated].unique().tolist():
        raise BadRequest(f"an item stands more than once in the list of items: {some(twice)}")
    place = pd.Index(items["item_id"]).get_indexer(pd.Index(rows["item_id"].astype(object)))
    if (place < 0).any():
        strange = rows["item_id"][place < 0]
        raise BadRequest(
            f"{strange.nunique()} items have scores but are not in the list of items: "
            f"{some(strange.astype(str).unique())}"
        )
    if "task" not in items:
        items["task"] = _tasks(rows, items["item_id"], task_of)
    elif "task" in rows:
        rows = rows.drop(columns="task")
    return rows, items.reset_index(drop=True)


def _tasks(
    rows: pd.DataFrame, item_ids: pd.Series, task_of: Callable[[str], str] | None
) -> pd.Series | str:
    """The task of every listed item, from the rows, from its id, or the only one there is."""
    if "task" not in rows:
        return ONE_TASK
    pairs = rows[["item_id", "task"]].drop_duplicates()
    if twice := pairs["item_id"][pairs["item_id"].duplicated()].unique().tolist():
        raise BadRequest(
            f"{len(twice)} item ids stand in several tasks ({some(map(str, twice))}); "
            "give a column task in the list of items"
        )
    first = pairs.set_index("item_id")["task"]
    known = item_ids.map(first.astype(object))
    if task_of:
        known = known.where(known.notna(), item_ids.map(task_of))
    if first.nunique() == 1:
        known = known.fillna(first.iloc[0])
    if known.isna().any():
        lack = item_ids[known.isna()].tolist()
        raise BadRequest(
            f"no task is known for {len(lack)} items ({some(lack)}); give a column "
            "task in the list of items"
        )
    return known


def _found(rows: pd.DataFrame, notes: list[Note]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The items that rows name."""
    if "task" not in rows:
        notes.append(Note("no task is named: all items are one task", shown=True))
        rows["task"] = ONE_TASK
    pairs = rows[["item_id", "task"]].drop_duplicates()
    if pairs["item_id"].duplicated().any():
        repeated = pairs["item_id"].duplicated(keep=False)
        notes.append(
            Note(
                f"{pairs['item_id'][repeated].nunique()} item ids stand in several tasks: items "
                "are named TASK/ID"
            )
        )
        rows["item_id"] = _by_task(rows)
        pairs = rows[["item_id", "task"]].drop_duplicates()
        if twice := pairs["item_id"][pairs["item_id"].duplicated()].unique().tolist():
            raise BadRequest(
                f"item ids stand in several tasks, and TASK/ID names two items alike: {some(twice)}"
            )
    return rows, pairs.astype(object).reset_index(drop=True)


def _by_task(frame: pd.DataFrame) -> pd.Series:
    return frame["task"].astype(str) + "/" + frame["item_id"].astype(str)
