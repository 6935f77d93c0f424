"""`jaxbench sweep`: what it writes, how it goes on, what it refuses before anything compiles."""

import json
import os
import re
import subprocess
import sys

import jax
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import jaxbench
from commands import answer, elsewhere, everything_below, refused
from jaxbench.engine import kernel
from jaxbench.jobs import sweep_command
from jaxbench.jobs.status_command import status
from jaxbench.metrics import METRICS
from jaxbench.studies.truth import COLUMNS as TRUTH
from pairs import item_frame, score_frame, write_pair
from sweep_studies import FAST, TINY, write_study

BENCHMARK = {"benchmark": "terminal_science"} | FAST
FIGURES = [
    {"name": "loss", "metric": "selection_loss_pp", "lines": ["seed"], "panels": "interface"},
    {"name": "by_seed", "metric": "false_winner", "x": "seed", "budgets": [4]},
]
CONDITION = ["benchmark", "endpoints", "interface", "mechanism", "coordinates"]
ENDS = ("", "_low", "_high")


@pytest.fixture
def here(tmp_path):
    with elsewhere(tmp_path) as folder:
        yield folder


@pytest.fixture
def study(here):
    """Write a study and give the words that run it."""

    def writing(name="mine", **parts):
        parts = {"options": BENCHMARK | {"preset": "simulation"}, "vary": {"seed": [0, 1]}} | parts
        write_study(here, name, **parts)
        return ("sweep", f"study=./{name}.yaml")

    return writing


def stamps(folder):
    """What changes when anything below a folder is written."""
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (folder, *folder.rglob("*"))
        if path.name != ".lock"
    }


def ran(capsys, *arguments):
    found = answer(capsys, *arguments)
    assert found.status == 0, found.err
    return found


# What is written


