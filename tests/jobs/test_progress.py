"""What a long job tells while it runs: bars, JSON lines, or nothing."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Task, TaskID

from jaxbench.jobs import progress as module
from jaxbench.jobs.progress import JsonReport, progress

COUNTS = {"conditions_done", "conditions", "trials_done", "trials"}
SPEED = {"seconds", "trials_per_second", "seconds_left"}


class Clock:
    """Time that moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def quiet():
    """A console that is no terminal."""
    return Console(file=io.StringIO())


def terminal(**options):
    return Console(file=io.StringIO(), force_terminal=True, width=100, **options)


def told(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    return [json.loads(line) for line in err.splitlines()]


# JSON lines


def test_a_run_as_json_lines(capsys, clock):
    with progress("json", quiet(), interval=5.0) as report:
        report.start(conditions=4, trials=1000, conditions_done=1, trials_done=200)
        clock.now += 4.9
        report.advance(100, name="interface=task")
        clock.now += 0.1
        report.advance(100, conditions=1, name="interface=task")
        clock.now += 5
        report.event("shard", file="a.parquet", seconds=1.5)
        report.advance(400)
    lines = told(capsys)
    assert [line["event"] for line in lines] == ["start", "progress", "shard", "progress", "done"]
    start, first, shard, second, done = lines
    assert set(start) == {"time", "event"} | COUNTS
    assert (start["conditions_done"], start["trials_done"], start["trials"]) == (1, 200, 1000)
    assert set(first) == {"time", "event", "name"} | COUNTS | SPEED
    # 200 in 5 s by this process; what an earlier one did is no speed of this one.
    assert (first["trials_done"], first["conditions_done"], first["name"]) == (
        400, 2, "interface=task",
    )  # fmt: skip
    assert (first["trials_per_second"], first["seconds_left"], first["seconds"]) == (
        40.0,
        15.0,
        5.0,
    )
    assert {k: v for k, v in shard.items() if k != "time"} == {
        "event": "shard", "file": "a.parquet", "seconds": 1.5,
    }  # fmt: skip
    assert (second["trials_per_second"], second["seconds_left"]) == (60.0, 3.3)
    assert (done["trials_done"], done["conditions_done"]) == (800, 2)


def test_the_time_is_iso_and_utc(capsys):
    before = datetime.now(UTC)
    with progress("json", quiet()):
        pass
    (done,) = told(capsys)
    when = datetime.fromisoformat(done["time"])
    assert when.utcoffset() == timedelta(0)
    assert abs(when - before) < timedelta(minutes=1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", done["time"])


def test_progress_is_throttled(capsys, clock):
    with progress("json", quiet(), interval=5.0) as report:
        report.start(conditions=1, trials=10_000)
        for _ in range(10_000):
            clock.now += 0.01
            report.advance(1)
    events = [line["event"] for line in told(capsys)]
    # A hundred seconds: rounding may cost the last one.
    assert 18 <= events.count("progress") <= 20


def test_it_says_that_it_failed_and_keeps_the_message_to_itself(capsys):
    def fail():
        with progress("json", quiet()) as report:
            report.start(1, 1)
            raise ValueError("https://user:password@host")

    with pytest.raises(ValueError, match="password"):
        fail()
    last = told(capsys)[-1]
    assert (last["event"], last["error"]) == ("failed", "ValueError")
    assert "password" not in json.dumps(last)


def test_what_events_hold(capsys):
    with progress("json", quiet()) as report:
        report.event(
            "compile", shape=(np.int64(3), 4), seconds=np.float32(0.5), flag=np.bool_(True),
            worst=float("nan"), path=Path("a/b"), name="[bold]é\x1b\n", more={1: {"x"}},
            many=np.arange(2), nothing=None,
        )  # fmt: skip
    event = told(capsys)[0]
    del event["time"]
    assert event == {
        "event": "compile", "shape": [3, 4], "seconds": 0.5, "flag": True, "worst": None,
        "path": "a/b", "name": "[bold]é\x1b\n", "more": {"1": ["x"]}, "many": "[0 1]",
        "nothing": None,
    }  # fmt: skip


def test_lines_hold_nothing_that_steers_a_terminal(capsys):
    with progress("json", quiet()) as report:
        report.event("shard", name="\x1b[31m\né")
    err = capsys.readouterr().err
    assert err.isascii()
    assert "\x1b" not in err
    assert len(err.splitlines()) == 2


def test_threads_write_whole_lines():
    class Slow:
        """Takes a text in pieces, between which other threads get their turn."""

        text = ""

        def write(self, text):
            for start in range(0, len(text), 40):
                self.text += text[start : start + 40]
                time.sleep(0)

        def flush(self):
            pass

    stream = Slow()
    report = JsonReport(stream, interval=0.0)
    report.start(8, 8 * 20)

    def work():
        for _ in range(20):
            report.advance(1)
            report.event("shard", name="x" * 200)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.end("done")
    lines = [json.loads(line) for line in stream.text.splitlines()]
    assert len(lines) == 2 + 2 * 8 * 20
    assert lines[-1]["trials_done"] == 8 * 20


def test_a_reader_who_goes_does_not_stop_the_job():
    class Gone(io.StringIO):
        asked = 0

        def write(self, text):
            self.asked += 1
            raise BrokenPipeError

    gone = Gone()
    report = JsonReport(gone)
    report.start(1, 1)
    report.advance(1)
    report.end("done")
    assert gone.asked == 1
    JsonReport(None).start(1, 1)


# Bars


def shown(console):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def test_bars_of_conditions_and_trials(clock):
    console = terminal(get_time=clock.monotonic)
    with progress(None, console) as report:
        report.start(conditions=4, trials=1000, conditions_done=1, trials_done=200)
        for _ in range(3):
            clock.now += 1
            report.advance(100, conditions=1, name="interface=task")
        report.bars.refresh()
        text = shown(console)
    assert re.search(r"conditions\s+\S+\s+4/4", text)
    # The rate is of what was done here.
    assert re.search(r"trials interface=task\s+\S+(\s+\S+)?\s+500/1000\s+100/s\s+0:00:05", text)
    assert "-/s" in text


@pytest.mark.parametrize(
    ("speed", "text"), [(None, "-/s"), (0.123, "0.12/s"), (12.3, "12/s"), (12345.6, "12,346/s")]
)
def test_rates(speed, text):
    task = Task(TaskID(0), "", 10, 0, _get_time=lambda: 0.0, finished_speed=speed)
    assert module._Rate().render(task).plain == text


def test_names_are_no_markup():
    console = terminal()
    with progress(None, console) as report:
        report.start(1, 10)
        report.advance(1, name="[bold]x[/bold] :smile: \x07\x1b[31m")
        report.event("damaged", file="[red]a.parquet", why="is cut off\nhere")
        report.event("shard", file="never shown")
        report.bars.refresh()
    text = shown(console)
    assert r"[bold]x[/bold] :smile: \x07\x1b[31m" in text
    assert "damaged: [red]a.parquet is cut off\\nhere" in text
    assert "\x07" not in console.file.getvalue()
    assert "never shown" not in text


def test_advancing_before_the_start_is_harmless():
    with progress(None, terminal()) as report:
        report.advance(1)


def test_nothing_where_nobody_looks(capsys):
    console = quiet()
    with progress(None, console) as report:
        report.start(2, 20)
        report.advance(10, 1, "name")
        report.event("damaged", file="a")
    assert console.file.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_json_lines_take_the_place_of_bars(capsys):
    console = terminal()
    with progress("json", console) as report:
        report.start(1, 1)
    assert console.file.getvalue() == ""
    assert [line["event"] for line in told(capsys)] == ["start", "done"]


# Signals

INTERRUPTED = """
import os, signal, sys, time
from jaxbench import unfinished
from jaxbench.jobs.progress import progress

unfinished.handle_signals()
with progress(sys.argv[1] or None) as report:
    report.start(1, 10)
    report.advance(3)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)
"""


def test_an_interruption_is_the_last_event():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "json"], capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 128 + signal.SIGTERM
    *lines, message = done.stderr.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["start", "interrupted"]
    assert json.loads(lines[-1])["trials_done"] == 3
    assert message == "jaxbench: interrupted"


def test_an_interruption_shows_the_cursor_again():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, ""], stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # how a terminal says that nobody is left
        pass
    os.close(ours)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert b"3/10" in said
    assert said.rindex(b"\x1b[?25h") > said.rindex(b"\x1b[?25l")
    assert said.endswith(b"jaxbench: interrupted\r\n")
