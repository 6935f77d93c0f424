"""The command line: answers without jax, Hydra without litter, refusals, exit statuses."""

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml

from commands import QUICK, answer, elsewhere, everything_below, refused
from jaxbench.jobs.catalogue import JOBS
from jaxbench.options.option import built
from jaxbench.options.table import ATTACK

RUN_FILES = {
    "config.yaml",
    "run.json",
    "summary.csv",
    "trials.parquet",
    "selection_loss.svg",
    "selection_loss.png",
    "score_gap.svg",
    "score_gap.png",
}


@pytest.fixture
def here(tmp_path):
    with elsewhere(tmp_path) as folder:
        yield folder


@pytest.fixture
def refuse(capsys, here):
    def check(*arguments, words=(), lines=1):
        return refused(capsys, here, arguments, *words, lines=lines)

    return check


# Answers without jax


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("", 0),
        ("--help", 0),
        ("--version", 0),
        ("attack --help", 0),
        ("attack --cfg job", 0),
        ("attack trails=3", 2),
        ("atack", 2),
    ],
)
def test_answers_that_do_not_import_jax(arguments, status, tmp_path):
    code = (
        "import sys\nfrom jaxbench.cli import main\n"
        f"status = main({arguments.split()!r})\n"
        "print(status, 'jax' in sys.modules, 'jaxlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    *said, last = done.stdout.splitlines()
    assert last == f"{status} False False"
    assert bool(said) == (status == 0)
    assert bool(done.stderr) == (status == 2)
    assert everything_below(tmp_path) == set()


def test_no_words_list_the_jobs_with_one_line_each(capsys, here):
    found = answer(capsys)
    assert (found.status, found.err) == (0, "")
    for name, job in JOBS.items():
        (line,) = (line for line in found.out.splitlines() if line.split()[:1] == [name])
        assert job.summary in line
    assert answer(capsys, "--help") == found
    assert everything_below(here) == set()


def test_help_of_a_job_names_every_option_that_is_built(capsys, here):
    found = answer(capsys, "attack", "--help")
    assert (found.status, found.err) == (0, "")
    for option in built(ATTACK):
        assert re.search(rf"^ +{option.name}\s+\S", found.out, re.MULTILINE), option.name
    assert answer(capsys, "attack", "trials=3", "-h") == found
    assert everything_below(here) == set()


def test_version_is_that_of_the_package(capsys):
    from importlib.metadata import version

    assert answer(capsys, "--version").out == version("jaxbench") + "\n"


# Hydra as its users know it, and nothing of its own on disk


def test_cfg_job_shows_the_configuration_and_writes_nothing(capsys, here):
    found = answer(capsys, "attack", "trials=3", "budgets=[1,5]", "--cfg", "job")
    assert (found.status, found.err) == (0, "")
    shown = yaml.safe_load(found.out)
    assert (shown["trials"], shown["budgets"]) == (3, [1, 5])
    assert set(shown) == {option.name for option in built(ATTACK)}
    assert everything_below(here) == set()


def test_sweep_writes_two_runs_and_nothing_else(run_cli, tmp_path):
    here, scratch = tmp_path / "here", tmp_path / "scratch"
    here.mkdir()
    scratch.mkdir()
    done = run_cli(
        "attack", "-m", *QUICK, "split_seed_base=2,3", cwd=here, env={"TMPDIR": str(scratch)}
    )
    assert (done.returncode, done.stderr) == (0, "")
    folders = [line for line in done.stdout.splitlines() if line.startswith("runs/")]
    assert len(folders) == 2
    assert done.stdout.splitlines()[-1] == folders[-1]
    for folder, seed in zip(folders, (2, 3), strict=True):
        assert re.fullmatch(r"runs/attack-\d{8}-\d{6}-\d{6}", folder)
        assert (
            yaml.safe_load((here / folder / "config.yaml").read_text())["split_seed_base"] == seed
        )
    expected = {"runs", *folders, *(f"{folder}/{file}" for folder in folders for file in RUN_FILES)}
    assert everything_below(here) == expected
    assert everything_below(scratch) == set()


def test_sweep_over_two_paths_takes_a_comma_between_them(refuse):
    error = refuse("attack", "-m", "path=one,two", lines=2)
    first, second = error.splitlines()
    assert first == "jaxbench attack: path=one: no such file or folder (job path=one)"
    assert second == "jaxbench attack: path=two: no such file or folder (job path=two)"


def test_sweep_goes_on_after_a_refused_job_and_says_so(capsys, here):
    found = answer(capsys, "attack", "-m", *QUICK[1:], "trials=0,4")
    assert found.status == 2
    assert "trials=0: expected a whole number >= 1 (job " in found.err
    assert found.err.endswith("trials=0)\n")
    (config,) = here.glob("runs/*/config.yaml")
    assert yaml.safe_load(config.read_text())["trials"] == 4


def test_several_runs_do_not_fit_one_folder(refuse, here):
    refuse("attack", "-m", *QUICK, "split_seed_base=2,3", "out=one", words=["out=one", "job.num"])
    assert everything_below(here) == set()


def test_each_run_of_a_sweep_can_have_its_own_folder(capsys, here):
    out = "out=sweep/${hydra:job.num}"
    found = answer(capsys, "attack", "-m", *QUICK, "split_seed_base=2,3", out)
    assert found.status == 0
    for number, base in ((0, 2), (1, 3)):
        config = yaml.safe_load((here / f"sweep/{number}/config.yaml").read_text())
        assert config["split_seed_base"] == base


def test_text_options_are_text_whatever_they_look_like(capsys, here):
    for spelled in ("a;b", "1.50", "true", "[a]", "é😀"):
        found = answer(capsys, "attack", *QUICK, f"tie_seed={spelled}", "out=run", "overwrite=true")
        assert found.status == 0
        assert yaml.safe_load((here / "run/config.yaml").read_text())["tie_seed"] == spelled


# Words that do not exist


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("atack", ["unknown job 'atack'", "did you mean attack?"]),
        ("zzz", ["unknown job 'zzz'", "known: attack"]),
        ("trials=3", ["first word must be a job", "attack", "'trials=3'"]),
        ("--trials 3", ["first word must be a job", "attack", "'--trials'"]),
        ("attack trails=3", ["unknown option 'trails'", "did you mean trials?"]),
        ("attack +trails=3", ["unknown option 'trails'", "did you mean trials?"]),
        ("attack zzz=3", ["unknown option 'zzz'", "trials", "budgets"]),
        ("attack preset=publishd", ["preset", "'publishd'", "did you mean published?"]),
        ("attack endpoints=top6", ["endpoints", "'top6'", "did you mean top5?"]),
        (
            "attack endpoints=[top5,full_fronteer]",
            ["endpoints", "'full_fronteer'", "did you mean full_frontier?"],
        ),
        ("attack scoring=itemmean", ["scoring", "'itemmean'", "did you mean item_mean?"]),
        ("attack interface=taks", ["interface", "'taks'", "did you mean task?"]),
        (
            "attack benchmark=terminal_sciense",
            ["benchmark", "'terminal_sciense'", "did you mean terminal_science?"],
        ),
        ("attack trials", ["'trials'", "key=value"]),
    ],
)
def test_unknown_words_get_the_nearest_name(arguments, words, refuse):
    refuse(*arguments.split(), words=words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--trials 5", ["--trials", "trials=VALUE"]),
        ("--trials=5", ["--trials", "trials=VALUE"]),
        ("--dry-run", ["--dry-run", "dry_run=VALUE"]),
        ("-k 5", ["-k"]),
    ],
)
def test_flags_are_refused_with_the_spelling_that_works(flags, words, refuse):
    refuse("attack", *flags.split(), words=words)