def test_the_run_directory(study, here, capsys):
    words = study(
        vary={"seed": [0, 1], "interface": ["task", "aggregate"]}, figures=FIGURES,
        summary="what it asks",
    )  # fmt: skip
    found = ran(capsys, *words, "out=run", "log=json")
    assert found.last_line == "run"
    run = here / "run"
    files = {"config.yaml", "run.json", "plan.json", "summary.csv", "trials.parquet", "shards",
             "loss.svg", "loss.png", "by_seed.svg", "by_seed.png"}  # fmt: skip
    assert {path.name for path in run.iterdir()} == files
    assert status(run)[:3] == ("sweep", "mine (smoke)", "done")
    assert status(run).shards == (2, 2)
    table = pd.read_csv(run / "summary.csv")
    measured = [name + end for name in METRICS for end in ENDS]
    counts = ["budget", "eligible_trials", "attempted_trials"]
    assert list(table.columns) == [*CONDITION, "seed", *counts, *measured]
    assert table["budget"].tolist() == [0, 1, 2, 4] * 4
    trials = pq.read_table(run / "trials.parquet")
    names = ["trial", "budget", "eligible", "endpoint_a", "endpoint_b", "no_attack_model",
             "selected_model"]  # fmt: skip
    ranks = ["heldout_regret_pp", "rank_reused", "rank_heldout"]
    assert trials.column_names == [*CONDITION, "seed", *names, *METRICS, *ranks]
    assert len(trials) == 4 * FAST["trials"] * 4
    assert trials.schema.field("seed").type == pa.int64()
    record = json.loads((run / "run.json").read_text())
    assert (record["job"], record["state"]) == ("sweep", "done")
    assert record["command"] == "jaxbench sweep study=./mine.yaml out=run log=json"
    assert (record["conditions"], record["cells"]) == (4, 2)
    assert record["trials"] == 4 * FAST["trials"]
    assert record["seeds"]["seed"] == [0, 1]
    assert record["benchmarks"][0]["sha256"] == jaxbench.load("terminal_science").digest()
    assert set(record["seconds"]) == {"compile", "run", "summary", "total"}
    assert record["programs"]
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config["file"] == yaml.safe_load((here / "mine.yaml").read_text())
    assert (config["study"], config["size"], config["overrides"]) == ("mine", "smoke", {})
    # One object a line, and nothing else on standard error.
    events = [json.loads(line) for line in found.err.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "start"
    assert kinds[-1] == "done"
    assert kinds.count("shard") == 2
    assert kinds.count("compile") == len(record["programs"])
    assert (events[-1]["trials_done"], events[-1]["conditions_done"]) == (record["trials"], 4)
    # What an attack writes has the same columns of the same types.
    assert answer(capsys, "attack", "trials=4", "budgets=[1,2]", "resamples=9", "out=a").status == 0
    attack = pq.read_schema("a/trials.parquet")
    assert [trials.schema.field(name).type for name in attack.names] == attack.types


def test_worlds_add_their_truth_and_parameters(study, here, capsys):
    options = FAST | {"world": TINY, "save_trials": False}
    words = study(options=options, vary={"world.seed": [0, 1], "world.leader_gap": [0.0, 0.5]})
    found = ran(capsys, *words, "out=run")
    table = pd.read_csv(here / "run/summary.csv")
    assert list(table.columns)[5:7] == ["world.seed", "world.leader_gap"]
    assert list(table.columns)[-9:] == [name + end for name in TRUTH for end in ENDS]
    assert table["benchmark"].nunique() == 4
    assert not (here / "run/trials.parquet").exists()
    # The terminal says what tells conditions apart, however narrow it is.
    lines = found.out.splitlines()
    assert re.split(r"\s{2,}", lines[1])[:3] == ["seed", "leader gap", "trials"]
    rows = [tuple(re.split(r"\s{2,}", line)[:2]) for line in lines[2:6]]
    assert rows == [("0", "0"), ("0", "0.5"), ("1", "0"), ("1", "0.5")]


def test_columns_of_mixed_conditions(study, here, capsys):
    # Numbers beside words, values that only some conditions have, truth that only worlds have.
    words = study(
        options=FAST,
        vary={"precision": [3, "exact"]},
        conditions=[
            {"benchmark": "terminal_science", "holdout_fraction": 0.5},
            {"world": TINY, "holdout_fraction": "2/3"},
            {"world": TINY, "scoring": "equal_task"},
        ],
    )
    ran(capsys, *words, "out=run")
    trials = pd.read_parquet(here / "run/trials.parquet")
    table = pd.read_csv(here / "run/summary.csv")
    assert set(trials["precision"]) == {"3", "exact"}
    assert set(trials["holdout_fraction"].dropna()) == {"0.5", "2/3"}
    assert trials["holdout_fraction"].isna().mean() == pytest.approx(1 / 3)
    named = trials["benchmark"] == "terminal_science"
    assert trials.loc[named, list(TRUTH)].isna().all(axis=None)
    assert trials.loc[~named, "no_attack_true_pp"].notna().all()
    for frame in (trials, table):
        assert set(frame["scoring"].dropna()) == {"equal_task"}


@pytest.mark.parametrize("name", ["[red]a[/red]", "<b>&amp;", "$x_1$ \\frac{1}{2}", "_a%b", "a\\"])
def test_names_that_others_would_read_as_their_own(name, study, here, capsys):
    name = name.replace("/", "|")
    write_pair(here / name, item_frame(), score_frame())
    figures = [
        {"name": "loss", "metric": "false_winner", "lines": ["benchmark"], "panels": "benchmark"},
        {"name": "x", "metric": "false_winner", "x": "benchmark", "budgets": [4]},
    ]
    words = study(options=FAST | {"path": name}, vary={"seed": [0]}, figures=figures)
    ran(capsys, *words, "out=run")
    table = pd.read_csv(here / "run/summary.csv")
    assert set(table["benchmark"]) == {name}
    assert (here / "run/loss.png").stat().st_size > 1000


# Going on


def test_resume_starts_goes_on_and_returns(study, here, capsys):
    words = (*study(figures=FIGURES), "out=run", "resume=true")
    ran(capsys, *words)
    run = here / "run"
    before = stamps(run)
    texts = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    # All is done: nothing is touched, and nothing is slow.
    found = ran(capsys, *words)
    assert found.out.splitlines() == ["done already", "run"]
    assert stamps(run) == before
    # A result that is missing is made again from the shards.
    for name in ("trials.parquet", "loss.svg", "summary.csv"):
        (run / name).unlink()
        ran(capsys, *words)
        again = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
        assert {n for n in texts if again[n] != texts[n]} <= {"run.json"}
        after = stamps(run)
        shards = [path for path in before if path.suffix == ".parquet" and "shards" in path.parts]
        assert [after[path] for path in shards] == [before[path] for path in shards]
    # A shard that is missing or damaged is computed again, and the others are not.
    shards = sorted((run / "shards").glob("*.parquet"))
    record = json.loads((run / "run.json").read_text())
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"PAR1 no PAR1")):
        damage(shards[0])
        (run / "run.json").write_text(json.dumps(record | {"state": "unfinished"}))
        kept = stamps(shards[1])
        found = ran(capsys, *words, "log=json")
        written = [json.loads(line) for line in found.err.splitlines()]
        assert [e["file"] for e in written if e["event"] == "shard"] == [shards[0].name]
        assert stamps(shards[1]) == kept
        again = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
        assert {n for n in texts if again[n] != texts[n]} <= {"run.json"}
    assert "recomputed a damaged shard" in found.out
    assert [e["file"] for e in written if e["event"] == "damaged"] == [
        f"run/shards/{shards[0].name}"
    ]


