"""Run directories: whole or not there, what they hold, and that a run can be repeated."""

import contextlib
import errno
import json
import re
import shlex
import shutil
import stat
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
import yaml

import jaxbench
from commands import QUICK, answer, elsewhere, everything_below
from jaxbench.cli import main
from jaxbench.errors import BadRequest
from jaxbench.jobs.run_directory import default_directory, run_directory
from jaxbench.options import resolve
from jaxbench.options.attack import JOB_OPTIONS
from jaxbench.options.option import built
from jaxbench.options.table import ATTACK
from pairs import write_pair

METRICS = [
    "selection_loss_pp",
    "score_gap_pp",
    "genuine_gap_pp",
    "false_winner",
    "selected_router",
    "rank_drop",
    "no_attack_reused_pp",
    "no_attack_heldout_pp",
    "selected_reused_pp",
    "selected_heldout_pp",
    "router_reused_pp",
    "router_heldout_pp",
    "loss_vs_static_pp",
    "pair_order_kept",
    "release_rate",
    "board_error_pp",
]
CONDITION = ["benchmark", "endpoints", "interface", "mechanism", "coordinates"]
FIGURES = ("selection_loss", "score_gap")


@pytest.fixture
def here(tmp_path):
    with elsewhere(tmp_path) as folder:
        yield folder


def a_run(folder: Path, text: str = "old") -> Path:
    """A finished run, as small as they come."""
    with run_directory(folder, overwrite=False) as partial:
        (partial / "summary.csv").write_text(text)
        (partial / "run.json").write_text(
            json.dumps({"job": "attack", "versions": {"jaxbench": version("jaxbench")}})
        )
    return folder


# Whole or not there


def test_directory_appears_when_it_is_complete(here):
    with run_directory(Path("new/run"), overwrite=False) as partial:
        (partial / "run.json").write_text("{}")
        assert not Path("new/run").exists()
        assert partial.parent == Path("new")
    assert everything_below(here) == {"new", "new/run", "new/run/run.json"}


def test_directory_is_as_readable_as_any_other(here):
    Path("other").mkdir()
    a_run(Path("run"))
    assert stat.S_IMODE(Path("run").stat().st_mode) == stat.S_IMODE(Path("other").stat().st_mode)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        # A full disk is told like a bad request: one line, and nothing is left.
        (OSError(errno.ENOSPC, "No space left on device"), BadRequest),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (SystemExit(), SystemExit),
    ],
)
def test_nothing_is_left_of_a_run_that_fails(error, told, here):
    Path("there").mkdir()

    def fail(folder):
        with run_directory(Path(folder), overwrite=False) as partial:
            (partial / "summary.csv").write_text("half")
            raise error

    for folder in ("run", "new/and/newer/run", "there/run"):
        with pytest.raises(told):
            fail(folder)
    assert everything_below(here) == {"there"}


def test_empty_directory_is_taken(here):
    Path("run").mkdir()
    a_run(Path("run"))
    assert everything_below(here) == {"run", "run/summary.csv", "run/run.json"}


def test_two_runs_for_one_name_keep_the_first_that_is_done(here):
    def second():
        with run_directory(Path("run"), overwrite=False) as partial:
            (partial / "run.json").write_text("second")
            a_run(Path("run"), "first")

    with pytest.raises(BadRequest, match="another run"):
        second()
    assert everything_below(here) == {"run", "run/summary.csv", "run/run.json"}
    assert Path("run/summary.csv").read_text() == "first"


def test_default_names_tell_microseconds_apart():
    names = []
    while len(names) < 20:
        name = default_directory("attack").as_posix()
        assert re.fullmatch(r"runs/attack-\d{8}-\d{6}-\d{6}", name)
        if name not in names:  # two calls can fall into one microsecond, two processes hardly
            names.append(name)
    assert names == sorted(names)
    assert len({name[: -len("-123456")] for name in names}) <= 2