@pytest.mark.parametrize(
    "flags",
    [
        "--run --multirun",
        "--multirun --cfg job",
        "--cfg nothing",
        "--cfg",
        "--shell-completion",
        "--config-name nothing",
        "--config-dir nowhere",
    ],
)
def test_hydra_flags_that_make_no_sense_are_refused_in_one_line(flags, refuse):
    refuse("attack", *flags.split())


@pytest.mark.parametrize("word", ["trials=[1", "trials=1,2", "budgets=a;b", "trials=${nope}"])
def test_values_that_hydra_cannot_read_are_named(word, refuse):
    refuse("attack", word, words=[word.split("=")[0]])


def test_argv_is_put_back(capsys, here):
    before = list(sys.argv)
    answer(capsys, "attack", "trials=0")
    assert sys.argv == before


# What a run says, and how it ends


def test_last_line_is_the_run_directory_however_long_and_however_spelled(capsys, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    name = "[bold] " + "long " * 20 + ":smile: 1.5"
    found = answer(capsys, "attack", *QUICK, f'out="{name}"')
    assert (found.status, found.err) == (0, "")
    assert found.last_line == name
    assert {path.name for path in (here / name).iterdir()} == RUN_FILES
    assert re.search(r"compile \d+\.\d s, run \d+\.\d s", found.out)


# A command line whose process gets a signal at a chosen moment, once: deterministic, unlike a
# signal from outside after a chosen time.
STRUCK = """
import gc, os, signal, sys, time

name, moment, *arguments = sys.argv[1:]
armed = [2 if moment == "second" else 1]

def strike():
    armed[0] -= 1
    if armed[0] == 0:
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(0.1)

def before(holder, method):
    original = getattr(holder, method)

    def replaced(*values, **named):
        strike()
        return original(*values, **named)

    setattr(holder, method, replaced)

if moment == "importing":
    class Finder:
        def find_spec(self, name, *_):
            if name == "numpy._core":
                strike()

    sys.meta_path.insert(0, Finder())
elif moment == "computing":
    import jaxbench.jobs.progress
    original = jaxbench.jobs.progress.SilentReport.advance

    def advance(*values, **named):
        gc.callbacks.append(lambda *_: strike())
        gc.collect()
        gc.callbacks.pop()
        return original(*values, **named)

    jaxbench.jobs.progress.SilentReport.advance = advance
else:
    import pandas
    before(pandas.DataFrame, "to_csv")

from jaxbench.cli import entry

sys.argv = ["jaxbench", *arguments]
entry()
"""


@pytest.fixture
def strike(tmp_path):
    """Run a command line in a process that gets a signal at a named moment."""
    here, scratch = tmp_path / "here", tmp_path / "scratch"
    here.mkdir()
    scratch.mkdir()

    def run(name, moment, *arguments):
        done = subprocess.run(
            [sys.executable, "-c", STRUCK, name, moment, *arguments],
            cwd=here,
            env=os.environ | {"TMPDIR": str(scratch)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done, everything_below(here), everything_below(scratch)

    return run


@pytest.mark.parametrize(
    "moment",
    [
        "importing",  # in a module that a compiled extension of jax imports
        "computing",  # in a callback of the garbage collector, where Python drops exceptions
        "writing",
    ],
)
def test_interrupt_ends_with_130_and_leaves_nothing(moment, strike):
    done, here, scratch = strike("SIGINT", moment, "attack", *QUICK, "out=new/run")
    assert done.returncode == 130, done.stderr
    assert done.stderr == "jaxbench: interrupted\n"
    assert "new/run" not in done.stdout
    assert here == set()
    assert scratch == set()


def test_interrupt_keeps_the_finished_jobs_of_a_sweep(strike):
    done, here, scratch = strike(
        "SIGINT", "second", "attack", "-m", *QUICK, "split_seed_base=2,3,4"
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "jaxbench: interrupted\n"
    folder = done.stdout.splitlines()[-1]
    assert here == {"runs", folder, *(f"{folder}/{file}" for file in RUN_FILES)}
    assert scratch == set()


def test_termination_leaves_no_half_of_a_run_under_the_final_name(strike):
    done, here, _ = strike("SIGTERM", "writing", "attack", *QUICK, "out=new/run")
    assert done.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert "new/run" not in here
    assert "new/run" not in done.stdout


def test_a_hang_up_that_is_ignored_stays_ignored():
    code = "import signal; from jaxbench import unfinished; " + (
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); unfinished.handle_signals(); "
        "print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_process_without_an_output(closed, tmp_path):
    command = f"{sys.executable} -m jaxbench list {closed}>&-"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""
