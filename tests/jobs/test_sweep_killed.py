"""A sweep that is stopped at any moment, and goes on: the results of one that was not."""

import contextlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from commands import everything_below
from jaxbench.jobs.status_command import status
from sweep_studies import TINY, write_study

BOUND = 300  # seconds, for busy machines
SIGNALS = ("SIGINT", "SIGTERM", "SIGUSR1")
# Twelve shards, some tenths of a second each.
STUDY = {
    "options": {
        "preset": "simulation", "trials": 1200, "budgets": [1, 2, 8, 32], "resamples": 100,
    },
    "vary": {"seed": [0, 1, 2, 3]},
    "conditions": [
        {"benchmark": "terminal_science"},
        {"world": TINY | {"items": 60}},
        {"world": TINY | {"items": 60, "seed": 1}},
    ],
    "figures": [{"name": "loss", "metric": "selection_loss_pp", "lines": ["seed", "benchmark"]}],
}  # fmt: skip


# A process started in the background inherits ignored signals; forking here to set them would warn,
# since jax runs threads.
USUAL_SIGNALS = """
import signal, sys
for name in ("SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
from jaxbench.cli import entry
sys.argv[0] = "jaxbench"
entry()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweeps")
    write_study(folder, **STUDY)
    return folder


@pytest.fixture(scope="module")
def start(home):
    """Start `jaxbench sweep` with these options; compiled programs are kept between processes."""
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(home / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }

    def starting(*options, log):
        with open(home / log, "w") as stream:
            return subprocess.Popen(
                [sys.executable, "-c", USUAL_SIGNALS, *options],
                cwd=home, env=os.environ | cache,
                stdout=subprocess.DEVNULL, stderr=stream,
            )  # fmt: skip

    return starting


@pytest.fixture(scope="module")
def run(start, home):
    def running(*options, log="log"):
        assert start(*options, log=log).wait(BOUND) == 0, (home / log).read_text()

    return running


@pytest.fixture(scope="module")
def unbroken(run, home):
    """The run directory of a sweep that nothing stopped."""
    run("sweep", "study=./mine.yaml", "out=unbroken")
    return home / "unbroken"


def stamps(folder):
    """What changes when a shard is written anew."""
    with contextlib.suppress(FileNotFoundError):
        return {
            path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in (folder / "shards").glob("*.parquet")
        }
    return {}


def told(path):
    """The shards of which a log says that they are written."""
    lines = path.read_text().splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    return {event["file"] for event in events if event["event"] == "shard"}


def wait_for(process, folder, shards):
    """Until this many shards are there, or the process has ended."""
    end = time.monotonic() + BOUND
    while len(stamps(folder)) < shards and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def assert_same(folder, unbroken):
    assert status(folder).state == "done"
    assert (folder / "summary.csv").read_bytes() == (unbroken / "summary.csv").read_bytes()
    assert (folder / "loss.svg").read_bytes() == (unbroken / "loss.svg").read_bytes()
    one, other = (pd.read_parquet(path / "trials.parquet") for path in (folder, unbroken))
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert everything_below(folder) == everything_below(unbroken)


def kill_and_resume(start, home, unbroken, name, kills, seed):
    """Kill at random moments until so many kills have struck, then let it end."""
    folder, chosen = home / name, random.Random(seed)
    options = ("sweep", "study=./mine.yaml", f"out={name}", "resume=true", "log=json")
    struck = 0
    while struck < kills:
        before = stamps(folder)
        process = start(*options, log="killed.log")
        # Half of them while shards are made, the others at any moment.
        if chosen.random() < 0.5:
            wait_for(process, folder, min(len(before) + chosen.randint(1, 2), 11))
            time.sleep(chosen.uniform(0, 0.05))
        else:
            time.sleep(chosen.uniform(0, 6))
        process.send_signal(signal.SIGKILL)
        code = process.wait(BOUND)
        after = stamps(folder)
        # Nothing that was finished is lost or made anew.
        assert before.items() <= after.items()
        assert told(home / "killed.log") <= set(after)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        struck += 1
        if folder.exists():
            found = status(folder)
            assert found.running is False
            if found.state == "done":
                # Struck between its last word on disk and its end.
                assert len(after) == 12
                break
            assert found.state == "unfinished"
    before = stamps(folder)
    assert start(*options, log="last.log").wait(BOUND) == 0, (home / "last.log").read_text()
    assert before.items() <= stamps(folder).items()
    assert_same(folder, unbroken)
    return struck


def test_kill_9_at_random_moments(start, home, unbroken):
    kill_and_resume(start, home, unbroken, "few", kills=3, seed=5)


@pytest.mark.slow
def test_kill_9_at_many_random_moments(start, home, unbroken):
    struck = 0
    for seed in range(8):
        struck += kill_and_resume(start, home, unbroken, f"many{seed}", kills=25, seed=seed)
        if struck >= 25:
            return
    pytest.fail(f"only {struck} kills struck")


def test_signals_keep_finished_shards_and_say_how_it_goes_on(start, run, home, unbroken):
    before = {}
    for name in SIGNALS:
        number = getattr(signal, name)
        options = ["sweep", "study=./mine.yaml", "out=signals"]
        options += ["resume=true"] if before else []
        process = start(*options, log="signals.log")
        wait_for(process, home / "signals", len(before) + 1)
        process.send_signal(number)
        assert process.wait(BOUND) == 128 + number
        onward = "jaxbench sweep study=./mine.yaml out=signals resume=true"
        said = f"jaxbench: interrupted; finished shards are kept; go on with {onward}\n"
        assert (home / "signals.log").read_text() == said
        after = stamps(home / "signals")
        assert before.items() <= after.items()
        assert 0 < len(after) < 12
        before = after
        found = status(home / "signals")
        assert (found.state, found.running) == ("unfinished", False)
        assert found.shards == (len(after), 12)
        partial = [name for name in everything_below(home / "signals") if ".partial" in name]
        assert partial == []
    # A shard that changes on the disk is noticed, said, and computed again.
    changed = sorted((home / "signals/shards").glob("*.parquet"))[0]
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 0xFF
    changed.write_bytes(data)
    run(*shlex.split(onward)[1:], "log=json", log="last.log")
    events = [json.loads(line) for line in (home / "last.log").read_text().splitlines()]
    damaged = [event for event in events if event["event"] == "damaged"]
    assert [event["file"] for event in damaged] == [str(changed.relative_to(home))]
    assert "checksum" in damaged[0]["why"]
    assert changed.name in told(home / "last.log")
    after = stamps(home / "signals")
    del before[changed.name]
    assert before.items() <= after.items()
    record = json.loads((home / "signals/run.json").read_text())
    assert [text.partition(":")[0] for text in record["damaged_shards"]] == [changed.name]
    assert_same(home / "signals", unbroken)
