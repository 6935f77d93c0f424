"""The card on the terminal."""

import io

import numpy as np
from rich.console import Console

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.report import print_card


def shown(rows, names=None, width=80, **more) -> str:
    rows = np.asarray(rows, dtype=float)
    items = [f"i{i:03d}" for i in range(rows.shape[1])]
    benchmark = Benchmark.from_scores(
        rows, models=names or [f"m{m:03d}" for m in range(len(rows))], items=items,
        tasks=["t"] * len(items), name=more.pop("name", "bench"), **more,
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=width)
    print_card(console, jaxbench.describe(benchmark, resamples=20).to_dict())
    return console.file.getvalue()


def steps(models: int) -> np.ndarray:
    """Every model is right on two items less than the one before."""
    return (np.arange(80)[None, :] < 80 - 2 * np.arange(models)[:, None]).astype(float)


def test_models_stand_in_tiers_and_few_are_shown():
    text = shown(steps(24))
    lines = text.splitlines()
    assert lines[0] == "bench: 24 models, 80 items, 1 task"
    assert lines[1] == "scores 0 or 1; overall item_mean"
    assert lines[2] == "80 prompts; solved by all models: 34 items, by none: 0"
    table = [line for line in lines if line.strip().startswith(("tier", "1 m000", "20 m019"))]
    assert table[0].strip().startswith("tier 1: ")
    assert "m020" not in text
    assert "and 4 more in summary.csv" in lines
    assert "first place: m000; m001 is level without 2 items (2.5 %)" in lines
    assert "100.0 [95.4, 100.0]" in text


def test_equals_are_marked_and_one_tier_has_no_heading():
    text = shown([[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    assert "1= m000" in text
    assert "1= m001" in text
    assert "tier 1" not in text
    assert "first place: shared by m000, m001" in text


def test_names_are_text_cut_to_80_columns():
    long = "[bold]" + "名" * 60
    text = shown(steps(3), names=[long, "a\x1b[31mred :smile:", "[/x]"], name="[red]" * 20)
    assert "[bold]名" in text
    assert "…" in text
    assert "\x1b" not in text
    assert ":smile:" in text
    assert "[/x]" in text
    plain = shown(np.tile(steps(3), (1, 1)), names=["n" * 200, "o" * 200, "p" * 200])
    assert max(map(len, plain.splitlines())) <= 80
    # The names alone are cut, and take all that the numbers leave.
    assert "n" * 30 in plain
    head, table = plain.splitlines()[3:5], plain.splitlines()[5:8]
    assert head[0].endswith(" mde,")
    assert head[1].endswith(" ranks   pp")
    assert [line.count("…") for line in table] == [1, 1, 1]
    assert all(line[-1].isdigit() and len(line) in (79, 80) for line in table)


def test_one_model_and_halves():
    text = shown([[1, 0.5, 0]], provenance=["each score is the mean of 2 runs", "note: careful"])
    assert "scores multiples of 1/2, 2 runs each; overall item_mean" in text
    assert "first place: m000, the only model" in text
    assert "told apart" not in text
    assert "warning: 1 model" in text
    assert "note: careful" in text


def test_a_tiny_p_is_only_said_to_be_tiny():
    rows = np.zeros((2, 300))
    rows[0] = 1
    text = shown(rows)
    assert "<1e-12" in text
    assert "-100.0" in text
