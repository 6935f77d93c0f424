"""The benchmark that reproduces published slow-downs, with few trials."""

from math import inf
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def slow_downs(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import slow_downs

    return slow_downs


def test_a_few_trials_of_two_rows(slow_downs, capsys, tmp_path):
    out = tmp_path / "table.md"
    assert slow_downs.main(["--trials", "4", "--only", "gaussian 0.05", "--out", str(out)]) == 0
    table = capsys.readouterr().out
    assert "| gaussian 0.05 | 1000, 2000 | 11 | 11.1 |" in table
    assert "| gaussian 0.05 | 100, 100 | 2 | 2.1 |" in table
    assert "| gaussian 0.05, every router 4 times | 1000, 2000 | 14 | 14.6 |" in table
    assert table.strip() in out.read_text()


def test_flips_of_single_items_repair_nearly_all(slow_downs, capsys):
    assert slow_downs.main(["--trials", "20", "--only", "flip 1"]) == 0
    assert "| ladder 0, flip 1 | 100 | 0.000 | 0.000 |" in capsys.readouterr().out


def test_a_row_that_is_out_is_seen(slow_downs, monkeypatch, capsys):
    full = [row for row in slow_downs.rows() if row.name == "full" and row.size == (100, 100)]
    wrong = [row._replace(published=1.5) for row in full]
    monkeypatch.setattr(slow_downs, "rows", lambda: wrong)
    assert slow_downs.main(["--trials", "4", "--only", "full"]) == 1
    assert "OUT" in capsys.readouterr().out
    monkeypatch.setattr(slow_downs, "rows", lambda: full)
    assert slow_downs.main(["--trials", "4", "--only", "full"]) == 0


def test_how_far_apart_two_measurements_are(slow_downs):
    row, found = slow_downs.Row, slow_downs.Found
    size = (1000, 2000)
    ten = row("ten", size, 10.0, lambda r, k: None)
    # 10 is written to its last digit, 5 %.
    assert slow_downs.apart(ten, found(10.4, 0.0)) == 0
    assert slow_downs.apart(ten, found(10.0 * np.exp(0.15), 0.0)) == pytest.approx(2)
    many = row("many", size, 100.0, lambda r, k: None)
    assert slow_downs.apart(many, found(150.0, 0.0)) == pytest.approx(1, abs=0.02)
    none = row("none", size, inf, lambda r, k: None)
    assert slow_downs.apart(none, found(1e5, 1e5)) == 0
    assert slow_downs.apart(none, found(100.0, 1.0)) == inf


def test_a_slow_down_from_right_votes(slow_downs):
    # Phi(sqrt(2)) is a slow-down of 1 at n = 1000, k = 2000.
    rates = np.array([0.9213503964748575 - 0.01, 0.9213503964748575 + 0.01])
    found = slow_downs.slow_down((1000, 2000), rates)
    assert found.slow_down == pytest.approx(1)
    # d slow-down / d rate = 2 / (z phi(z)), z = sqrt 2.
    assert found.error == pytest.approx(0.01 * 2 / (np.sqrt(2) * 0.1467627), rel=1e-4)
    assert slow_downs.slow_down((1000, 2000), np.array([0.5, 0.5])).slow_down == inf
