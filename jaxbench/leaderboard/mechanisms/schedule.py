"""When releases appear, how many submissions a team has, and which of them count at the end.

Source: spec of the mechanisms, rules 14, 15, 16 and 18. Budgets count submissions; the last one of
a budget is the final router. Losses are in ticks, batched over trials.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float64, Int

from jaxbench.errors import unknown


def visible_before(budget: int, batch: int) -> int:
    """How many candidates a decoder at `budget` can use where releases appear in batches.

    Release t appears after submission `batch` ceil(t / `batch`); before the last submission the
    first `batch` floor((budget - 1) / `batch`) have.
    """
    return batch * (max(budget - 1, 0) // batch)


def batch_releases(
    losses: Float64[Array, "*batch submissions"], batch: int, kind: str
) -> tuple[Float64[Array, "*batch batches"], Int[Array, "*batch batches"]]:
    """The one release of every whole batch, and the index of the submission that it is about.

    **Arguments:** `kind`: `best` (the smallest loss, earliest on ties) or `last` (only the last
    submission of a batch is scored).
    """
    if kind not in ("best", "last"):
        raise unknown("kind of batch", kind, ("best", "last"))
    whole = losses.shape[-1] // batch
    parts = losses[..., : whole * batch].reshape(*losses.shape[:-1], whole, batch)
    last = jnp.full(parts.shape[:-1], batch - 1)
    place = jnp.argmin(parts, axis=-1) if kind == "best" else last
    released = jnp.take_along_axis(parts, place[..., None], axis=-1)[..., 0]
    starts = batch * jnp.arange(whole, dtype=place.dtype)
    return released, place + jnp.broadcast_to(starts, place.shape)


def effective_budget(
    budget: int,
    total: int | None = None,
    per_period: int | None = None,
    periods: int | None = None,
    accounts: int = 1,
) -> int:
    """How many of `budget` submissions are scored: min(k, C min(Q, q periods)).

    **Arguments:** `total`: Q per account; `per_period`: q per account and period; `periods`: how
    many there are (None: no end, so that q alone is no limit); `accounts`: C that work together.
    """
    limits = [total] if total is not None else []
    if per_period is not None and periods is not None:
        limits.append(per_period * periods)
    return min(budget, accounts * min(limits)) if limits else budget


def refreshed_budget(budget: int, every: int) -> int:
    """The submissions that a decoder at `budget` has on the present reused set, its own included.

    ((k - 1) mod L) + 1 for a new set after every L submissions. A new set clears all sums, and
    the final router is scored on the set of its day. Sets and routers are drawn alike and apart,
    so the candidates since the last change and their set have the law of the first ones and the
    trial's own: what happens at `budget` has, trial by trial, the law of what happens at the
    returned budget without a change. Only statistics over the whole history do not follow.
    """
    return (budget - 1) % every + 1 if budget > 0 else 0


def final_entries(
    public_losses: Float64[Array, "*batch submissions"], finals: int
) -> Int[Array, "*batch finals"]:
    """A team's final entries: its N lowest public losses, earlier first; all if it has fewer."""
    return jnp.argsort(public_losses, axis=-1, stable=True)[..., :finals]


def final_loss(
    private_losses: Float64[Array, "*batch submissions"], entries: Int[Array, "*batch finals"]
) -> Float64[Array, "*batch"]:
    """A team's final loss: the smallest of its final entries on the private part."""
    return jnp.min(jnp.take_along_axis(private_losses, entries, axis=-1), axis=-1)
