"""`jaxbench describe`: its run directory, and what it refuses."""

import json
import subprocess
import sys

import pandas as pd
import pytest
import yaml

import jaxbench
from commands import answer, elsewhere, everything_below, refused
from jaxbench.card.card import COLUMNS
from pairs import item_frame, score_frame, write_pair

QUICK = ("resamples=20",)
FILES = {"card.json", "card.txt", "config.yaml", "run.json", "summary.csv"}


@pytest.fixture
def here(tmp_path):
    with elsewhere(tmp_path) as folder:
        yield folder


def test_a_run_directory_that_repeats_itself(capsys, here):
    found = answer(capsys, "describe", *QUICK, "level=2/3", "out=run")
    assert (found.status, found.err) == (0, "")
    assert found.last_line == "run"
    assert everything_below(here) == {"run", *(f"run/{file}" for file in FILES)}
    config = yaml.safe_load((here / "run/config.yaml").read_text())
    assert config == {
        "benchmark": "terminal_science", "scoring": "item_mean", "min_task_items": 1,
        "level": "2/3", "power": 0.8, "correction": "holm", "resamples": 20, "seed": 0,
    }  # fmt: skip
    again = [f"{name}={value}" for name, value in config.items()]
    assert answer(capsys, "describe", *again, "out=again").status == 0
    for file in ("card.json", "summary.csv"):
        assert (here / "again" / file).read_bytes() == (here / "run" / file).read_bytes()
    record = json.loads((here / "run/run.json").read_text())
    assert record["job"] == "describe"
    assert record["command"] == "jaxbench describe resamples=20 level=2/3 out=run"
    assert record["benchmark"]["sha256"] == jaxbench.load("terminal_science").digest()
    assert record["seeds"] == {"seed": 0}
    assert "jaxbench" in record["versions"]


def test_the_files_are_what_python_returns(capsys, here):
    write_pair(here / "data")
    assert answer(capsys, "describe", "path=data", *QUICK, "out=run").status == 0
    card = jaxbench.describe(jaxbench.read("data"), resamples=20)

    def nothing_else(word):
        raise AssertionError(f"{word} is no JSON")

    text = (here / "run/card.json").read_text()
    assert json.loads(text, parse_constant=nothing_else) == card.to_dict()
    summary = pd.read_csv(here / "run/summary.csv")
    assert list(summary.columns) == ["benchmark", *COLUMNS]
    pd.testing.assert_frame_equal(summary, card.summary(), check_dtype=False, rtol=1e-12)
    assert yaml.safe_load((here / "run/config.yaml").read_text())["path"] == str(here / "data")


def test_without_a_name_the_directory_has_date_and_time(capsys, here):
    found = answer(capsys, "describe", *QUICK)
    assert found.status == 0
    assert found.last_line.startswith("runs/describe-")
    assert (here / found.last_line / "card.json").is_file()


def test_one_model_is_described(capsys, here):
    scores = score_frame()
    write_pair(here / "data", scores=scores[scores["model"] == "model a"])
    assert answer(capsys, "describe", "path=data", *QUICK, "out=run").status == 0
    summary = pd.read_csv(here / "run/summary.csv")
    assert summary["p_first"].isna().all()
    assert summary["rank"].tolist() == [1]


def test_a_task_of_one_item_is_a_warning(capsys, here):
    items = item_frame()
    items.loc[0, "task"] = "alone"
    write_pair(here / "data", items)
    found = answer(capsys, "describe", "path=data", *QUICK, "out=run")
    assert found.status == 0
    assert "warning: 1 task of one item ('alone')" in found.out


def test_several_runs_say_which(capsys, here):
    found = answer(capsys, "describe", "-m", *QUICK, "correction=holm,none")
    assert found.status == 0
    assert "jaxbench describe resamples=20 correction=none" in found.out.splitlines()
    assert len(list(here.glob("runs/*/card.json"))) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("scoring=mean_win_rate",), ("no paired test of items is defined there",)),
        (("scoring=equal_category",), ("terminal_science has no categories",)),
        (("level=95",), ("level=95", "between 0 and 1")),
        (("trials=3",), ("unknown option 'trials'",)),
        (("path=nowhere",), ("no such file or folder",)),
        (("benchmark=terminal_sience",), ("did you mean terminal_science?",)),
        (("out=.",), ("the current folder",)),
    ],
)
def test_a_bad_request_is_one_line_and_leaves_nothing(capsys, here, arguments, words):
    refused(capsys, here, ("describe", *arguments), *words)


def test_results_do_not_go_where_the_outcomes_are(capsys, here):
    write_pair(here / "data")
    refused(capsys, here, ("describe", "path=data", "out=data"), "data")


def test_another_run_is_replaced_only_when_told(capsys, here):
    assert answer(capsys, "describe", *QUICK, "out=run").status == 0
    refused(capsys, here, ("describe", *QUICK, "out=run"), "overwrite=true")
    assert answer(capsys, "describe", *QUICK, "out=run", "overwrite=true").status == 0


def test_help_does_not_import_jax(tmp_path):
    code = (
        "import sys\nfrom jaxbench.cli import main\nmain(['describe', '--help'])\n"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"
    assert "min_task_items" in done.stdout
