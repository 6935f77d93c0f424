"""Signals: what is half-written goes, what is said, and the exit status."""

import signal
import subprocess
import sys

import pytest

from jaxbench import unfinished
from jaxbench.cli import main

CODE = """
import os, signal, sys, time
from pathlib import Path
from jaxbench import unfinished

name, how = sys.argv[1:]
# A process in the background inherits that Ctrl-C is ignored.
signal.signal(getattr(signal, name), signal.SIG_IGN if how == "ignored" else signal.SIG_DFL)
unfinished.handle_signals()
Path("half").mkdir()
Path("half/file").write_text("x")
unfinished.add(Path("half"))

def strike():
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(0.1)

if how == "advised":
    with unfinished.advising("outer"), unfinished.advising("finished shards are kept"):
        strike()
elif how == "past":
    with unfinished.advising("not this one"):
        pass
    strike()
elif how == "failing":
    def fail():
        print("last act", file=sys.stderr)
        raise RuntimeError("not to be seen")
    with unfinished.at_the_end(fail):
        strike()
elif how == "reentrant":
    # The signal comes in the middle of writing to standard error, as when lines are logged.
    class Stream:
        def write(self, text):
            strike.armed = not strike.armed
            if strike.armed:
                strike()
            raise RuntimeError("reentrant call")
        def flush(self): pass
        def fileno(self): return 2
    strike.armed = False
    sys.stderr = Stream()
    print("x", file=sys.stderr)
elif how == "put off":
    with unfinished.uninterrupted():
        strike()
        print("still here", flush=True)
else:
    strike()
print("alive")
"""


@pytest.fixture
def strike(tmp_path):
    def run(name, how=""):
        done = subprocess.run(
            [sys.executable, "-c", CODE, name, how], cwd=tmp_path, capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip
        return done, (tmp_path / "half").exists()

    return run


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_every_signal_removes_what_is_half_written(name, strike):
    done, left = strike(name)
    assert done.returncode == 128 + getattr(signal, name)
    assert (done.stdout, done.stderr, left) == ("", "jaxbench: interrupted\n", False)


@pytest.mark.parametrize(
    ("name", "obeyed"),
    [("SIGINT", False), ("SIGTERM", False), ("SIGHUP", True), ("SIGUSR1", True)],
)
def test_signals_that_are_ignored(name, obeyed, strike):
    done, left = strike(name, "ignored")
    assert (done.stdout == "alive\n") == left == obeyed
    assert done.returncode == (0 if obeyed else 128 + getattr(signal, name))


@pytest.mark.parametrize("name", ["SIGINT", "SIGUSR1"])
def test_the_job_says_how_to_go_on(name, strike):
    done, left = strike(name, "advised")
    assert done.stderr == "jaxbench: interrupted; finished shards are kept\n"
    assert not left
    assert strike(name, "past")[0].stderr == "jaxbench: interrupted\n"


def test_a_last_act_that_fails_does_not_keep_the_process_alive(strike):
    done, left = strike("SIGTERM", "failing")
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr == "last act\njaxbench: interrupted\n"
    assert not left


def test_a_signal_in_the_middle_of_a_line(strike):
    done, left = strike("SIGTERM", "reentrant")
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr == "jaxbench: interrupted\n"
    assert not left


def test_a_signal_can_be_put_off(strike):
    done, left = strike("SIGUSR1", "put off")
    assert (done.stdout, left) == ("still here\n", False)
    assert done.returncode == 128 + signal.SIGUSR1


def test_an_interruption_that_reaches_python_says_the_same(capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxbench.cli._main", interrupted)
    with unfinished.advising("go on with resume=true"):
        assert main(["list"]) == 130
    assert capsys.readouterr().err == "jaxbench: interrupted; go on with resume=true\n"
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "jaxbench: interrupted\n"
