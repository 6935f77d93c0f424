"""What a board is good for: the pairs of genuine models whose order it tells.

Source: spec of feedback (policies). The price of releasing less stands beside the harm that it
prevents.
"""

import numpy as np
from jaxtyping import Float64

# A pair counts where its held-out scores are this far apart (fraction of the score).
FAR_APART = 0.01
# Differences of one row of pairs that are held at a time.
MOST_DIFFERENCES = 2**18


def pair_order_kept(
    public: Float64[np.ndarray, "trials models"],
    hidden: Float64[np.ndarray, "trials models"],
    *,
    decimals: int,
) -> Float64[np.ndarray, " trials"]:
    """The share of pairs of genuine models that the board puts in their held-out order.

    Pairs that are at least 1 pp apart held out count; a public tie does not tell their order.
    Losses are rounded to `decimals`, and differences are those of the rounded losses.

    **Arguments:** what models are ranked by on either side of the split (higher is better).

    **Returns:** a share in [0, 1] per trial; NaN where no pair is that far apart.
    """
    unit = 10.0**decimals
    apart = np.rint(FAR_APART * unit)
    trials, models = public.shape
    right, far = np.zeros((2, trials), dtype=np.int64)
    together = max(1, MOST_DIFFERENCES // models)
    for first in range(0, trials, together):
        here = slice(first, first + together)
        # Whole numbers that float64 holds exactly; models first, so that a row of pairs is one
        # block of memory.
        board, truth = (np.rint((1.0 - x[here].T) * unit) for x in (public, hidden))
        for model in range(models - 1):
            ahead = truth[model + 1 :] - truth[model]
            seen = board[model + 1 :] - board[model]
            better, worse = ahead >= apart, ahead <= -apart
            far[here] += np.count_nonzero(better | worse, axis=0)
            right[here] += np.count_nonzero((better & (seen > 0)) | (worse & (seen < 0)), axis=0)
    return np.where(far > 0, right / np.maximum(far, 1), np.nan)
