"""Results files of lm-evaluation-harness: who ran what, and the tool's own means."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbench.errors import BadRequest
from jaxbench.sources.files import read_json
from jaxbench.sources.outcomes import Note

DATE = r"\d{4}-\d{2}-\d{2}T[\d.\-:]+"
SAMPLES = re.compile(rf"samples_(?P<task>.+?)(_(?P<date>{DATE}))?$")
RESULTS = re.compile(rf"results_(?P<date>{DATE})$")


@dataclass(frozen=True)
class Report:
    """A results file."""

    path: Path
    content: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Report":
        """Read a results file.

        **Errors:** `BadRequest` where it is none.
        """
        content = read_json(path)
        if not isinstance(content, dict) or not isinstance(content.get("results"), dict):
            raise BadRequest(f"{path} is no results file of lm_eval: it has no results")
        return cls(path, content)

    def model(self) -> str | None:
        """The model that it names."""
        named = self.content.get("model_name")
        arguments = _inner(self.content, "config").get("model_args")
        if isinstance(arguments, str):
            pairs = (entry.partition("=") for entry in arguments.split(","))
            arguments = {key.strip(): value.strip() for key, _, value in pairs}
        if not named and isinstance(arguments, dict):
            named = arguments.get("pretrained") or arguments.get("model")
        return str(named) if named else None

    def mean(self, task: str, score: tuple[str, str]) -> float | None:
        """The mean of a score over a task, None where the number there is no mean, or none."""
        if self._metric(task, score[0]).get("aggregation", "mean") != "mean":
            return None
        values = _inner(self.content, "results", task)
        value = values.get(",".join(score), values.get(score[0]))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value)

    def counted(self, task: str) -> int | None:
        """How many documents it says the mean is of."""
        number = _inner(self.content, "n-samples", task).get("effective")
        return number if isinstance(number, int) else None

    def lower_is_better(self, task: str, metric: str) -> bool:
        """Whether it says so."""
        better = _inner(self.content, "higher_is_better", task).get(metric)
        if better is None:
            better = self._metric(task, metric).get("higher_is_better")
        return str(better).lower() == "false"

    def _metric(self, task: str, metric: str) -> dict[str, Any]:
        listed = _inner(self.content, "configs", task).get("metric_list")
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get("metric") == metric:
                return entry
        return {}


def _inner(content: dict[str, Any], *keys: str) -> dict[str, Any]:
    """An object within objects, empty where there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content.get(key), dict) else {}  # pyright: ignore
    return content


def find_reports(samples: Sequence[Path], results: Sequence[Path]) -> dict[Path, Report | None]:
    """The results file of every sample file: same folder, same date (else the only one there)."""
    paths = list(dict.fromkeys([*results, *_beside(samples)]))
    reports = {path: Report.read(path) for path in paths}
    found = {}
    for path in samples:
        here = [p for p in reports if p.parent == path.parent]
        dated = [p for p in here if _date(p) and _date(p) == _date(path)]
        chosen = dated or (here if len(here) == 1 and not _date(path) else [])
        found[path] = reports[chosen[0]] if chosen else None
    return found


def _beside(samples: Sequence[Path]) -> list[Path]:
    """Results files that lie beside sample files given on their own."""
    dates = ((path, _date(path)) for path in samples)
    found = [p.with_name(f"results_{date}.json" if date else "results.json") for p, date in dates]
    return [path for path in found if path.is_file()]


def _date(path: Path) -> str | None:
    match = SAMPLES.fullmatch(path.stem) or RESULTS.fullmatch(path.stem)
    return match["date"] if match else None


def task_of(path: Path, report: Report | None) -> str:
    """The task of a sample file, which its name says."""
    if match := SAMPLES.fullmatch(path.stem):
        return match["task"]
    # The first 0.4 versions wrote MODEL_ARGUMENTS_TASK.jsonl.
    known = _inner(report.content, "results") if report else {}
    ends = [task for task in known if path.stem == task or path.stem.endswith(f"_{task}")]
    return max(ends, key=len, default=path.stem)


def model_of(path: Path, report: Report | None, notes: list[Note]) -> str:
    """The model of a sample file, as its results file says, else as its folder is named."""
    if report and (name := report.model()):
        return name
    note = Note("no results file names the model: it is named after its folder", shown=True)
    if note not in notes:
        notes.append(note)
    # lm_eval writes into a folder named after the model, `/` as `__`.
    return path.resolve().parent.name.replace("__", "/")
