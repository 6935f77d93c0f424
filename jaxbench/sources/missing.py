"""Incomplete matrices: what models lack, said by model, and what to leave out."""

import numpy as np
from jaxtyping import Bool

from jaxbench.errors import BadRequest, some
from jaxbench.sources.outcomes import Note

# Rows of the table that a refusal shows.
MOST_SHOWN = 12
_WIDEST = 48


def keep_complete(
    present: Bool[np.ndarray, "models items"], models: list[str], items: list[str], choice: str
) -> tuple[Bool[np.ndarray, " models"], Bool[np.ndarray, " items"], list[Note]]:
    """Which models and items to keep, so that every kept model has every kept item.

    **Arguments:** `choice`: `refuse`, `drop_items` (leave out every item that some model lacks),
    `drop_models` (every model that lacks an item), or `drop_fewest` (leave out the models with
    most gaps, one after the other, and the items that still have some, stopping where most scores
    stay; of equals, where most models stay).

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
    """The models to keep so that most scores stay."""
    kept = np.ones(len(present), dtype=bool)
    best, most = kept.copy(), -1
    gaps_of = ~present
    while kept.any():
        stay = int(kept.sum()) * int(present[kept].all(axis=0).sum())
        if stay > most:
            best, most = kept.copy(), stay
        gaps = np.where(kept, gaps_of.sum(axis=1), -1)
        if gaps.max() <= 0:
            break
        kept[int(np.argmax(gaps))] = False
    return best


def _refusal(present: np.ndarray, models: list[str], items: list[str]) -> str:
    gaps = (~present).sum(axis=1)
    lacking = np.flatnonzero(gaps)
    order = lacking[np.argsort(-gaps[lacking], kind="stable")]
    worst = int(order[0])
    lines = [
        f"{len(order)} of {len(models)} models miss items; {models[worst]!r} misses {gaps[worst]} "
        f"of {len(items)}: {_absent(present[worst], items)}; every model needs every item: choose "
        "missing=drop_items, drop_models or drop_fewest"
    ]
    if len(order) > 1:
        width = min(_WIDEST, max(len(models[m]) for m in order[:MOST_SHOWN]))
        for m in order[:MOST_SHOWN]:
            name = models[m] if len(models[m]) <= width else models[m][: width - 1] + "…"
            lines.append(f"  {name:<{width}} {gaps[m]:>7} missing: {_absent(present[m], items)}")
        if len(order) > MOST_SHOWN:
            lines.append(f"  and {len(order) - MOST_SHOWN} more models")
    return "\n".join(lines)


def _absent(row: np.ndarray, items: list[str]) -> str:
    return some([items[i] for i in np.flatnonzero(~row)])
