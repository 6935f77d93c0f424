"""What a run holds does not grow with its trials: they come in chunks, and only sums are kept."""

import subprocess
import sys
from pathlib import Path

import pytest

# Processes of their own: a peak is that of a whole process.
CODE = """
import sys
import jaxbench

trials = int(sys.argv[1])
jaxbench.attack(
    jaxbench.load("terminal_science"), preset="simulation", budgets=[1, 8], save_trials=False,
    trials=trials,
)
# Not ru_maxrss: a process starts with that of the one that started it.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) * 1024)
"""
MIB = 2**20


def peaks(*trials: int) -> list[int]:
    """Peak memory (bytes) of a run of so many trials each, side by side."""
    runs = [
        subprocess.Popen([sys.executable, "-c", CODE, str(n)], stdout=subprocess.PIPE, text=True)
        for n in trials
    ]
    printed = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * len(runs)
    return [int(text) for text in printed]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
def test_ten_times_the_trials_take_no_more_memory():
    few, many = peaks(4_000, 40_000)
    assert many < 1.25 * few, (few / MIB, many / MIB)
