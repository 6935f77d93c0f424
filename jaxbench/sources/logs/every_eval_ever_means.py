"""Aggregate files of Every Eval Ever: means, the range of scores, and where the samples lie."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from jaxbench.errors import BadRequest
from jaxbench.sources.files import read_json


@dataclass(frozen=True)
class Result:
    """One mean, with the range of its scores; `label`: its metric, as `score=` names it."""

    path: Path
    label: str
    low: float
    high: float
    value: float | None
    lower_is_better: bool

    def scaled(self, score: float) -> float:
        """A score as a fraction of a perfect one."""
        return (score - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Means:
    """An aggregate file; `results` by evaluation and result id."""

    path: Path
    content: dict[str, Any]
    results: dict[tuple[str, str], Result]

    @classmethod
    def read(cls, path: Path) -> "Means":
        """Read an aggregate file.

        **Errors:** `BadRequest` where it is none, or a range is none.
        """
        content = read_json(path)
        entries = content.get("evaluation_results") if isinstance(content, dict) else None
        if not isinstance(entries, list):
            raise BadRequest(
                f"{path} is no aggregate file of Every Eval Ever: no evaluation_results"
            )
        entries = [entry for entry in entries if isinstance(entry, dict)]
        times = Counter((str(e.get("evaluation_name")), _metric(e)) for e in entries)
        evaluation = str(content.get("evaluation_id"))
        results = {}
        for entry in entries:
            # Of two means of one metric, only their ids say which is which.
            alone = times[str(entry.get("evaluation_name")), _metric(entry)] == 1
            label = _metric(entry) if alone else _id(entry)
            results[evaluation, _id(entry)] = _result(path, entry, label)
        return cls(path, content, results)

    def samples(self) -> list[Path]:
        """The samples files that lie beside it, under the name that it gives or the usual ones."""
        named = PurePosixPath(str(_inner(self.content, "detailed_evaluation_results", "file_path")))
        names = dict.fromkeys([f"{self.path.stem}_samples.jsonl", f"{self.path.stem}.jsonl"])
        if named.suffix == ".jsonl":
            names[named.name] = None
        return [path for name in names if (path := self.path.with_name(name)).is_file()]

    def rows(self) -> int | None:
        """How many samples it says there are."""
        number = _inner(self.content, "detailed_evaluation_results", "total_rows")
        return number if isinstance(number, int) else None

    def denominator(self) -> int | None:
        """What scores are multiples of one over, where jaxbench wrote the file."""
        spelled = str(
            _inner(self.content, "source_metadata", "additional_details", "jaxbench_denominator")
        )
        known = spelled.isascii() and spelled.isdecimal() and len(spelled) <= 7
        return int(spelled) if known and 0 < int(spelled) <= 10**6 else None


def _result(path: Path, entry: dict[str, Any], label: str) -> Result:
    low = _number(path, entry, "metric_config", "min_score")
    high = _number(path, entry, "metric_config", "max_score")
    low, high = 0.0 if low is None else low, 1.0 if high is None else high
    if not low < high:
        raise BadRequest(f"{path}: {_id(entry)} has scores from {low:g} to {high:g}")
    return Result(
        path,
        label,
        low,
        high,
        _number(path, entry, "score_details", "score"),
        _inner(entry, "metric_config", "lower_is_better") is True,
    )


def _metric(entry: dict[str, Any]) -> str:
    metric = _inner(entry, "metric_config", "metric_name")
    return str(metric or _inner(entry, "metric_config", "metric_id") or _id(entry))


def _id(entry: dict[str, Any]) -> str:
    return str(entry.get("evaluation_result_id") or entry.get("evaluation_name"))


def _number(path: Path, entry: dict[str, Any], *keys: str) -> float | None:
    value = _inner(entry, *keys)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRequest(f"{path}: {_id(entry)}: {keys[-1]} is {str(value)[:40]!r}, not a number")
    return float(value)


def _inner(content: Any, *keys: str) -> Any:
    """A value within objects, None where there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content
