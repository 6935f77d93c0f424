"""Banks on disk: found again, distrusted when damaged, never needed."""

import numpy as np
import pytest

from jaxbench.attacker.routers import hash_bank, unpack_signs
from jaxbench.engine import banks

PROMPTS = [f"{i:064x}" for i in range(300)]
CANDIDATES = 900


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """How often the bank was hashed; the cache is this test's own."""
    monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path))
    made = []

    def counting(prompts, **options):
        made.append(options)
        return hash_bank(prompts, **options)

    monkeypatch.setattr(banks, "hash_bank", counting)
    return made


def signs(seed="s", prompts=PROMPTS, candidates=CANDIDATES):
    packed = banks.cached_bank(prompts, routing_seed=seed, candidates=candidates)
    return unpack_signs(packed, len(prompts))


def expected(seed="s", prompts=PROMPTS, candidates=CANDIDATES):
    packed = hash_bank(prompts, routing_seed=seed, candidates=candidates)
    return unpack_signs(packed, len(prompts))


def test_the_second_use_hashes_nothing(calls, tmp_path):
    first, second = signs(), signs()
    assert len(calls) == 1
    assert np.array_equal(first, expected())
    assert np.array_equal(second, first)
    (stored,) = (tmp_path / "banks").iterdir()
    # Packed bits: an eighth of a byte per sign, and little more.
    assert stored.stat().st_size < CANDIDATES * len(PROMPTS) / 8 * 1.05


def test_everything_that_matters_is_in_the_key(calls):
    signs()
    assert np.array_equal(signs(seed="t"), expected(seed="t"))
    assert np.array_equal(signs(prompts=PROMPTS[::-1]), expected(prompts=PROMPTS[::-1]))
    assert np.array_equal(signs(candidates=901), expected(candidates=901))
    assert len(calls) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
        lambda data: b"not an array",
    ],
)
def test_a_damaged_file_is_made_again(calls, tmp_path, damage):
    signs()
    (stored,) = (tmp_path / "banks").iterdir()
    stored.write_bytes(damage(stored.read_bytes()))
    assert np.array_equal(signs(), expected())
    assert len(calls) == 2
    signs()
    assert len(calls) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(calls, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path / "file"))
    assert np.array_equal(signs(), expected())
    assert np.array_equal(signs(), expected())
    assert len(calls) == 2


def test_small_banks_leave_no_file(calls, tmp_path):
    signs(candidates=5)
    assert not list(tmp_path.iterdir())
