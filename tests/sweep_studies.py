"""Small studies for tests of sweeps."""

from pathlib import Path

import yaml

from jaxbench.jobs.opening import open_benchmark
from jaxbench.options.study import read_study
from jaxbench.studies import SweepPlan, plan_cells

# Of a world that is drawn and attacked in a moment.
TINY = {"models": 5, "items": 24, "tasks": 3}
FAST = {"trials": 6, "budgets": [1, 2, 4], "resamples": 20}


def write_study(folder: Path, name: str = "mine", **parts: object) -> str:
    """A study of these parts, of one size; its file."""
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"sizes": {"smoke": {}}} | parts, sort_keys=False))
    return str(path)


def planned(folder: Path, opener=open_benchmark, given=None, **parts: object) -> SweepPlan:
    """The plan of a study of these parts; `given`: options in place of its own."""
    file = write_study(folder, **parts)
    return plan_cells(read_study(file, "smoke", given or {}, lambda: ["terminal_science"]), opener)
