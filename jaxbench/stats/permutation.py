"""Permutation tests: labels shuffled within groups, signs of paired differences flipped.

First the statistic as observed and under many relabellings, then a p-value from both. What is
drawn for permutation b depends on (seed, stream, b) alone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Float64, Int, Int32, PyTree, Shaped, UInt32, UInt64

from jaxbench.errors import BadRequest, unknown
from jaxbench.shapes import bucket
from jaxbench.stats import draws

TAILS = ("upper", "lower", "two_sided")
# Statistics this close are equal: one that a relabelling repeats may be rounded otherwise.
SLACK = 1e-12


def permuted_statistic(
    statistic: Callable[[Array, Any], Array],
    labels: Shaped[np.ndarray, "slots *features"],
    groups: Int[np.ndarray, " slots"],
    data: PyTree = None,
    *,
    permutations: int,
    seed: int,
    stream: int = 0,
    chunk: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A statistic as observed, and under random permutations of the labels within groups.

    **Arguments:**

    - `statistic(labels, data)`: in jax, of any shape, such as `mean_difference`. Pass one function
      defined once: every new function object is compiled anew.
    - `labels`: what is shuffled, along its first axis: labels, values or numbers of slots.
    - `groups`: labels move among slots of equal group only. A slot that is to keep its label
      (padding, say) is a group of its own; pairs to be swapped or not are groups of two.
    - `data`: arrays that stay where they are. Numpy float64 stays float64.
    - `seed`, `stream`: 0 to 2^64 - 1 and 0 to 2^32 - 1; streams of a seed are independent.
    - `chunk`: most permutations held at a time. No result depends on it.

    Returns the observed statistic `(...)` and the drawn ones `(permutations, ...)`.

    **Errors:** `BadRequest` for no slot, no permutation, or a seed out of range.
    """
    slots = len(labels)
    if not slots or groups.shape != (slots,):
        raise BadRequest(f"{slots} labels in {groups.size} groups; expected one group per label")
    codes, used, home = _codes(groups)
    drawn = draws.in_chunks(
        partial(_permuted, statistic=statistic),
        (codes, used, home, labels, data),
        draws.stream_words(seed, draws.Purpose.PERMUTATION, stream),
        pairs=slots,
        total=permutations,
        most=chunk if chunk is not None else max(1, draws.SLOTS // slots),
        what="permutations",
    )
    return np.asarray(statistics_of(statistic, labels[None], data)[0]), drawn


def statistics_of(
    statistic: Callable[[Array, Any], Array],
    labelled: Shaped[np.ndarray, "relabellings slots *features"],
    data: PyTree = None,
) -> np.ndarray:
    """A statistic of every given labelling, `(relabellings, ...)`; see `relabellings`."""
    count, slots = labelled.shape[:2]
    most = max(1, draws.SLOTS // max(slots, 1))
    rows = min(most, bucket(count))
    parts = []
    with jax.enable_x64(True):
        for first in range(0, count, rows):
            part = labelled[first : first + rows]
            # The last part is filled up with copies of the first row, so that one program serves.
            part = np.concatenate([part, np.repeat(labelled[:1], rows - len(part), axis=0)])
            parts.append(np.asarray(_statistics_of(part, data, statistic)))
    return np.concatenate(parts)[:count]


def sign_flipped_means(
    differences: Float64[np.ndarray, "pairs columns"],
    valid: Bool[np.ndarray, "pairs columns"],
    *,
    permutations: int,
    seed: int,
    stream: int = 0,
) -> tuple[Float64[np.ndarray, " columns"], Float64[np.ndarray, "permutations columns"]]:
    """Mean difference of every column as observed, and with the signs of pairs flipped at random.

    A pair has one sign in all columns, so the columns stay paired. Means are over the pairs that
    count in a column, NaN where none does. Other arguments as in `permuted_statistic`.
    """
    pairs, columns = differences.shape
    count = valid.sum(axis=0)
    with np.errstate(invalid="ignore"):
        shares = np.where(valid, differences, 0.0) / count
    # Empty columns are NaN from here on; padding adds nothing to a sum.
    slots = bucket(pairs)
    padded = draws.pad(shares, (slots, bucket(columns)))
    drawn = draws.in_chunks(
        _flipped,
        (padded,),
        draws.stream_words(seed, draws.Purpose.SIGN, stream),
        pairs=-(-slots // 64),
        total=permutations,
        most=max(1, draws.SLOTS // slots),
        what="permutations",
    )
    observed = np.where(count == 0, np.nan, shares.sum(axis=0))
    return observed, np.where(count == 0, np.nan, drawn[:, :columns])


def permutation_p(
    observed: np.ndarray | float, drawn: np.ndarray, tail: str, *, slack: float = SLACK
) -> np.ndarray:
    """`(1 + count) / (1 + B)`: how seldom B random relabellings go as far as what is observed.

    **Arguments:**

    - `observed` `(...)`, `drawn` `(B, ...)`. For a maximum statistic over columns, give `drawn`
      its maximum with the axis kept.
    - `tail`: "upper" counts drawn >= observed, "lower" <=, "two_sided" is twice the smaller of
      the two, at most 1 (as `scipy.stats.permutation_test`).
    - `slack`: differences up to it count as equal.

    A draw without a value (NaN) counts as going that far, so p can only grow by it; without an
    observed value p is NaN.
    """
    return _p_value(observed, drawn, tail, slack, itself=1)


def exact_p(
    observed: np.ndarray | float, every: np.ndarray, tail: str, *, slack: float = SLACK
) -> np.ndarray:
    """`count / B` where `every` holds all B relabellings, the observed one among them.

    Arguments as in `permutation_p`; the relabellings come from `relabellings`.
    """
    return _p_value(observed, every, tail, slack, itself=0)


def mean_difference(
    labels: Bool[Array, " slots"], values: Float[Array, "slots *columns"]
) -> Float[Array, "*columns"]:
    """Mean of the values labelled True less that of the others, NaN where either is empty.

    A statistic for `permuted_statistic`.
    """
    chosen = labels.astype(values.dtype)
    ones = chosen.sum()
    flat = values.reshape(len(chosen), -1)
    in_chosen = jnp.matmul(chosen, flat, precision=lax.Precision.HIGHEST)
    in_others = jnp.matmul(1 - chosen, flat, precision=lax.Precision.HIGHEST)
    return (in_chosen / ones - in_others / (len(chosen) - ones)).reshape(values.shape[1:])


def _p_value(
    observed: np.ndarray | float, drawn: np.ndarray, tail: str, slack: float, itself: int
) -> np.ndarray:
    if tail not in TAILS:
        raise unknown("tail", tail, TAILS)

    def share(reached: np.ndarray) -> np.ndarray:
        return np.asarray((itself + reached.sum(axis=0)) / (itself + len(drawn)))

    # Written so that NaN counts as reached.
    upper = share(~(drawn < observed - slack))
    lower = share(~(drawn > observed + slack))
    both = np.minimum(1.0, 2 * np.minimum(upper, lower))
    return np.where(np.isnan(observed), np.nan, {"upper": upper, "lower": lower}.get(tail, both))


def _codes(
    groups: np.ndarray,
) -> tuple[UInt64[np.ndarray, " slots"], UInt64[np.ndarray, " 2"], Int32[np.ndarray, " slots"]]:
    """What shuffles by one sort: group in the highest bits of a word, slot in the lowest.

    Returns both; how many bits they take, all together and for the slot; and the place of every
    slot when slots are put in order by group. Random bits go between.
    """
    _, which = np.unique(groups, return_inverse=True)
    slots = len(groups)
    group_bits, slot_bits = int(which.max()).bit_length(), (slots - 1).bit_length()
    shift = np.uint64(64 - group_bits) if group_bits else np.uint64(0)
    codes = (which.astype(np.uint64) << shift) | np.arange(slots, dtype=np.uint64)
    home = np.empty(slots, dtype=np.int32)
    home[np.argsort(which, kind="stable")] = np.arange(slots, dtype=np.int32)
    return codes, np.array([group_bits + slot_bits, slot_bits], dtype=np.uint64), home


@partial(jax.jit, static_argnames="statistic")
def _permuted(
    words: UInt32[Array, "permutations pairs 2"],
    codes: UInt64[Array, " slots"],
    used: UInt64[Array, " 2"],
    home: Int32[Array, " slots"],
    labels: Shaped[Array, "slots *features"],
    data: PyTree,
    statistic: Callable[[Array, Any], Array],
) -> Array:
    def of_one(pairs: Array) -> Array:
        random = draws.long_words(pairs[: len(codes)])
        # Ties are decided by the slot; over 10^4 slots there are 50 random bits to tie in.
        ordered = jnp.sort(codes | ((random >> used[0]) << used[1]))
        source = (ordered & ((np.uint64(1) << used[1]) - np.uint64(1))).astype(jnp.int32)
        return statistic(labels[source[home]], data)

    return jax.vmap(of_one)(words)


@partial(jax.jit, static_argnames="statistic")
def _statistics_of(
    labelled: Shaped[Array, "rows slots *features"],
    data: PyTree,
    statistic: Callable[[Array, Any], Array],
) -> Array:
    return jax.vmap(lambda labels: statistic(labels, data))(labelled)


@jax.jit
def _flipped(
    words: UInt32[Array, "permutations pairs 2"], shares: Float64[Array, "slots columns"]
) -> Float64[Array, "permutations columns"]:
    def of_one(pairs: Array) -> Array:
        signs = draws.signs(pairs, len(shares))
        return jnp.matmul(signs, shares, precision=lax.Precision.HIGHEST)

    return jax.vmap(of_one)(words)
