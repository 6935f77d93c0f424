"""Draws against a threefry written out by hand, and against everything they must not depend on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxbench.errors import BadRequest
from jaxbench.stats import draws, permuted_statistic, resampled_statistic, sign_flipped_means

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
MASK = 2**32 - 1


def threefry(key, first, second):
    """Threefry-2x32 with 20 rounds (Salmon and others 2011), one block, plain integers."""
    keys = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (first + keys[0]) & MASK, (second + keys[1]) & MASK
    for block in range(5):
        for turn in ROTATIONS[block % 2]:
            x = (x + y) & MASK
            y = ((y << turn) | (y >> (32 - turn))) & MASK
            y ^= x
        x = (x + keys[(block + 1) % 3]) & MASK
        y = (y + keys[(block + 2) % 3] + block + 1) & MASK
    return x, y


def pairs(seed, purpose, stream, number, count):
    key = divmod(seed, 2**32)
    for counter in (purpose, stream, number):
        key = threefry(key, 0, counter)
    return [threefry(key, 0, counter) for counter in range(count)]


def identity(drawn, data):
    return drawn


SEEDS = [0, 1, 2**32 + 7, 2**64 - 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_multiplicities(seed):
    strata = np.array([5, 2, 5, 2, 2, 5, 5])
    found = resampled_statistic(identity, None, 7, resamples=16, seed=seed, stream=3, strata=strata)
    by_stratum = [[1, 3, 4], [0, 2, 5, 6]]
    for number in range(16):
        words = np.ravel(pairs(seed, draws.Purpose.BOOTSTRAP, 3, number, 4)).tolist()
        expected, slot = [0] * 7, 0
        for members in by_stratum:
            for _ in members:
                expected[members[words[slot] * len(members) >> 32]] += 1
                slot += 1
        assert found[number].tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_permutations(seed):
    groups = np.array([5, 2, 5, 2, 2, 5, 5])
    _, found = permuted_statistic(
        identity, np.arange(7), groups, permutations=16, seed=seed, stream=4
    )
    for number in range(16):
        words = pairs(seed, draws.Purpose.PERMUTATION, 4, number, 7)
        expected = [0] * 7
        for members in ([1, 3, 4], [0, 2, 5, 6]):
            # One bit for two groups, three for seven slots.
            shuffled = sorted(
                members, key=lambda slot: (words[slot][0] << 32 | words[slot][1]) >> 4
            )
            for slot, source in zip(members, shuffled, strict=True):
                expected[slot] = source
        assert found[number].tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_signs(seed):
    # One pair per column, so that the mean of a column is the pair's sign over 70.
    counted = np.ones((70, 70), dtype=bool)
    _, found = sign_flipped_means(np.eye(70), counted, permutations=16, seed=seed, stream=1)
    for number in range(16):
        words = np.ravel(pairs(seed, draws.Purpose.SIGN, 1, number, 2)).tolist()
        expected = [1 - 2 * (words[slot // 32] >> slot % 32 & 1) for slot in range(70)]
        np.testing.assert_allclose(70 * found[number], expected, rtol=1e-14)


def test_settings_of_jax_change_nothing_and_stay():
    plain = resampled_statistic(identity, None, 5, resamples=16, seed=1)
    with jax.default_prng_impl("rbg"), jax.threefry_partitionable(False), jax.enable_x64(True):
        other = resampled_statistic(identity, None, 5, resamples=16, seed=1)
    assert np.array_equal(plain, other)
    assert not jax.config.jax_enable_x64


def test_more_slots_or_draws_keep_the_first():
    stream = jnp.array([1, 2], dtype=jnp.uint32)
    words = draws.word_pairs(stream, jnp.uint32(0), rows=8, pairs=8)
    assert np.array_equal(words[5:, :5], draws.word_pairs(stream, jnp.uint32(5), rows=3, pairs=5))
    few = resampled_statistic(identity, None, 5, resamples=16, seed=1)
    many = resampled_statistic(identity, None, 5, resamples=100, seed=1)
    assert np.array_equal(few, many[:16])


def test_chunks_change_nothing(monkeypatch):
    groups, counted = np.repeat(np.arange(2), 4), np.ones((8, 8), dtype=bool)

    def everything(chunk):
        return (
            resampled_statistic(identity, None, 8, resamples=100, seed=2, chunk=chunk),
            permuted_statistic(
                identity, np.arange(8), groups, permutations=100, seed=2, chunk=chunk
            )[1],
            sign_flipped_means(np.eye(8), counted, permutations=100, seed=2)[1],
        )

    whole = everything(None)
    # Six calls of 17 draws, by the argument or by what is held at a time.
    monkeypatch.setattr(draws, "SLOTS", 17 * 8)
    for chunk in (None, 17):
        for a, b in zip(whole, everything(chunk), strict=True):
            assert np.array_equal(a, b)


def test_seeds_and_streams_differ():
    drawn = [
        resampled_statistic(identity, None, 16, resamples=16, seed=seed, stream=stream)
        for seed, stream in [(0, 0), (0, 1), (1, 0), (2**32, 0)]
    ]
    flat = {a.tobytes() for rows in drawn for a in rows}
    assert len(flat) == 64


def test_counts_are_multinomial():
    units, resamples = 6, 20_000
    counts = resampled_statistic(identity, None, units, resamples=resamples, seed=3)
    assert counts.dtype == np.float64
    assert (counts.sum(axis=1) == units).all()
    total = counts.sum(axis=0)
    assert scipy_stats.chisquare(total).pvalue > 1e-3
    theory = np.eye(units) - 1 / units
    np.testing.assert_allclose(np.cov(counts.T), theory, atol=0.03)


def test_permutations_are_uniform():
    _, drawn = permuted_statistic(
        identity, np.arange(4), np.zeros(4, dtype=int), permutations=20_000, seed=4
    )
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(kinds) == 24
    assert scipy_stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "seed is"),
        ({"stream": 2**32}, "stream is"),
        ({"resamples": 0}, "resamples is 0"),
        ({"chunk": 0}, "chunk is 0"),
        ({"units": 0}, "nothing to resample"),
        ({"strata": np.zeros(4, dtype=int)}, "one stratum for 5 units"),
    ],
)
def test_refusals(changed, message):
    arguments = {"units": 5, "resamples": 2, "seed": 0} | changed
    with pytest.raises(BadRequest, match=message):
        resampled_statistic(identity, None, arguments.pop("units"), **arguments)
