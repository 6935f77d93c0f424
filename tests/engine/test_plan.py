"""Exact arithmetic: the bound, and what happens at its edge."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbench.attacker import SharedBank
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.scoring import Overall
from jaxbench.engine import kernel, plan
from jaxbench.engine.layout import Layout
from jaxbench.errors import BadRequest
from jaxbench.leaderboard import Release


@pytest.mark.parametrize(
    ("contrast", "total", "candidates", "name"),
    [
        (2**13 - 1, 0, 2**11, "float32"),
        (2**13, 0, 2**11, "float32 products in int32"),
        (1, 2**24, 1, "float64"),
        (2**18 - 1, 0, 2**12, "float32 products in int32"),
        (2**18, 0, 2**12, "float64"),
        (2**20, 0, 2**11, "float64"),
        (2**42 - 1, 0, 2**11, "float64"),
    ],
)
def test_the_narrowest_exact_arithmetic(contrast, total, candidates, name):
    assert plan.choose_arithmetic(contrast, total, candidates, block=64).name == name


def test_refusal_past_float64():
    with pytest.raises(BadRequest, match="exactly in float64"):
        plan.choose_arithmetic(2**42, 0, 2**11, block=64)


def test_products_need_a_block_within_float32():
    assert plan.choose_arithmetic(2**18, 0, 2**12, block=63).name == "float32 products in int32"


def aligned(weight: int, candidates: int, arithmetic: plan.Arithmetic, block: int):
    """Contrasts of one item that differs by `weight`, and a second that differs by 1.

    All candidates send both to A except the last, which sends the second to B: random signs
    never come near the bound, these reach it. The vote of item 0 is `sum (w + 1) + (w - 1)` and
    that of item 1 `sum (w + 1) - (w - 1)`.
    """
    signs = np.ones((candidates, 8), dtype=np.int8)
    signs[-1, 1] = -1
    differences = np.zeros((1, 8), dtype=np.int32)
    differences[0, :2] = weight, 1
    seen = {}

    def spy(votes, ties):
        # The callback runs on a thread of its own without x64: two halves that float32 holds.
        high = jnp.floor(votes.astype(jnp.float64) / 2**20)
        low = votes.astype(jnp.float64) - high * 2**20
        jax.debug.callback(lambda *v: seen.__setitem__("votes", v), high, low)
        return votes > 0

    with pytest.MonkeyPatch.context() as patch, jax.enable_x64(True):
        patch.setattr(kernel.decoder, "route", spy)
        zero = jnp.zeros((1, 1))
        public = jnp.asarray(differences)[:, None]
        rows = kernel.Rows(
            public,
            jnp.zeros_like(public),
            *[zero[:, None]] * 2,
            *[zero] * 3,
            *[(zero,)] * 2,
            (None,),
        )
        counted = np.array([[8 * weight]])
        chain = Chain.start(counted)
        overall = Overall.of(chain.sums([[0]]), [Fraction(1)], total=True)
        release = Release(chain, ((0,),), plain=True, linear=True)
        rules = kernel.Rules(
            (release,), (overall,), (overall,), (None,), view_of=(0,), decoders=("aware",)
        )
        padded = np.zeros((8, -(-(candidates + 1) // block) * block), dtype=np.int8)
        padded[:, 1 : candidates + 1] = signs.T
        bank = SharedBank(jnp.asarray(padded), jnp.ones(8, jnp.int8))
        # A fresh function, so that the spy is traced and no cached program answers.
        run = jax.jit(
            kernel.attack_rows.__wrapped__,
            static_argnames=("sizes", "arithmetic", "block", "keep_routes"),
        )
        run(
            rows, bank, jnp.asarray([candidates + 1], jnp.int32),
            jax.tree.map(jnp.asarray, rules), sizes=(8,), arithmetic=arithmetic, block=block,
        )  # fmt: skip
        jax.effects_barrier()
    high, low = (np.asarray(half, dtype=np.float64) for half in seen["votes"])
    votes = (high * 2**20 + low)[0, 0, :2]
    all_but_last = (candidates - 1) * (weight + 1)
    return [int(v) for v in votes], [all_but_last + weight - 1, all_but_last - weight + 1]


@pytest.mark.parametrize(
    ("weight", "candidates", "rung"),
    [(2**15 - 1, 511, 0), (2**17 - 1, 8190, 1), (2**17 + 1, 16400, 2)],
)
def test_aligned_signs_at_the_edge_of_each_rung(weight, candidates, rung):
    chosen = plan.choose_arithmetic(weight + 1, weight + 1, candidates, block=64)
    assert chosen == plan.LADDER[rung]
    found, expected = aligned(weight, candidates, chosen, block=64)
    assert found == expected


def test_the_rung_below_would_have_been_wrong():
    """Past its edge float32 does lose the last bit: the bound is not idle."""
    found, expected = aligned(2**15, 1025, plan.LADDER[0], block=64)
    assert max(expected) > 2**24
    assert found != expected
    chosen = plan.choose_arithmetic(2**15 + 1, 2**15 + 1, 1025, block=64)
    assert chosen == plan.LADDER[1]
    found, expected = aligned(2**15, 1025, chosen, block=64)
    assert found == expected


def test_layout_keeps_active_items_in_blocks():
    unit = np.array([0, 0, 1, 1, 1])
    active = np.array([[True, False, True, True, False], [False, True, True, False, True]])
    # Unit 1 comes first where its coordinate does.
    layout = Layout.of(unit, [1, 0], active, [8, 8])
    assert layout.sizes == (8, 8)
    assert layout.items[0].tolist() == [2, 3] + [-1] * 6 + [0] + [-1] * 7
    assert layout.items[1].tolist() == [2, 4] + [-1] * 6 + [1] + [-1] * 7
    gathered = layout.gather(np.arange(10, 20).reshape(2, 5), np.array([1, 0]))
    assert gathered[0, [0, 1, 8]].tolist() == [12, 14, 11]
    assert gathered[1, [0, 1, 8]].tolist() == [17, 18, 15]
    assert gathered[0].sum() == 37


def test_a_bank_that_does_not_fit_is_refused():
    plan.check_bank(2**20, 4096)
    with pytest.raises(BadRequest, match="largest budget is about 357,9"):
        plan.check_bank(2**20, 12_000)
