"""`jaxbench status`: how far runs are, from their files alone."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from commands import QUICK, answer, elsewhere, everything_below, refused
from jaxbench.cli import main
from jaxbench.errors import BadRequest
from jaxbench.jobs.run_record import DONE, UNFINISHED, resume_command, write_record
from jaxbench.jobs.status_command import status
from jaxbench.jobs.sweep_directory import sweep_directory
from jaxbench.store import Group, Plan, content_key

PLAN = Plan(
    "bandwidth", "smoke",
    (
        Group(content_key("a"), "interface=task", 3, ((0, 99), (100, 149))),
        Group(content_key("b"), "interface=rank", 1, ((0, 99), (100, 149))),
    ),
)  # fmt: skip
COMMAND = "jaxbench sweep study=bandwidth size=smoke"
RECORD = {"job": "sweep", "command": COMMAND, "versions": {"jaxbench": "0.1.0"}}
TABLE = pa.table({"trial": [1, 2, 3]})
WHEN = datetime(2026, 11, 30, 12, 34, 56).timestamp()


@pytest.fixture
def here(tmp_path):
    with elsewhere(tmp_path) as folder:
        yield folder


@contextlib.contextmanager
def sweeping(folder="run", shards=1, **options):
    with sweep_directory(Path(folder), RECORD, PLAN, **options) as store:
        for shard in list(PLAN)[:shards]:
            store.write(shard, TABLE)
        yield store


def stopped(folder="run", shards=1):
    with sweeping(folder, shards) as store:
        return store


def at_noon(folder):
    """Give every file one time, in the order in which they were made."""
    for path in sorted(Path(folder).rglob("*")):
        os.utime(path, (WHEN, WHEN))
    os.utime(folder, (WHEN, WHEN))


def line(capsys, *words):
    found = answer(capsys, "status", *words)
    assert (found.status, found.err) == (0, "")
    (only,) = found.out.splitlines()
    return only


def test_an_unfinished_sweep_that_runs(capsys, here):
    with sweeping(shards=2):
        said = line(capsys, "run")
    assert said.startswith("run: sweep bandwidth (smoke), unfinished, running; 2 of 4 shards; ")
    assert "450 of 600 trials (75.0 %)" in said
    # The one who runs it need not be told.
    assert "go on" not in said


def test_an_unfinished_sweep_that_was_stopped(capsys, here):
    stopped(shards=3)
    at_noon("run")
    before = everything_below(here)
    assert line(capsys, "run") == (
        "run: sweep bandwidth (smoke), unfinished, stopped; 3 of 4 shards; 550 of 600 trials "
        "(91.6 %); last written 2026-11-30 12:34:56; go on: jaxbench sweep study=bandwidth "
        "size=smoke out=run resume=true"
    )
    # It reads and leaves everything as it is.
    assert everything_below(here) == before
    assert Path("run").stat().st_mtime == WHEN


def test_the_time_is_that_of_the_newest_file(capsys, here):
    store = stopped(shards=3)
    at_noon("run")
    # Whoever takes the lock has written nothing yet.
    (here / "run/shards/.lock").touch()
    assert "2026-11-30 12:34:56" in line(capsys, "run")
    os.utime(list(PLAN)[1].path(store.folder), (WHEN + 3,) * 2)
    assert "2026-11-30 12:34:59" in line(capsys, "run")


def test_shards_that_are_cut_off_do_not_count(capsys, here):
    store = stopped(shards=3)
    next(iter(PLAN)).path(store.folder).write_bytes(b"PAR1")
    said = line(capsys, "run")
    assert "2 of 4 shards; 250 of 600 trials (41.6 %)" in said
    assert "; 1 shard damaged, to be computed again; " in said


def test_a_sweep_that_is_done(capsys, here):
    stopped(shards=4)
    for name in ("config.yaml", "summary.csv"):
        (here / "run" / name).write_text("x")
    assert "unfinished, stopped; 4 of 4 shards; 600 of 600 trials (100.0 %)" in line(capsys, "run")
    write_record(Path("run"), RECORD, DONE)
    said = line(capsys, "run/")
    assert said.startswith("run: sweep bandwidth (smoke), done; 4 of 4 shards; 600 of 600 trials")
    assert "go on" not in said
    (here / "run/summary.csv").unlink()
    assert ", damaged (summary.csv missing); " in line(capsys, "run")


def test_finished_runs_of_other_jobs(capsys, here):
    assert main(["attack", *QUICK, "out=a"]) == 0
    assert main(["describe", "resamples=20", "out=b"]) == 0
    found = answer(capsys, "status", "a", "b")
    assert (found.status, found.err) == (0, "")
    first, second = found.out.splitlines()
    when = r"last written \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.fullmatch(f"a: attack terminal_science, done; {when}", first)
    assert re.fullmatch(f"b: describe terminal_science, done; {when}", second)
    Path("a/summary.csv").unlink()
    Path("a/config.yaml").unlink()
    assert "a: attack terminal_science, damaged (config.yaml and summary.csv missing)" in line(
        capsys, "a"
    )


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("run.json", None, "run.json is missing"),
        ("run.json", "", "run/run.json is no JSON"),
        ("run.json", '{"job": ', "run/run.json is no JSON"),
        ("run.json", "[" * 100_000, "run/run.json is no JSON"),
        ("run.json", "[1]", "run/run.json is no record of a run"),
        ("run.json", '{"job": 3}', "run/run.json is no record of a run"),
        ("plan.json", "{}", "run/plan.json is no plan of a sweep"),
        ("plan.json", "\udcff", "run/plan.json is no plan of a sweep"),
    ],
)
def test_damaged_files_are_named(file, text, why, capsys, here):
    stopped()
    if text is None:
        (here / "run" / file).unlink()
    else:
        (here / "run" / file).write_text(text, errors="surrogateescape")
    said = line(capsys, "run")
    assert said.startswith("run: unknown job, damaged (")
    assert why in said
    assert "go on" not in said


def test_a_sweep_without_a_plan_yet(capsys, here):
    stopped()
    (here / "run/plan.json").unlink()
    assert line(capsys, "run").startswith("run: sweep, unfinished, stopped; last written")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ["RUN [RUN ...]", "at least one"]),
        (("nothing",), ["nothing: no such folder"]),
        (("out=run",), ["out=run: no such folder", "no options"]),
        (("file",), ["file: is not a folder"]),
        (("empty",), ["empty is no run directory: it holds no run.json"]),
        (("run", "--long"), ["unknown flag --long"]),
        (("--cfg", "job"), ["unknown flag --cfg"]),
    ],
)
def test_what_is_no_run_is_refused(words, told, capsys, here):
    stopped()
    Path("file").write_text("x")
    Path("empty").mkdir()
    refused(capsys, here, ("status", *words), "jaxbench status: ", *told)


def test_runs_are_shown_before_what_is_none_is_refused(capsys, here):
    stopped("one")
    stopped("two")
    found = answer(capsys, "status", "none", "one", "nor", "two")
    assert found.status == 2
    assert [row.split(":")[0] for row in found.out.splitlines()] == ["one", "two"]
    assert found.err == "jaxbench status: none: no such folder; nor: no such folder\n"


def test_names_do_not_steer_the_terminal(capsys, here):
    name = "a=b,c \x1b[31m\n[bold]é"
    stopped(name)
    said = line(capsys, name)
    assert said.startswith("a=b,c \\x1b[31m\\n[bold]é: sweep")


def test_help(capsys, here):
    found = answer(capsys, "status", "--help")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("jaxbench status RUN [RUN ...]: ")
    for state in ("done", "unfinished", "damaged"):
        assert re.search(rf"^  {state} +\S", found.out, re.MULTILINE)


def test_it_imports_no_jax_no_parquet_and_no_hydra(here):
    stopped()
    large = ("jax", "numpy", "pandas", "pyarrow", "hydra", "omegaconf", "rich", "yaml")
    code = (
        "import sys\nfrom jaxbench.cli import main\nstatus = main(['status', 'run'])\n"
        f"print(status, [m for m in {large!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("command", "folder", "onward"),
    [
        (COMMAND, "run", f"{COMMAND} out=run resume=true"),
        # Replacing and going on exclude each other; the folder is that of today.
        ("jaxbench sweep study=a out=old overwrite=true resume=false", "../run",
         "jaxbench sweep study=a out=../run resume=true"),
        ("jaxbench sweep 'path=a b' +out=x ++resume=true", "run",
         "jaxbench sweep 'path=a b' out=run resume=true"),
        (COMMAND, "a b=c", f"{COMMAND} 'out=\"a b=c\"' resume=true"),
        ("python sweep.py", "run", None),
        ("jaxbench 'sweep", "run", None),
        (None, "run", None),
    ],
)  # fmt: skip
def test_the_command_by_which_it_goes_on(command, folder, onward):
    found = resume_command(command, Path(folder))
    assert found == onward
    if found:
        assert shlex.split(found)[-1] == "resume=true"


# The directory of a sweep


def test_a_sweep_is_there_from_the_start(here):
    with sweep_directory(Path("new/run"), RECORD, PLAN) as store:
        assert json.loads(Path("new/run/run.json").read_text()) == {**RECORD, "state": UNFINISHED}
        assert store.missing(PLAN) == list(PLAN)
        found = status(Path("new/run"))
        assert (found.state, found.running, found.shards) == (UNFINISHED, True, (0, 4))
    expected = {"new", "new/run", *(f"new/run/{name}" for name in (
        "run.json", "plan.json", "shards", "shards/.lock"))}  # fmt: skip
    assert everything_below(here) == expected
    assert status(Path("new/run")).running is False


def test_it_goes_on_where_it_was(here):
    stopped(shards=2)
    with sweep_directory(Path("run"), RECORD, PLAN, resume=True) as store:
        assert store.missing(PLAN) == list(PLAN)[2:]
    with sweep_directory(Path("other"), RECORD, PLAN, resume=True) as store:
        # It starts where nothing is.
        assert store.missing(PLAN) == list(PLAN)


def test_other_options_make_other_shards(here):
    stopped(shards=2)
    changed = Plan("bandwidth", "smoke", (Group(content_key("c"), "c", 1, ((0, 99),)),))
    with sweep_directory(Path("run"), RECORD, changed, resume=True) as store:
        assert store.missing(changed) == list(changed)
        assert store.orphans(changed) == sorted(s.path(store.folder) for s in list(PLAN)[:2])
    assert status(Path("run")).shards == (0, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "holds another run"),
        ({"resume": True, "overwrite": True}, "give one"),
    ],
)
def test_a_sweep_that_is_there_is_not_taken_by_chance(options, words, here):
    stopped()
    before = everything_below(here)
    with pytest.raises(BadRequest, match=words), sweeping(**options):
        pass
    assert everything_below(here) == before


def test_resume_goes_on_with_a_sweep_of_this_study_only(here):
    stopped()
    for study, size in (("bandwidth", "full"), ("other", "smoke")):
        plan = Plan(study, size, ())
        with (
            pytest.raises(BadRequest, match=f"not study={study} size={size}"),
            sweep_directory(Path("run"), RECORD, plan, resume=True),
        ):
            pass
    assert main(["attack", *QUICK, "out=a"]) == 0
    Path("b").mkdir()
    Path("b/notes.txt").write_text("mine")
    for folder, what in (("a", "a run of attack"), ("b", "no run")):
        before = everything_below(here)
        with pytest.raises(BadRequest, match=what), sweeping(folder, resume=True):
            pass
        assert everything_below(here) == before


@pytest.mark.parametrize("options", [{"resume": True}, {"overwrite": True}])
def test_a_sweep_that_runs_is_left_alone(options, here):
    with sweeping(shards=2):
        with pytest.raises(BadRequest, match="is writing there"), sweeping(shards=0, **options):
            pass
        found = status(Path("run"))
        assert (found.running, found.shards) == (True, (2, 4))


def test_overwrite_replaces_a_sweep(here):
    stopped(shards=2)
    # What a killed process can leave behind is ours, too.
    for name in (".run.json.partial", f"shards/.{next(iter(PLAN)).name}.partial"):
        (here / "run" / name).write_text("half")
    with sweeping(shards=1, overwrite=True) as store:
        assert len(store.missing(PLAN)) == 3
    assert [path.name for path in here.iterdir()] == ["run"]
    assert len(everything_below(here / "run")) == 5


@pytest.mark.parametrize("name", ["notes.txt", "shards/notes.txt", "shards/more/a.parquet"])
def test_a_sweep_with_files_of_the_users_in_it_is_not_replaced(name, here):
    stopped()
    path = here / "run" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(BadRequest, match="not a jaxbench run"), sweeping(overwrite=True):
        pass
    assert path.read_text() == "mine"


def test_a_full_disk_keeps_the_record(here, monkeypatch):
    stopped(shards=2)
    before = Path("run/run.json").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadRequest, match="the disk is full; finished shards are kept"):
        write_record(Path("run"), RECORD, DONE)
    assert Path("run/run.json").read_bytes() == before
    assert ".run.json.partial" not in everything_below(here / "run")


def test_whoever_interrupts_a_sweep_is_told_how_it_goes_on(here):
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom jaxbench import unfinished\n"
        "from jaxbench.store import Plan\n"
        "from jaxbench.jobs.sweep_directory import sweep_directory\n"
        "unfinished.handle_signals()\n"
        f"record = {RECORD!r}\n"
        "with sweep_directory(Path('run'), record, Plan('bandwidth', 'smoke', ())):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == (
        "jaxbench: interrupted; finished shards are kept; go on with jaxbench sweep "
        "study=bandwidth size=smoke out=run resume=true\n"
    )
    assert status(Path("run")).state == UNFINISHED