def test_resume_with_other_options(study, here, capsys):
    words = study(figures=FIGURES)
    ran(capsys, *words, "out=run")
    run = here / "run"
    shards = stamps(run / "shards")
    before = pd.read_csv(run / "summary.csv")
    # Of summaries alone: no shard is computed, and the results are not the old ones.
    ran(capsys, *words, "out=run", "resume=true", "resamples=9")
    assert stamps(run / "shards").items() >= shards.items()
    assert len(list((run / "shards").glob("*.parquet"))) == 2
    after = pd.read_csv(run / "summary.csv")
    means = [*CONDITION, "seed", "budget", *METRICS]
    pd.testing.assert_frame_equal(before[means], after[means], check_exact=True)
    assert not before.equals(after)
    # Of trials: a finished run is not replaced, but it may grow.
    other = ("trials=5", "save_trials=false")
    refused(capsys, here, (*words, "out=run", "resume=true", *other), "other options", "overwrite")
    assert stamps(run / "shards").items() >= shards.items()
    # One that was stopped goes on with whatever is asked now, beside the old shards.
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"state": "unfinished"}))
    ran(capsys, *words, "out=run", "resume=true", *other)
    assert len(list((run / "shards").glob("*.parquet"))) == 4
    assert stamps(run / "shards").items() >= {k: v for k, v in shards.items() if k.suffix}.items()
    # No trials of other options lie beside the new summary.
    assert not (run / "trials.parquet").exists()
    assert set(pd.read_csv(run / "summary.csv")["attempted_trials"]) == {5}
    assert status(run).shards == (2, 2)
    # Another study is refused.
    other = study("other")
    refused(capsys, here, (*other, "out=run", "resume=true"), "holds study=mine", "study=other")


def test_a_finished_study_may_grow(study, here, capsys):
    words = study()
    ran(capsys, *words, "out=run", "seed=[0]")
    before = stamps(here / "run" / "shards")
    ran(capsys, *words, "out=run", "resume=true", "seed=[0,1]")
    after = stamps(here / "run" / "shards")
    # Only what is new was computed.
    assert after.items() > {k: v for k, v in before.items() if k.suffix}.items()
    assert set(pd.read_csv(here / "run/summary.csv")["seed"]) == {0, 1}


def test_from_python_a_run_directory_is_the_commands(study, here, capsys):
    words = study(figures=FIGURES)
    ran(capsys, *words, "out=run")
    mine = words[-1].partition("=")[2]
    result = jaxbench.sweep(mine, out="own")
    assert status(here / "own").state == "done"
    for name in ("summary.csv", "loss.svg"):
        assert (here / "own" / name).read_bytes() == (here / "run" / name).read_bytes()
    assert len(result.trials()) == len(pd.read_parquet(here / "run/trials.parquet"))
    before = everything_below(here / "own")
    again = jaxbench.sweep(mine, out="own", resume=True)
    assert len(again.summary()) == len(result.summary())
    with pytest.raises(jaxbench.BadRequest, match="other options"):
        jaxbench.sweep(mine, out="own", resume=True, trials=5)
    assert everything_below(here / "own") == before


