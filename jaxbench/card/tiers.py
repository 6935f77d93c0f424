"""Tiers and rank bounds: what is left of a ranking when chance is allowed for."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from jaxtyping import Float64, Int


def tiers(
    totals: Sequence[int],
    order: Sequence[int],
    p: Float64[np.ndarray, "models models"],
    alpha: float,
) -> Int[np.ndarray, " models"]:
    """The tier of every model, 1 for the best.

    Down the ranking, a model joins the tier unless it can be told (`p < alpha`) from the tier's
    best model; then it starts the next. Models with equal scores go together whatever their
    names: several can be best, and a group of equals joins if any of it cannot be told from any
    of them.

    **Arguments:** `totals`: whole scores; `order`: the models, best first.
    """
    found = np.zeros(len(totals), dtype=np.int64)
    best: list[int] = []
    number = 0
    for _, equals in groupby(order, key=totals.__getitem__):
        group = list(equals)
        if not best or p[np.ix_(best, group)].max() < alpha:
            best, number = group, number + 1
        found[group] = number
    return found


def rank_bounds(
    totals: Sequence[int], p: Float64[np.ndarray, "models models"], alpha: float
) -> tuple[Int[np.ndarray, " models"], Int[np.ndarray, " models"]]:
    """The best and the worst rank that every model could really have.

    1 plus the models that are surely better (`p < alpha` and a higher score), and the number of
    models less those that are surely worse. With p adjusted for all pairs the bounds hold for all
    models at once, but for a chance of `alpha` (Mogstad, Romano, Shaikh and Wilhelm 2024, with
    Holm's correction in place of their bootstrap).
    """
    score = np.array(totals, dtype=object)
    higher = (score[:, None] > score[None, :]).astype(bool)
    # NaN on the diagonal is never below alpha.
    surely = higher & (p < alpha)
    return 1 + surely.sum(axis=0), len(totals) - surely.sum(axis=1)
