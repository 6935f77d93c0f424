"""Two processes, and processes that are killed."""

import contextlib
import errno
import fcntl
import os
import random
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest

from commands import everything_below
from jaxbench.errors import BadRequest
from jaxbench.store import Shard, Store, content_key, exclusive, is_locked
from jaxbench.store import lock as lock_module

BOUND = 60  # seconds, for busy machines
KEY = content_key("a")
SHARDS = [Shard(KEY, first, first + 9) for first in range(0, 50, 10)]

# Writes the same shards again and again, and says when all are there.
WRITER = """
import os, signal, sys, time
from pathlib import Path
import numpy as np, pyarrow as pa
from jaxbench import unfinished
from jaxbench.store import Shard, Store, content_key

# A process in the background inherits that Ctrl-C is ignored.
for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
unfinished.handle_signals()
folder, how = sys.argv[1:]
store = Store(Path(folder))
shards = [Shard(content_key("a"), first, first + 9) for first in range(0, 50, 10)]
tables = [pa.table({"x": np.random.default_rng(i).normal(size=200_000)}) for i in range(2)]
if how.startswith("SIG"):
    replace = os.replace
    def strike(*names):
        if strike.armed:
            os.kill(os.getpid(), getattr(signal, how))
            time.sleep(0.5)
        replace(*names)
    strike.armed = False
    os.replace = strike
with store.exclusive(), unfinished.advising("finished shards are kept"):
    turn = 0
    while True:
        for shard in shards:
            store.write(shard, tables[turn % 2])
        print("round", flush=True)
        turn += 1
        if how == "hold":
            time.sleep(3600)
        if how.startswith("SIG"):
            strike.armed = True
"""


@contextlib.contextmanager
def writer(folder, how):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), how],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "round\n", process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate(timeout=BOUND)


def sound(folder):
    """No shard is damaged or absent; half-written files do not count as shards."""
    store = Store(folder)
    assert store.missing(SHARDS) == []
    assert store.damaged == []
    assert store.orphans(SHARDS) == []


def test_a_killed_process_leaves_whole_shards_and_no_lock(tmp_path):
    chosen = random.Random(1)
    for _ in range(6):
        with writer(tmp_path, "on") as process:
            assert is_locked(tmp_path)
            time.sleep(chosen.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            assert process.wait(BOUND) == -signal.SIGKILL
        sound(tmp_path)
        assert not is_locked(tmp_path)
    with exclusive(tmp_path):
        pass


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_process_that_ends_between_writing_and_renaming(name, tmp_path):
    number = getattr(signal, name)
    with writer(tmp_path, name) as process:
        error = process.communicate(timeout=BOUND)[1]
    names = {"shards", "shards/.lock", *(f"shards/{shard.name}" for shard in SHARDS)}
    half = f"shards/.{SHARDS[0].name}.partial"
    sound(tmp_path)
    if name == "SIGKILL":
        assert process.returncode == -number
        # Nobody could remove it; the next process does.
        assert everything_below(tmp_path) == {*names, half}
        with Store(tmp_path).exclusive():
            pass
    else:
        assert process.returncode == 128 + number
        assert error == "jaxbench: interrupted; finished shards are kept\n"
    assert everything_below(tmp_path) == names
    sound(tmp_path)


def test_the_second_process_is_refused_and_harms_nothing(tmp_path):
    with writer(tmp_path, "hold") as process:
        assert is_locked(tmp_path)
        half = tmp_path / "shards" / f".{SHARDS[0].name}.partial"
        half.write_text("of the live process")
        with pytest.raises(BadRequest) as refusal, Store(tmp_path).exclusive():
            pass
        assert f"out={tmp_path}: process {process.pid} on " in str(refusal.value)
        assert half.exists()
        # Who only reads is not refused.
        sound(tmp_path)
    assert not is_locked(tmp_path)
    with Store(tmp_path).exclusive():
        assert not half.exists()
        assert is_locked(tmp_path)


def test_two_stores_of_one_process_exclude_each_other_too(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    with first.exclusive(), pytest.raises(BadRequest, match="is writing there"):
        second.exclusive().__enter__()
    with second.exclusive(), Store(tmp_path / "other").exclusive():
        second.write(SHARDS[0], pa.table({"x": [1]}))


def test_looking_does_not_turn_a_sweep_away(tmp_path, monkeypatch):
    with exclusive(tmp_path):
        pass
    descriptor = os.open(tmp_path / "shards/.lock", os.O_RDONLY)
    # `is_locked` holds it so for a moment.
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 2:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    monkeypatch.setattr(lock_module.time, "sleep", sleep)
    with exclusive(tmp_path) as locked:
        assert locked
    assert len(slept) == 2
    assert sum(slept) < 1
    os.close(descriptor)


def test_a_system_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(lock_module, "fcntl", None)
    fresh = tmp_path / "shards/.fresh.partial"
    old = tmp_path / "shards/.old.partial"
    with exclusive(tmp_path) as locked, exclusive(tmp_path):
        assert locked is False
        assert is_locked(tmp_path) is None
    for path in (fresh, old):
        path.write_text("x")
    os.utime(old, (time.time() - 7200,) * 2)
    with Store(tmp_path).exclusive():
        # It could belong to a live process.
        assert fresh.exists()
        assert not old.exists()


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with exclusive(tmp_path) as locked:
        assert locked is False
        assert is_locked(tmp_path) is None


def test_nothing_there_is_not_locked(tmp_path):
    assert is_locked(tmp_path / "none") is False
    assert not (tmp_path / "none").exists()
