"""Interfaces that release a place on the board, or an interval, in place of a score.

They stand at the end of a chain, and know what the genuine rows have there. Source: spec of the
mechanisms, rules 11, 12, 13 and 17.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.interface import Interface
from jaxbench.leaderboard.mechanisms.base import Mechanism
from jaxbench.leaderboard.mechanisms.intervals import Interval, IntervalRank, wilson_table
from jaxbench.leaderboard.mechanisms.ranks import Bucket, Rank, RankAll
from jaxbench.leaderboard.mechanisms.ticks import Ticks
from jaxbench.leaderboard.mechanisms.top_k import TopK, smallest


def ranked_part(
    interface: Interface,
    genuine: Float64[np.ndarray, "trials models"],
    ticks: Ticks,
    capacity: int,
) -> Mechanism:
    """What releases a place or an interval of the overall.

    **Arguments:** `genuine`: overall losses of the genuine rows in ticks, as the mechanisms before
    release them; `capacity`: submissions of a trial at most.

    **Errors:** `BadRequest` for intervals of numbers that are no plain mean of 0/1 scores.
    """
    pool = np.sort(genuine, axis=1)
    if interface.kind == "rank":
        return RankAll(pool, capacity) if interface.everyone else Rank(pool)
    if interface.kind == "bucket":
        return Bucket(pool, np.full((1, 1), interface.size, dtype=np.float64))
    if interface.kind == "top":
        return TopK(np.asarray(smallest(jnp.asarray(pool), interface.size)))
    per_item = ticks.per_score // ticks.items
    whole = genuine / per_item
    if not ticks.plain or not np.array_equal(whole, np.rint(whole)):
        raise BadRequest(
            f"interface={interface.kind}: Wilson intervals need a mean over items scored 0 or 1, "
            "exactly; expected such scores, scoring=item_mean, precision=exact and no mechanism "
            "that changes numbers (interface=rank or bucket:B release as little)"
        )
    width = None if interface.kind == "interval_rank" else interface.width
    rows = [wilson_table(int(n), width) for n in ticks.items[:, 0]]
    # Rows may differ in their number of items: a shorter table is never read past its end.
    longest = max(len(low) for low, _ in rows)
    low, high = (
        np.stack([np.pad(row[end], (0, longest - len(row[end]))) for row in rows])
        for end in range(2)
    )
    each = per_item.astype(np.float64)
    if interface.kind == "interval":
        return Interval(low + high, each)
    counts = np.rint(whole).astype(np.int64)
    uppers = np.take_along_axis(np.broadcast_to(high, (len(counts), longest)), counts, axis=1)
    return IntervalRank(low, np.sort(uppers, axis=1), each)
