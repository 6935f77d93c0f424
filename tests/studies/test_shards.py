"""What a shard holds comes back as it was, through the bytes of its file."""

import numpy as np
import pandas as pd
import pytest

from jaxbench import metrics
from jaxbench.store import Shard, content_key, parquet
from jaxbench.studies.shards import read_parts, read_trials, sum_shard, trial_shard

SHARD = Shard(content_key("a"), 0, 9)
NAMES = ["endpoint_a", "endpoint_b", "no_attack_model", "selected_model"]
NUMBERS = [*metrics.METRICS, "heldout_regret_pp", "rank_reused", "rank_heldout"]


def stored(table):
    return parquet.decode(SHARD, parquet.encode(SHARD, table))


def frame(first, trials, eligible, seed=0):
    """A table of trials as the engine makes one; nothing is filled where a trial is ineligible."""
    rng = np.random.default_rng(seed)
    rows = trials * 3
    filled = np.repeat(np.broadcast_to(eligible, trials), 3)
    table = {
        "trial": np.repeat(np.arange(first, first + trials), 3),
        "budget": np.tile([0, 1, 8], trials),
        "eligible": filled,
    }
    for name in NAMES:
        table[name] = [f"model {i}" if f else None for i, f in enumerate(filled)]
    for name in NUMBERS:
        table[name] = np.where(filled, rng.normal(size=rows), np.nan)
    return pd.DataFrame(table).astype(dict.fromkeys(NAMES, "str"))


@pytest.mark.parametrize("eligible", [True, False, [True, False, True, False]], ids=str)
def test_trials_round_trip(eligible):
    tables = [(0, 0, frame(4, 4, eligible)), (0, 1, frame(4, 4, eligible, 1)),
              (3, 0, frame(4, 4, eligible, 2)), (3, 1, frame(4, 4, False))]  # fmt: skip
    found = list(read_trials(stored(trial_shard(tables))))
    assert [(c, bank) for c, bank, _ in found] == [(c, bank) for c, bank, _ in tables]
    for (_, _, before), (_, _, after) in zip(tables, found, strict=True):
        after = after.astype(dict.fromkeys(NAMES, "str"))
        pd.testing.assert_frame_equal(before, after, check_exact=True)


def test_types_do_not_depend_on_what_is_empty():
    some = trial_shard([(0, 0, frame(0, 2, True))])
    none = trial_shard([(0, 0, frame(0, 2, False))])
    assert stored(some).schema == stored(none).schema


@pytest.mark.parametrize("trials", [1, 7, 25_000])
def test_parts_round_trip(trials):
    budgets = (0, 1, 8)
    first, count = (0, 1) if trials == 1 else (3, 4)
    parts = []
    for condition, bank in ((0, 0), (0, 1), (2, 0)):
        summary = metrics.Summary(trials, budgets, means_only=bank > 0)
        eligible = np.arange(count) % 2 == bank
        summary.add(frame(first, count, eligible, seed=condition))
        parts.append((condition, bank, summary.part(first, first + count - 1)))
    found = list(read_parts(stored(sum_shard(parts))))
    assert [(c, bank) for c, bank, _ in found] == [(c, bank) for c, bank, _ in parts]
    for (_, _, before), (_, _, after) in zip(parts, found, strict=True):
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


@pytest.mark.parametrize("trials", [40, 25_000])
def test_parts_add_up_to_the_summary_of_all_trials(trials):
    budgets, rows = (0, 1, 8), trials // 4
    whole, by_parts = (metrics.Summary(trials, budgets) for _ in range(2))
    for first in range(0, trials, rows):
        table = frame(first, rows, np.arange(rows) % 3 > 0, seed=first)
        whole.add(table)
        alone = metrics.Summary(trials, budgets)
        alone.add(table)
        stored_part = stored(sum_shard([(0, 0, alone.part(first, first + rows - 1))]))
        ((_, _, part),) = read_parts(stored_part)
        by_parts.add_part(part)
    one, other = (s.table(resamples=20, seed=0) for s in (whole, by_parts))
    pd.testing.assert_frame_equal(one, other, check_exact=True)