def test_a_figure_that_is_gone_does_not_stay(study, here, capsys):
    ran(capsys, *study(figures=FIGURES), "out=run")
    ran(capsys, *study(figures=FIGURES[:1]), "out=run", "resume=true")
    names = {path.name for path in (here / "run").glob("*.svg")}
    assert names == {"loss.svg"}


def test_overwrite(study, here, capsys):
    words = study()
    ran(capsys, *words, "out=run")
    refused(capsys, here, (*words, "out=run"), "out=run holds another run", "overwrite=true")
    refused(capsys, here, (*words, "out=run", "overwrite=true", "resume=true"), "give one")
    ran(capsys, *words, "out=run", "overwrite=true", "seed=7")
    assert len(list((here / "run/shards").glob("*.parquet"))) == 1
    assert set(pd.read_csv(here / "run/summary.csv")["budget"]) == {0, 1, 2, 4}


def test_a_full_disk_at_the_end_keeps_the_shards(study, here, capsys, monkeypatch):
    words = (*study(), "out=run", "resume=true")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_csv", full)
        found = answer(capsys, *words)
    assert found.status == 2
    assert found.err.startswith("jaxbench sweep: out=run: the disk is full; finished shards are")
    assert len(found.err.splitlines()) == 1
    assert status(here / "run").state == "unfinished"
    assert status(here / "run").shards == (2, 2)
    before = stamps(here / "run/shards")
    ran(capsys, *words)
    assert {k: v for k, v in stamps(here / "run/shards").items() if k.suffix} == {
        k: v for k, v in before.items() if k.suffix
    }


# Looking first


def test_a_dry_run_writes_nothing(study, here, capsys):
    words = study(vary={"interface": ["task", "aggregate"]})
    before = everything_below(here)
    for more in ((), ("out=run",), ("memory=8GB",), ("out=run", "resume=true")):
        found = ran(capsys, *words, "dry_run=true", *more)
        assert everything_below(here) == before
        assert "terminal_science" in found.out
        assert re.search(r"1 program, 1 shard, 12 trials .* about \d+ s on this machine", found.out)
        assert re.search(r"memory: limit .* GB", found.out)
        assert found.err == ""


def test_a_dry_run_loses_no_number(study, here, capsys):
    options = FAST | {"world": TINY, "trials": 1200}
    vary = {"world.seed": {"count": 3}, "world.tasks": [1, 2, 3]}
    found = ran(capsys, *study(options=options, vary=vary), "dry_run=true")
    lines = found.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in found.out
    heads = ["cells", "cond.", "trials", "slots", "chunk", "rows", "MB", "s"]
    assert lines[0].split() == heads
    assert "9 shards, 10,800 trials (times conditions)" in " ".join(found.out.split())


# Refusals


@pytest.fixture
def compiles(monkeypatch):
    """The kernel cannot be compiled, and programs that are compiled are counted."""
    monkeypatch.setattr(kernel, "attack_rows", None)
    found = []

    def listen(event, _duration, **_):
        if compiles.on and "backend_compile" in event:
            found.append(event)

    compiles.on = True
    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    compiles.on = False


