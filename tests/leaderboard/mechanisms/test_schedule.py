"""Batches, caps, refreshed sets and final entries, against loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.errors import BadRequest
from jaxbench.leaderboard.mechanisms.schedule import (
    batch_releases,
    effective_budget,
    final_entries,
    final_loss,
    refreshed_budget,
    visible_before,
)
from oracle import boards


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def f64(values):
    return jnp.asarray(values, dtype=jnp.float64)


def test_batches_of_four_of_the_spec():
    assert [visible_before(k, 4) for k in range(1, 11)] == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]
    losses = f64([50, 45, 55, 41, 40, 35, 34, 25])
    best, last = (batch_releases(losses, 4, kind) for kind in ("best", "last"))
    assert (best[0].tolist(), [i + 1 for i in best[1].tolist()]) == ([41, 25], [4, 8])
    assert (last[0].tolist(), last[1].tolist()) == ([41, 25], [3, 7])


@given(budget=st.integers(0, 200), batch=st.integers(1, 30))
def test_what_has_appeared_is_the_oracles(budget, batch):
    assert visible_before(budget, batch) == boards.visible_before(budget, batch)


@settings(max_examples=40)
@given(
    losses=st.lists(st.lists(st.integers(0, 5), min_size=7, max_size=7), min_size=2, max_size=2),
    batch=st.sampled_from([1, 2, 3, 8]),
    kind=st.sampled_from(["best", "last"]),
)
def test_batches_are_the_oracles(losses, batch, kind):
    with jax.enable_x64(True):
        released, index = batch_releases(f64(losses), batch, kind)
    for row, mine in enumerate(losses):
        expected = boards.batches(mine, batch, kind)
        assert list(zip(released[row].tolist(), index[row].tolist(), strict=True)) == expected


def test_an_unknown_kind_is_refused():
    with pytest.raises(BadRequest, match="did you mean best"):
        batch_releases(f64([1, 2]), 1, "bst")


limit = st.none() | st.integers(1, 8)


@given(
    budget=st.integers(0, 60), total=limit, per_period=limit, periods=limit,
    accounts=st.integers(1, 4),
)  # fmt: skip
def test_caps_are_the_oracles(budget, total, per_period, periods, accounts):
    found = effective_budget(budget, total, per_period, periods, accounts)
    assert found == boards.scored(budget, total, per_period, periods, accounts)


def test_caps():
    assert effective_budget(1000, 100, 2, 30) == 60
    assert effective_budget(1000, 100, 2, 30, accounts=5) == 300
    assert effective_budget(1000, 50, 2, 30, accounts=5) == 250
    assert effective_budget(7, 50) == 7
    assert effective_budget(1000) == 1000
    # Without an end there is always a next period.
    assert effective_budget(1000, per_period=2) == 1000


@given(budget=st.integers(0, 200), every=st.integers(1, 30))
def test_submissions_on_the_present_set_are_the_oracles(budget, every):
    assert refreshed_budget(budget, every) == boards.on_present_set(budget, every)


@settings(max_examples=40)
@given(
    public=st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=2, max_size=2),
    private=st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=2, max_size=2),
    finals=st.sampled_from([1, 2, 7]),
)
def test_final_entries_are_the_oracles(public, private, finals):
    with jax.enable_x64(True):
        entries = final_entries(f64(public), finals)
        loss = final_loss(f64(private), entries)
    for row in range(2):
        expected = boards.final(public[row], private[row], finals)
        assert (entries[row].tolist(), float(loss[row])) == expected


def test_final_entries_are_chosen_without_the_private_part():
    public = f64([[3, 1, 2, 1, 5]])
    assert final_entries(public, 2).tolist() == [[1, 3]]
    private = f64([[0, 9, 0, 7, 0]])
    assert np.array_equal(final_loss(private, final_entries(public, 2)), [7])
