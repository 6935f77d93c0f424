"""The published bank, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jaxbench.attacker.routers import hash_bank, hash_ties, unpack_signs
from oracle.attack import hash_sign, tie_sign

PROMPTS = [f"{i:064x}" for i in range(13)]


@given(seed=st.text(max_size=8), prompts=st.lists(st.text(max_size=70), min_size=1, max_size=20))
def test_bits_of_the_oracle(seed, prompts):
    bank = hash_bank(prompts, routing_seed=seed, candidates=3)
    expected = [[hash_sign(seed, j, prompt) for prompt in prompts] for j in range(3)]
    assert unpack_signs(bank, len(prompts)).tolist() == expected
    assert hash_ties(prompts, seed).tolist() == [tie_sign(seed, prompt) for prompt in prompts]


def test_a_bank_is_packed_and_a_prefix_of_a_larger_one():
    small = hash_bank(PROMPTS, routing_seed="s", candidates=4)
    large = hash_bank(PROMPTS, routing_seed="s", candidates=9)
    assert small.dtype == np.uint8
    assert small.shape == (4, 2)
    assert np.array_equal(large[:4], small)


def test_no_candidates():
    assert unpack_signs(hash_bank(PROMPTS, routing_seed="s", candidates=0), 13).shape == (0, 13)
