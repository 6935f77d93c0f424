"""Every pair of models tested on the same prompts."""

import equinox as eqx
import numpy as np
from jaxtyping import Float64, Int

from jaxbench import stats
from jaxbench.card.scores import Scores

# Differences held at a time.
_HELD = 2**22
_FINE = 2**52


class Pairs(eqx.Module):
    """All pairs a < b in name order: two-sided p of the sign-flip test, and p adjusted.

    `method` is the number of one of `stats.SIGN_FLIP_METHODS`.
    """

    a: Int[np.ndarray, " pairs"]
    b: Int[np.ndarray, " pairs"]
    p: Float64[np.ndarray, " pairs"]
    p_adjusted: Float64[np.ndarray, " pairs"]
    method: Int[np.ndarray, " pairs"]
    models: int = eqx.field(static=True)

    def matrix(self, values: Float64[np.ndarray, " pairs"]) -> Float64[np.ndarray, "models models"]:
        """Values by both models of the pair, NaN on the diagonal."""
        found = np.full((self.models, self.models), np.nan)
        found[self.a, self.b] = found[self.b, self.a] = values
        return found


def pair_tests(scores: Scores, correction: str) -> Pairs:
    """Test every pair: one random sign per prompt, for all its items together.

    **Arguments:** `correction`: `holm` over all pairs (Holm 1979), which also covers that who is
    compared with whom was chosen by looking at the scores, or `none`.

    With scores of 0 and 1, equal weights and one item per prompt this is the exact test of
    McNemar (1947).
    """
    models = len(scores.totals)
    parts = scores.prompt_parts()
    if scores.fine:
        # Differences of score to 2^-52, which is what a float of the score would keep.
        parts = ((2 * _FINE * parts + scores.out_of) // (2 * scores.out_of)).astype(np.int64)
    a, b = np.triu_indices(models, 1)
    p, method = np.ones(len(a)), np.zeros(len(a), dtype=np.int64)
    together = max(1, _HELD // parts.shape[1])
    for first in range(0, len(a), together):
        some = slice(first, first + together)
        p[some], method[some] = stats.sign_flip_test(parts[a[some]] - parts[b[some]])
    # Level scores are level, whatever rounding makes of fine parts.
    totals = np.array(scores.totals, dtype=object)
    level = (totals[a] == totals[b]).astype(bool)
    p[level], method[level] = 1.0, 0
    adjusted = stats.holm(p) if correction == "holm" else p.copy()
    return Pairs(a, b, p, adjusted, method, models)