def test_a_job_that_cannot_write_leaves_nothing(here, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with contextlib.suppress(OSError):
        assert main(["attack", *QUICK, "out=new/run"]) != 0
    assert everything_below(here) == set()


# Replacing


def test_overwrite_replaces_a_run(here):
    a_run(Path("run"), "old")
    (here / "run/more.svg").write_text("a figure of the old run")
    with run_directory(Path("run"), overwrite=True) as partial:
        (partial / "run.json").write_text("new")
        assert Path("run/summary.csv").read_text() == "old"
    assert everything_below(here) == {"run", "run/run.json"}


def test_a_run_with_files_of_the_users_in_it_is_not_replaced(here):
    a_run(Path("run"), "old")
    (here / "run/notes.txt").write_text("mine")
    with (
        pytest.raises(BadRequest, match=r"notes\.txt"),
        run_directory(Path("run"), overwrite=True),
    ):
        pass
    assert (here / "run/notes.txt").read_text() == "mine"


@pytest.mark.parametrize("overwrite", [True, False])
def test_folders_that_are_no_runs_are_never_replaced(overwrite, here):
    Path("thesis").mkdir()
    Path("thesis/chapter.tex").write_text("mine")
    with (
        pytest.raises(BadRequest, match="not a jaxbench run"),
        run_directory(Path("thesis"), overwrite=overwrite),
    ):
        pass
    assert everything_below(here) == {"thesis", "thesis/chapter.tex"}


def test_links_are_not_followed(here):
    a_run(Path("run"))
    Path("link").symlink_to("run")
    with pytest.raises(BadRequest, match="out=link"), run_directory(Path("link"), overwrite=True):
        pass
    assert everything_below(here) >= {"run/summary.csv", "link"}


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_old_run_comes_back_if_the_new_one_cannot_take_its_place(error, here, monkeypatch):
    a_run(Path("run"), "old")
    rename = Path.rename

    def stubborn(self, target):
        if self.name.endswith(".partial"):
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stubborn)

    def replace():
        with run_directory(Path("run"), overwrite=True) as partial:
            (partial / "run.json").write_text("new")

    with pytest.raises(BadRequest if error is OSError else error):
        replace()
    assert everything_below(here) == {"run", "run/summary.csv", "run/run.json"}
    assert Path("run/summary.csv").read_text() == "old"


def test_overwrite_on_the_command_line(capsys, here):
    for seed, options in ((1, ()), (2, ("overwrite=true", "save_trials=false"))):
        found = answer(capsys, "attack", *QUICK, f"split_seed_base={seed}", "out=run", *options)
        assert (found.status, found.last_line) == (0, "run")
        assert yaml.safe_load(Path("run/config.yaml").read_text())["split_seed_base"] == seed
    assert not Path("run/trials.parquet").exists()
    assert [path.name for path in here.iterdir()] == ["run"]


# What it holds

REQUEST = ("attack", *QUICK, "endpoints=[top5,full_frontier]", "out=run")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """One run under two endpoint rules."""
    with elsewhere(tmp_path_factory.mktemp("run")) as folder:
        assert main(list(REQUEST)) == 0
        return folder / "run"


def test_files(run):
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    expected = {"config.yaml", "run.json", "summary.csv", "trials.parquet", *figures}
    assert everything_below(run) == expected
    assert [path.name for path in run.parent.iterdir()] == ["run"]


