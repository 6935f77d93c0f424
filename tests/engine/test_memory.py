"""What a run holds does not grow with its trials: they come in chunks, and only sums are kept."""

import subprocess
import sys
from pathlib import Path

import pytest

# Processes of their own: a peak is that of a whole process.
CODE = """
import sys
import jaxbench
from jaxbench.engine import plan

trials, chunk = map(int, sys.argv[1:])
plan.CHUNK_BYTES = chunk or plan.CHUNK_BYTES
jaxbench.attack(
    jaxbench.load("terminal_science"), preset="simulation", budgets=[1, 8], save_trials=False,
    trials=trials,
)
# Not ru_maxrss: a process starts with that of the one that started it.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) * 1024)
"""
MIB = 2**20


def peaks(*trials: int, chunk: int) -> list[int]:
    """Peak memory (bytes) of a run of so many trials each, side by side."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, str(n), str(chunk)], stdout=subprocess.PIPE, text=True
        )
        for n in trials
    ]
    printed = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * len(runs)
    return [int(text) for text in printed]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(32 * MIB, id="32 MiB"),
        pytest.param(
            0,
            id="as it is",
            marks=pytest.mark.xfail(strict=True, reason="40,000 trials are one chunk of 256 MiB"),
        ),
    ],
)
def test_ten_times_the_trials_take_no_more_memory(chunk):
    few, many = peaks(4_000, 40_000, chunk=chunk)
    assert many < 1.25 * few, (few / MIB, many / MIB)
