"""Incomplete matrices: what models lack, said by model, and what to leave out."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from jaxtyping import Bool

from jaxbench.errors import BadRequest, some
from jaxbench.sources.outcomes import Note

# Sets of up to this many kinds of gaps are all tried: 4,096.
MOST_KINDS = 12
# Rows of the table that a refusal shows.
MOST_SHOWN = 8
# Characters of a name; the command line shows some 1200 in all.
_WIDEST = 24


def keep_complete(
    present: Bool[np.ndarray, "models items"], models: list[str], items: list[str], choice: str
) -> tuple[Bool[np.ndarray, " models"], Bool[np.ndarray, " items"], list[Note]]:
    """Which models and items to keep, so that every kept model has every kept item.

    **Arguments:** `choice`: `refuse`, `drop_items` (leave out every item that some model lacks),
    `drop_models` (every model that lacks an item), or `drop_fewest` (models and items so that
    most scores stay; of equals, most models). Where gaps are of more than twelve kinds, by models
    and by items, models are only tried from the one with most gaps on.

    **Errors:** `BadRequest` with a table of what is missing by model; or where nothing would stay.
    """
    models_kept: np.ndarray = np.ones(len(models), dtype=bool)
    items_kept: np.ndarray = np.ones(len(items), dtype=bool)
    if present.all():
        return models_kept, items_kept, []
    if choice == "refuse":
        raise BadRequest(_refusal(present, models, items))
    if choice == "drop_items":
        items_kept = np.asarray(present.all(axis=0))
    elif choice == "drop_models":
        models_kept = np.asarray(present.all(axis=1))
    else:
        models_kept = _fewest(present)
        items_kept = np.asarray(present[models_kept].all(axis=0))
    gone = [m for m, kept in zip(models, models_kept, strict=True) if not kept]
    left_out = [i for i, kept in zip(items, items_kept, strict=True) if not kept]
    if len(gone) == len(models) or len(left_out) == len(items):
        what = "models" if len(gone) == len(models) else "items"
        raise BadRequest(
            f"missing={choice} would leave no {what}; {_refusal(present, models, items)}"
        )
    notes = []
    for what, names, whole in (("models", gone, models), ("items", left_out, items)):
        if names:
            notes.append(
                Note(
                    f"missing={choice}: {len(names)} of {len(whole)} {what} left out",
                    tuple(names),
                    shown=True,
                )
            )
    return models_kept, items_kept, notes


def _fewest(present: np.ndarray) -> np.ndarray:
    """The models to keep so that most scores stay; of equals, those with most models."""
    by_item = np.unique(present, axis=1)
    by_model = np.unique(present, axis=0)
    if by_item.shape[1] <= MOST_KINDS:
        # Keep the models that have all items of some kinds, whichever kinds these are.
        tried = (by_item[:, list(kinds)].all(axis=1) for kinds in _subsets(by_item.shape[1]))
    elif len(by_model) <= MOST_KINDS:
        kind_of = (present[:, None] == by_model[None]).all(axis=2).argmax(axis=1)
        tried = (np.isin(kind_of, list(kinds)) for kinds in _subsets(len(by_model)))
    else:
        tried = _one_after_the_other(present)
    best: np.ndarray = np.ones(len(present), dtype=bool)
    most = (-1, -1)
    for kept in tried:
        scores = int(kept.sum()) * int(present[kept].all(axis=0).sum()) if kept.any() else 0
        if (scores, int(kept.sum())) > most:
            best, most = np.asarray(kept), (scores, int(kept.sum()))
    return best


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    return (kinds for size in range(count + 1) for kinds in combinations(range(count), size))


def _one_after_the_other(present: np.ndarray) -> Iterator[np.ndarray]:
    """All models, then without the one with most gaps, then without the next."""
    kept = np.ones(len(present), dtype=bool)
    for model in np.argsort(present.sum(axis=1), kind="stable"):
        yield kept.copy()
        kept[model] = False


def _refusal(present: np.ndarray, models: list[str], items: list[str]) -> str:
    gaps = (~present).sum(axis=1)
    lacking = np.flatnonzero(gaps)
    order = lacking[np.argsort(-gaps[lacking], kind="stable")]
    worst = int(order[0])
    lines = [
        f"{len(order)} of {len(models)} models miss items; {_cut(models[worst], _WIDEST)!r} misses "
        f"{gaps[worst]} of {len(items)}: {_absent(present[worst], items, 3)}; every model needs "
        "every item: choose missing=drop_items, drop_models or drop_fewest"
    ]
    if len(order) > 1:
        shown = [_line(_cut(models[m], _WIDEST)) for m in order[:MOST_SHOWN]]
        width = max(map(len, shown))
        for m, name in zip(order, shown, strict=False):
            gone = _absent(present[m], items, 1)
            lines.append(f"  {name:<{width}} {gaps[m]:>7} missing: {gone}")
        if len(order) > MOST_SHOWN:
            lines.append(f"  and {len(order) - MOST_SHOWN} more models")
    return "\n".join(lines)


def _absent(row: np.ndarray, items: list[str], most: int) -> str:
    return some([_cut(items[i], _WIDEST) for i in np.flatnonzero(~row)], most)


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _line(name: str) -> str:
    """A name on one line, without the marks that a terminal obeys."""
    return "".join(c if c.isprintable() else " " for c in name)