def test_columns_of_the_summary(run):
    expected = [*CONDITION, "budget", "eligible_trials", "attempted_trials"]
    expected += [f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")]
    table = pd.read_csv(run / "summary.csv")
    assert list(table.columns) == expected
    assert list(zip(table["endpoints"], table["budget"], strict=True)) == [
        (rule, budget) for rule in ("top5", "full_frontier") for budget in (0, 1, 2, 4)
    ]
    assert set(table["attempted_trials"]) == {4}
    for column, value in zip(CONDITION, ("terminal_science", None, "task", "none", 5), strict=True):
        assert value is None or set(table[column]) == {value}


def test_columns_of_the_trials(run):
    table = pd.read_parquet(run / "trials.parquet")
    own = ["trial", "budget", "eligible", "endpoint_a", "endpoint_b"]
    own += ["no_attack_model", "selected_model"]
    more = ["heldout_regret_pp", "rank_reused", "rank_heldout"]
    assert len(set(table.columns)) == len(table.columns)
    assert set(table.columns) == {*CONDITION, *own, *METRICS, *more}
    assert len(table) == 2 * 4 * 4
    keys = table[["endpoints", "trial", "budget"]]
    assert not keys.duplicated().any()
    models = {*jaxbench.load("terminal_science").models, "Final router"}
    assert set(table["selected_model"].dropna()) <= models


def test_trials_that_are_not_eligible_keep_their_rows(run):
    table = pd.read_parquet(run / "trials.parquet")
    attacked = table[~table["eligible"] & (table["budget"] > 0)]
    assert len(attacked)
    filled = {metric for metric in METRICS if attacked[metric].notna().any()}
    of_the_board = {"no_attack_reused_pp", "no_attack_heldout_pp", "genuine_gap_pp"}
    assert filled == of_the_board | {"pair_order_kept"}
    assert attacked[sorted(filled)].notna().all(axis=None)


def test_record(run):
    def not_json(word):
        raise AssertionError(f"{word} is no JSON")

    record = json.loads((run / "run.json").read_text(), parse_constant=not_json)
    benchmark = jaxbench.load("terminal_science")
    assert shlex.split(record["command"]) == ["jaxbench", *REQUEST]
    assert record["job"] == "attack"
    assert record["benchmark"]["name"] == "terminal_science"
    assert record["benchmark"]["sha256"] == benchmark.digest()
    assert re.fullmatch(r"[0-9a-f]{64}", record["benchmark"]["sha256"])
    seeds = {
        "split_seed_base": 202609230000,
        "routing_seeds": ["science-bank0-20260923"],
        "tie_seed": "science-ties0-20260923",
        "bootstrap_seed": 2026081900,
    }
    assert record["seeds"].items() >= seeds.items()
    for package in ("jaxbench", "jax", "jaxlib", "numpy", "pandas", "hydra-core"):
        assert record["versions"][package] == version(package)
    assert record["device"]["platform"] in ("cpu", "gpu")
    seconds = record["seconds"]
    assert seconds["compile"] >= 0
    assert seconds["run"] >= 0
    assert seconds["total"] >= seconds["compile"]


def test_configuration_says_the_same_again(run):
    config = yaml.safe_load((run / "config.yaml").read_text())
    named = {option.name for option in built(ATTACK)} - {"path", "out", "overwrite"}
    assert set(config) <= named
    assert {"benchmark", "preset", "trials", "budgets", "routing_seed", "split"} <= set(config)
    assert None not in config.values()
    protocol = jaxbench.load("terminal_science").protocol
    own = {name: value for name, value in config.items() if name not in JOB_OPTIONS}
    asked = {name: yaml.safe_load(value) for name, value in map(_option, REQUEST[1:])}
    del asked["out"]
    assert resolve(own, protocol) == resolve(asked, protocol)


def _option(word: str) -> list[str]:
    return word.split("=", 1)


def test_figures_are_pictures(run):
    for name in FIGURES:
        assert (run / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        svg = ET.parse(run / f"{name}.svg").getroot()
        assert svg.tag == "{http://www.w3.org/2000/svg}svg"


def test_save_trials_false_leaves_out_that_table_only(run, here):
    assert main([*REQUEST, "save_trials=false"]) == 0
    assert everything_below(here / "run") == everything_below(run) - {"trials.parquet"}
    assert (here / "run/summary.csv").read_bytes() == (run / "summary.csv").read_bytes()


def test_the_same_request_gives_the_same_bytes_in_another_process(run, run_cli, tmp_path):
    done = run_cli(*REQUEST, env={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "COLUMNS": "60"})
    assert done.returncode == 0, done.stderr
    for name in ("summary.csv", "trials.parquet", *(f"{figure}.svg" for figure in FIGURES)):
        assert (tmp_path / "run" / name).read_bytes() == (run / name).read_bytes(), name


def test_the_record_of_own_scores_names_one_source(here):
    write_pair(here / "data")
    assert main(["attack", "path=data", *QUICK, "out=run"]) == 0
    record = json.loads(Path("run/run.json").read_text())
    assert record["benchmark"]["name"] == "data"
    assert record["benchmark"]["sha256"] == jaxbench.read("data").digest()
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    # Absolute: it repeats the run from any folder.
    assert config["path"] == str(here / "data")
    # Both at once would be refused when the configuration is used again.
    assert config.get("benchmark") is None
    shutil.rmtree("run")
    options = [f"{name}={json.dumps(value)}" for name, value in config.items() if value is not None]
    assert main(["attack", *options, "out=run"]) == 0
