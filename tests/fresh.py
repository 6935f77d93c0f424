"""The simulation's splits, routers and tie signs by hand: loops over the documented counters.

A word is threefry under a key made of seed, then stream (0 splits, 1 routers, 2 ties, 4 subsets of
the reused items), then trial, at the counters (prompt number, block of 64 candidates). A prompt's
number is its place among the sorted prompt hashes; candidate j has bit j % 32 of the first word of
its block, or of the second from j % 64 = 32 on; a tie sign is the lowest bit of the first word.
Nothing here knows the engine.
"""

from collections import Counter
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32

from oracle.attack import OracleBenchmark, OracleRefusal
from oracle.nested import reused_subset
from oracle.split import fill, task_names

SPLIT, ROUTER, TIE, SUBSET = 0, 1, 2, 4
Pair = tuple[int, int]


def draw(key: Pair, counters: list[Pair]) -> list[Pair]:
    """The two words at every pair of counters."""
    # The library takes all first counters, then all second ones; few lengths are compiled.
    padded = np.array(counters + [(0, 0)] * (-len(counters) % 64), dtype=np.uint32)
    keys = jnp.asarray(np.array(key, dtype=np.uint32))
    first, second = np.split(np.asarray(threefry_2x32(keys, jnp.asarray(padded.T.ravel()))), 2)
    return list(zip(first.tolist(), second.tolist(), strict=True))[: len(counters)]


def trial_key(seed: int, stream: int, trial: int) -> Pair:
    (of_stream,) = draw(divmod(seed, 2**32), [(stream, 0)])
    (of_trial,) = draw(of_stream, [(trial, 0)])
    return of_trial


def numbered(bench: OracleBenchmark) -> dict[str, int]:
    prompts = sorted({item.prompt_hash for item in bench.items})
    return {prompt: number for number, prompt in enumerate(prompts)}


def prompt_words(bench: OracleBenchmark, seed: int, stream: int, trial: int) -> dict[str, int]:
    """The 64-bit word of every prompt: what groups of equal prompts are ordered by."""
    numbers = numbered(bench)
    drawn = draw(trial_key(seed, stream, trial), [(n, 0) for n in numbers.values()])
    return {h: high << 32 | low for h, (high, low) in zip(numbers, drawn, strict=True)}


def kept(
    bench: OracleBenchmark, reused: list[bool], seed: int, trial: int, size: int
) -> list[bool]:
    """True where an item is among the `size` reused ones that are kept."""
    return reused_subset(bench, reused, size, prompt_words(bench, seed, SUBSET, trial))


def split(
    bench: OracleBenchmark, seed: int, trial: int, fraction: Fraction = Fraction(2, 3)
) -> list[bool]:
    """True where an item is reused: the fill rule, groups in the order of their 64-bit words."""
    word = prompt_words(bench, seed, SPLIT, trial)
    heldout: set[str] = set()
    for task in task_names(bench):
        sizes = Counter(item.prompt_hash for item in bench.items if item.task == task)
        count = sum(sizes.values())
        target = round(fraction * count)
        order = sorted(sizes, key=word.__getitem__)
        taken = fill([sizes[h] for h in order], target)
        if taken is None or not 0 < target < count:
            raise OracleRefusal(f"task {task!r} cannot be split")
        heldout |= {h for h, take in zip(order, taken, strict=True) if take}
    return [item.prompt_hash not in heldout for item in bench.items]


def signs(bench: OracleBenchmark, seed: int, trial: int, candidates: int) -> list[list[int]]:
    """`signs[j][i]`: +1 where candidate j sends item i to endpoint A."""
    numbers = numbered(bench)
    counters = [(n, block) for block in range(-(-candidates // 64)) for n in numbers.values()]
    at = dict(zip(counters, draw(trial_key(seed, ROUTER, trial), counters), strict=True))

    def sign(candidate: int, prompt: str) -> int:
        block, place = divmod(candidate, 64)
        word = at[numbers[prompt], block][place // 32]
        return 1 if word >> (place % 32) & 1 else -1

    return [[sign(j, item.prompt_hash) for item in bench.items] for j in range(candidates)]


def ties(bench: OracleBenchmark, seed: int, trial: int) -> list[int]:
    """+1 where a tied vote sends an item to endpoint A."""
    numbers = numbered(bench)
    drawn = draw(trial_key(seed, TIE, trial), [(n, 0) for n in numbers.values()])
    return [1 if drawn[numbers[item.prompt_hash]][0] & 1 else -1 for item in bench.items]