@pytest.mark.parametrize(
    ("parts", "options", "words"),
    [
        ({}, ("study=publish",), ["unknown study 'publish'", "did you mean published?"]),
        ({}, ("study=.",), ["unknown study '.'"]),
        ({}, ("study=./none.yaml",), ["study=./none.yaml", "no such file"]),
        ({}, ("study=./folder.yaml",), ["study=./folder.yaml", "is a directory"]),
        ({}, ("size=huge",), ["unknown size", "'huge'", "smoke"]),
        ({"vary": {"seed": []}}, (), ["vary.seed is []", "no condition"]),
        ({}, ("seed=[]",), ["vary.seed is []", "no condition"]),
        ({}, ("memory=50MB",), ["memory=50MB is too little", "say memory="]),
        ({}, ("memory=lots",), ["memory=lots", "2GB"]),
        ({}, ("trials=1000000000",), ["trials=1000000000", "at most 100,000,000"]),
        ({}, ("seed=18446744073709551616",), ["seed", "at most"]),
        ({}, ("interface=category",), ["interface=category", "no categories", "seed=0"]),
        ({}, ("resume=true",), ["say which with out=FOLDER"]),
        ({}, ("resume=maybe",), ["resume=maybe", "true or false"]),
        ({}, ("out=mine.yaml",), ["out=mine.yaml is not a folder"]),
        ({}, ("out=mine.yaml", "resume=true"), ["out=mine.yaml is not a folder"]),
        ({}, ("out=folder.yaml", "resume=true"), ["no run"]),
        ({}, ("log=xml",), ["unknown value of log 'xml'"]),
        ({}, ("trails=3",), ["unknown option 'trails'"]),
        ({}, ("world={items:3}",), ["items=3", "4 to 100,000"]),
        ({}, ("world={itms:30}",), ["parameter of a world", "items"]),
        ({}, ("benchmark=terminal_science", "world={}"), ["outcomes come from one of them"]),
        ({"figures": [{"name": "f", "metric": "loss_pp"}]}, (), ["metric of figure f"]),
        ({"figures": [{"name": "f", "metric": "false_winner", "lines": ["sed"]}]}, (),
         ["column of figure f", "did you mean seed?"]),
        ({"figures": [{"name": "../f", "metric": "false_winner"}]}, (), ["figure '../f'"]),
    ],
    ids=str,
)  # fmt: skip
def test_bad_requests(parts, options, words, study, here, capsys, compiles):
    (here / "folder.yaml").mkdir()
    (here / "folder.yaml/notes.txt").write_text("mine")
    arguments = study(**({"options": BENCHMARK | {"preset": "simulation"}} | parts))
    if any(option.startswith("study=") for option in options):
        arguments = arguments[:1]
    refused(capsys, here, (*arguments, *options), *words)
    assert [path.name for path in here.iterdir() if path.name.startswith((".", "runs"))] == []
    # At most the words of one split of a simulation are drawn, a matter of half a second.
    assert len(compiles) <= 4, compiles


def test_no_study_at_all(here, capsys):
    refused(capsys, here, ("sweep",), "name a study", "study=", "published", "synthetic_grid")


@pytest.mark.parametrize("limit", ["50MB", "700MB", "1000MB"])
def test_the_amount_that_is_asked_for_is_enough(limit, here, tmp_path):
    """In a process of its own, since a limit is for the whole process."""
    write_study(here, options=BENCHMARK, vary={"interface": ["task", "aggregate"]})

    def run(memory):
        code = (
            "import sys\nfrom jaxbench.cli import main\nfrom jaxbench.jobs import sweep_into\n"
            # Planning alone: what comes after it takes longer.
            "class Enough(Exception): pass\n"
            "def enough(*_, **__): raise Enough\n"
            "sweep_into.sweep_directory = enough\n"
            "try: sys.exit(main(sys.argv[1:]))\nexcept Enough: sys.exit(0)\n"
        )
        words = ["sweep", "study=./mine.yaml", "out=run", f"memory={memory}"]
        return subprocess.run(
            [sys.executable, "-c", code, *words], cwd=here, env=os.environ, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip

    found = run(limit)
    if limit == "50MB":
        assert found.returncode == 2
    if found.returncode:
        assert found.returncode == 2, found.stderr
        asked = re.search(r"say memory=(\d+MB)", found.stderr)[1]
        assert run(asked).returncode == 0
        assert int(asked[:-2]) < 1500
    assert not (here / "run").exists()


def test_the_job_itself_needs_no_hydra(study, here):
    study()
    sweep_command.run(
        {"study": "./mine.yaml", "size": "smoke", "out": "run", "seed": 3}, "jaxbench sweep"
    )
    assert status(here / "run").state == "done"
