"""A board that shows a team's best submission only, and who sees more than that.

Source: spec of the mechanisms, rule 18.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float64

from jaxbench.leaderboard.mechanisms.base import Feedback, Mechanism, Submission


class Visibility(Mechanism):
    """The team's best so far for everybody; the submission's own number for its submitter.

    Source: rule 18. With `submitter` a submitter sees every loss of its own: full release. Without,
    the submitter sees what the board shows, R_t = min(R_{t-1}, r_t) from R_0 = infinity: the Ladder
    (Blum and Hardt 2015) with step 0 and no rounding, every number on its own. The board is the
    same in both.
    """

    submitter: bool = eqx.field(static=True)

    @property
    def apart(self) -> bool:
        """Every number goes its own way."""
        return True

    @property
    def stateless(self) -> bool:
        """A submitter's view of its own losses depends on nothing before."""
        return self.submitter

    @property
    def steady(self) -> bool:
        """It remembers the best so far."""
        return True

    @property
    def team_row(self) -> str:
        """The board shows the team's best."""
        return "best"

    def start(self, first: Any) -> Any:
        """No best so far."""
        return () if self.submitter else jnp.full_like(first.threshold, jnp.inf)

    def start_board(self, genuine: Float64[Array, "*batch models numbers"], first: Any) -> Any:
        """The same: genuine rows are other teams."""
        return self.start(first)

    def step(self, state: Any, submission: Submission, noise: Any) -> tuple[Any, Feedback]:
        """What the submitter of one submission learns."""
        losses = submission.losses
        if self.submitter:
            seen = jnp.ones(losses.shape, dtype=bool)
            return state, Feedback(losses, seen, seen)
        best = jnp.minimum(state, losses)
        return best, Feedback(best, jnp.isfinite(best), losses < state)
