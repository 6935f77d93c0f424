"""`memory=` holds for the whole process, and changes nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sweep_studies import write_study

MB = 10**6
CODE = """
import sys
from jaxbench.cli import main
status = main(sys.argv[1:])
# Not ru_maxrss: a process starts with that of the one that started it.
facts = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("peak", int(facts["VmHWM"].split()[0]) * 1024)
sys.exit(status)
"""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peaks are read from /proc"
)


def peak(folder, *options):
    """The peak memory (bytes) of a sweep."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, "sweep", "study=./mine.yaml", *options], cwd=folder,
        env=os.environ, capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(re.search(r"^peak (\d+)$", done.stdout, re.MULTILINE)[1])


def same(one, other):
    assert (one / "summary.csv").read_bytes() == (other / "summary.csv").read_bytes()
    names = [sorted(path.name for path in (run / "shards").glob("*.parquet"))
             for run in (one, other)]  # fmt: skip
    assert names[0] == names[1]
    for name in names[0]:
        assert (one / "shards" / name).read_bytes() == (other / "shards" / name).read_bytes()


@pytest.mark.slow
def test_a_hundred_thousand_trials_keep_to_the_limit(tmp_path):
    # 70 items and 127 candidates.
    write_study(
        tmp_path,
        options={
            "benchmark": "terminal_science", "preset": "simulation", "trials": 100_000,
            "budgets": [1, 2, 4, 8, 16, 32, 64, 128], "resamples": 200,
        },
    )  # fmt: skip
    small = peak(tmp_path, "memory=1200MB", "out=small")
    assert small < 1200 * MB, small / MB
    large = peak(tmp_path, "memory=6GB", "out=large")
    assert large < 6000 * MB, large / MB
    same(tmp_path / "small", tmp_path / "large")


@pytest.mark.slow
def test_many_conditions_and_large_worlds_keep_to_the_limit(tmp_path):
    """What grows with conditions (summaries) and with worlds (held some at a time) is counted."""
    write_study(
        tmp_path,
        options={
            "preset": "simulation", "trials": 600, "budgets": [1, 2, 4, 8], "resamples": 200,
            "save_trials": False, "endpoint_view": "tasks",
        },
        vary={"interface": ["task", "aggregate"], "precision": ["exact", 2, 3]},
        conditions=[
            {"benchmark": "terminal_science", "trials": 6000},
            *({"world": {"models": 200, "items": 4000, "seed": s}, "trials": 8} for s in range(6)),
        ],
    )  # fmt: skip
    found = peak(tmp_path, "memory=1500MB", "out=run")
    assert found < 1500 * MB, found / MB
