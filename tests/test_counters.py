"""Words from counters: threefry bit for bit, whatever the company, the order or the shape."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

from jaxbench.counters import Stream, trial_keys, trial_words, words

# Seed 2^32 - 1 has the low half alone, 2^32 the high half alone.
SEEDS = (0, 1, 2**32 - 1, 2**32, 2**32 + 1, 7 * 2**32 + 9, 9 * 2**32 + 7, 2**64 - 1)
STREAMS = tuple(Stream)
EDGES = (0, 1, 2, 63, 64, 2**31 - 1, 2**31, 2**32 - 1)
MASK = 2**32 - 1


def threefry(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32 of 20 rounds in plain integers (Salmon et al. 2011)."""
    rotations = (13, 15, 26, 6), (17, 29, 16, 24)
    schedule = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (counter[0] + schedule[0]) & MASK, (counter[1] + schedule[1]) & MASK
    for group in range(5):
        for turn in rotations[group % 2]:
            x = (x + y) & MASK
            y = ((y << turn | y >> (32 - turn)) & MASK) ^ x
        x = (x + schedule[(group + 1) % 3]) & MASK
        y = (y + schedule[(group + 2) % 3] + group + 1) & MASK
    return x, y


def u32(values) -> jax.Array:
    return jnp.asarray(np.array(values, dtype=np.uint32))


def keys_of(seed: int, streams: tuple[Stream, ...], trials) -> np.ndarray:
    """`(streams, trials, 2)`."""
    return np.stack([np.asarray(k) for k in trial_keys(seed, streams, np.array(trials))])


def library(key, counter) -> list[int]:
    return np.asarray(threefry_2x32(u32(key), u32(counter))).tolist()


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        # Known answers of the authors' Random123.
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((MASK, MASK), (MASK, MASK), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers(key, counter, expected):
    assert threefry(key, counter) == expected
    assert library(key, counter) == list(expected)
    assert tuple(map(int, words(u32(key), u32(counter[0]), u32(counter[1])))) == expected


def test_every_counter_is_the_librarys_word():
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2**32, (100, 4), dtype=np.uint32)
    drawn[: len(EDGES), 2], drawn[: len(EDGES), 3] = EDGES, EDGES[::-1]
    found = words(u32(drawn[:, :2]), u32(drawn[:, 2]), u32(drawn[:, 3]))
    pairs = np.stack(found, axis=1).tolist()
    for row, pair in zip(drawn.tolist(), pairs, strict=True):
        assert tuple(pair) == threefry(tuple(row[:2]), tuple(row[2:]))
        assert pair == library(row[:2], row[2:])


def test_keys_are_threefry_of_seed_then_stream_then_trial():
    trials = (0, 1, 2, 999, 2**32 - 1)
    for seed in SEEDS:
        found = keys_of(seed, STREAMS, trials)
        for (s, stream), (t, trial) in product(enumerate(STREAMS), enumerate(trials)):
            of_stream = threefry(divmod(seed, 2**32), (int(stream), 0))
            assert tuple(found[s, t].tolist()) == threefry(of_stream, (trial, 0))


def test_streams_have_their_numbers():
    # Every simulation ever saved depends on them.
    assert {stream.name: int(stream) for stream in Stream} == {
        "SPLIT": 0, "ROUTER": 1, "TIE": 2, "WORLD": 3, "SUBSET": 4,
        "REDUCED_SIGN": 5, "REDUCED_TIE": 6, "REDUCED_NORMAL": 7, "REDUCED_RECORD": 8,
        "MECHANISM": 9, "SUBMITTER": 10, "DEVELOPMENT": 11,
    }  # fmt: skip


def test_words_of_trials():
    (keys,) = trial_keys(5, (Stream.SPLIT,), np.arange(4))
    found = np.stack([np.asarray(word) for word in trial_words(keys, u32(EDGES))], axis=2)
    assert found.shape == (4, len(EDGES), 2)
    for trial, counter in product(range(4), range(len(EDGES))):
        key = tuple(np.asarray(keys)[trial].tolist())
        assert tuple(found[trial, counter].tolist()) == threefry(key, (EDGES[counter], 0))


