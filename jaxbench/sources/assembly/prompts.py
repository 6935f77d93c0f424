"""Which items ask the same thing: by the prompt's hash, else the document's, else the item id.

The two kinds of hash are never mixed: a benchmark uses the strongest that all its items have.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from jaxbench.benchmark.provenance import PROMPTS
from jaxbench.errors import BadRequest, some
from jaxbench.sources.outcomes import FACTS, Note


def choose_hashes(
    rows: pd.DataFrame, items: pd.DataFrame, notes: list[Note]
) -> tuple[pd.DataFrame, list[str]]:
    """The facts of every item, and what tells its prompt from others.

    **Errors:** `BadRequest` where an item is two things: two categories, two documents.
    """
    facts = items.copy()
    for fact in FACTS:
        if fact in facts:
            facts[fact] = [None if _blank(v) else v for v in facts[fact].astype(object)]
    index = pd.Index(items["item_id"])
    place = index.get_indexer(pd.Index(rows["item_id"].astype(object)))
    differ: dict[str, list[str]] = {}
    for fact in ("task", *FACTS):
        if fact not in rows or (fact in facts and fact != "task" and facts[fact].notna().all()):
            continue
        codes, uniques = pd.factorize(rows[fact])
        names = [None if _blank(v) else v for v in uniques]
        seen = (codes >= 0) & ~np.append([v is None for v in names], True)[codes].astype(bool)
        low = np.full(len(items), len(names), dtype=np.int64)
        high = np.full(len(items), -1, dtype=np.int64)
        np.minimum.at(low, place[seen], codes[seen])
        np.maximum.at(high, place[seen], codes[seen])
        differ[fact] = items["item_id"][(high >= 0) & (low != high)].tolist()
        if fact != "task":
            facts[fact] = [names[c] if c >= 0 else None for c in high.tolist()]
    for fact in ("task", "category", "subtask", "chance", "doc_hash"):
        if differ.get(fact):
            word = "document" if fact == "doc_hash" else fact
            raise BadRequest(
                f"{len(differ[fact])} items have more than one {word}: {some(differ[fact])}"
                + (
                    ": models were asked different things under one id"
                    if word == "document"
                    else ""
                )
            )
    if differ.get("prompt_hash"):
        notes.append(
            Note(
                f"models were prompted differently on {len(differ['prompt_hash'])} items, so the "
                "hash of the prompt's text is not used",
                shown=True,
            )
        )
        facts = facts.drop(columns="prompt_hash")
    for fact in FACTS:
        # A hash that is nowhere is an empty column in some files.
        if fact in facts and 0 < (lack := int(facts[fact].isna().sum())) < len(facts):
            text = (
                f"{fact} is known for {len(facts) - lack} of {len(facts)} items, so it is not used"
            )
            notes.append(Note(text, shown=True))
    for fact, kind in (("prompt_hash", "text"), ("doc_hash", "document")):
        if fact in facts and facts[fact].notna().all():
            notes.append(Note(PROMPTS[kind]))
            return facts, [str(h) for h in facts[fact]]
    notes.append(Note(PROMPTS["item"]))
    return facts, facts["item_id"].tolist()


def _blank(value: object) -> bool:
    """Whether a cell says nothing: none, NaN, or white space."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def drop_shared(
    hashes: Sequence[str], tasks: Sequence[str], items: Sequence[str]
) -> tuple[np.ndarray, list[Note]]:
    """Which items stay when those go whose prompt stands in two tasks, and a note on it."""
    frame = pd.DataFrame({"hash": list(hashes), "task": list(tasks)})
    shared = frame.groupby("hash")["task"].transform("nunique").to_numpy() > 1
    if not shared.any():
        return ~shared, []
    gone = tuple(item for item, goes in zip(items, shared, strict=True) if goes)
    prompts = frame["hash"][shared].nunique()
    if len(gone) == len(frame):
        raise BadRequest(
            "shared_prompts=drop would leave no item: every prompt stands in two tasks"
        )
    return ~shared, [
        Note(
            f"shared_prompts=drop: {len(gone)} of {len(frame)} items left out, whose {prompts} "
            "prompts stand in several tasks",
            gone,
            shown=True,
        )
    ]