def test_company_and_order_mean_nothing():
    rng = np.random.default_rng(1)
    trials, counters = np.arange(40), np.arange(30, dtype=np.uint32)
    whole_keys = keys_of(2**40 + 3, STREAMS, trials)
    (keys,) = trial_keys(2**40 + 3, (Stream.ROUTER,), trials)
    whole = np.stack(trial_words(keys, u32(counters)), axis=2)
    chosen = [
        (np.arange(8), np.arange(16)),  # a chunk
        (np.arange(32, 40), np.arange(14, 30)),  # another
        (np.minimum(np.arange(36, 44), 39), np.zeros(16, dtype=int)),  # padded by repeats
        (rng.permutation(40), rng.permutation(30)),
        (np.array([17]), np.array([29])),
    ]
    for rows, columns in chosen:
        assert np.array_equal(keys_of(2**40 + 3, STREAMS, trials[rows]), whole_keys[:, rows])
        (some,) = trial_keys(2**40 + 3, (Stream.ROUTER,), trials[rows])
        found = np.stack(trial_words(some, u32(counters[columns])), axis=2)
        assert np.array_equal(found, whole[np.ix_(rows, columns)])
    for streams in [(Stream.TIE,), (Stream.TIE, Stream.SPLIT)]:
        assert np.array_equal(keys_of(2**40 + 3, streams, trials), whole_keys[list(streams)])


def test_shape_compiler_and_width_mean_nothing():
    keys = u32(np.arange(10).reshape(5, 2))
    first, second = u32([[3, 4, 5]]), u32([[2**31]])
    expected = np.stack(words(keys[:, None, :], first, second))
    assert expected.shape == (2, 5, 3)
    one_by_one = [[words(key, c, second[0, 0]) for c in first[0]] for key in keys]
    assert np.array_equal(np.array(one_by_one).transpose(2, 0, 1), expected)
    compiled = jax.jit(words)(keys[:, None, :], first, second)
    assert np.array_equal(np.stack(compiled), expected)
    with jax.enable_x64(True):
        wide = words(keys[:, None, :], first, second)
        assert all(word.dtype == np.uint32 for word in wide)
        assert np.array_equal(np.stack(wide), expected)
        (key,) = trial_keys(2**64 - 1, (Stream.TIE,), np.arange(3))
    assert np.array_equal(key, keys_of(2**64 - 1, (Stream.TIE,), range(3))[0])


def test_nothing_is_drawn_twice():
    """Seeds, streams, trials and counters all lead elsewhere: 2^20 pairs of words, no two alike."""
    drawn = []
    for seed in SEEDS:
        for keys in trial_keys(seed, STREAMS, np.arange(64)):
            high, low = (np.asarray(word) for word in trial_words(keys, u32(np.arange(683))))
            drawn.append(high.astype(np.uint64) << np.uint64(32) | low)
    drawn = np.stack(drawn)
    assert drawn.size > 2**20
    # A repeat among 2^20 words of 64 bits has chance 2^-25.
    assert len(np.unique(drawn)) == drawn.size


def test_bits_are_balanced_and_go_their_own_way():
    (keys,) = trial_keys(0, (Stream.ROUTER,), np.arange(128))
    pair = trial_words(keys, u32(np.arange(128)))
    bits = np.concatenate(
        [(np.asarray(word)[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1 for word in pair],
        axis=2,
    )
    signs = 2.0 * bits - 1.0
    # Every comparison below is a mean of n fair signs, with standard error 1/sqrt(n); 4.5 of them
    # leave 64 x 63 / 2 comparisons a chance of 1 in 70 to stray in a good generator.
    flat = signs.reshape(-1, 64)
    limit = 4.5 / np.sqrt(len(flat))
    assert np.abs(flat.mean(axis=0)).max() < limit
    between_bits = flat.T @ flat / len(flat)
    assert np.abs(between_bits[~np.eye(64, dtype=bool)]).max() < limit
    for neighbour in (signs[1:] * signs[:-1], signs[:, 1:] * signs[:, :-1]):
        means = neighbour.reshape(-1, 64).mean(axis=0)
        assert np.abs(means).max() < 4.5 / np.sqrt(neighbour.size / 64)
