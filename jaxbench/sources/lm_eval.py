"""lm-evaluation-harness: `samples_TASK_DATE.jsonl` of `--log_samples`, with `results_DATE.json`.

Format: EleutherAI/lm-evaluation-harness 0.4 (`lm_eval.result_schema.SampleResult`): a row per
document and filter, one number per metric; scores are aggregated over repeats already.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources.files import json_lines, read_json
from jaxbench.sources.outcomes import Aggregate, Note, Outcomes
from jaxbench.sources.score_values import verdict

SAMPLES = re.compile(r"samples_(?P<task>.+?)(_(?P<date>\d{4}-\d{2}-\d{2}T[\d.\-:]+))?$")
RESULTS = re.compile(r"results_(?P<date>\d{4}-\d{2}-\d{2}T[\d.\-:]+)$")
# Keys of a row that are no metrics (older rows have no list of them).
OTHER = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
     "doc_hash", "prompt_hash", "target_hash", "logit_0", "logit_1", "truth", "schema_version")
)  # fmt: skip


def read_lm_eval(
    samples: Sequence[Path], results: Sequence[Path], options: ReadOptions
) -> Outcomes:
    """Read sample files, and compare them with the results files that lie beside them.

    **Errors:** `BadRequest` naming file and line; for several metrics or filters without `score`
    (it lists them); a metric where less is better; or a results file without its samples.
    """
    if not samples:
        raise BadRequest(
            f"{results[0]} holds means only; jaxbench needs the rows: run lm_eval with "
            "--log_samples and give the folder with samples_*.jsonl"
        )
    reports = {path: _report(path) for path in [*results, *_beside(samples, results)]}
    rows: list[dict[str, object]] = []
    aggregates: list[Aggregate] = []
    notes: list[Note] = []
    for path in samples:
        report = _report_of(path, reports)
        task, model = _task(path), _model(path, report, notes)
        read, chosen = _read_samples(path, task, model, options)
        rows += read
        if report:
            aggregates += _aggregates(report, task, model, chosen, len(read))
            _check_direction(report, task, chosen, path)
    return Outcomes(pd.DataFrame(rows), aggregates=tuple(aggregates), notes=tuple(notes))


def _read_samples(
    path: Path, task: str, model: str, options: ReadOptions
) -> tuple[list[dict[str, object]], tuple[str, str]]:
    by_score: dict[tuple[str, str], list[dict[str, object]]] = {}
    listed: set[str] = set()
    for number, row in json_lines(path):
        if "doc_id" not in row:
            raise BadRequest(f"{path}: line {number} has no doc_id; is this a file of samples?")
        kept = {
            "model": model, "task": task, "item_id": f"{task}/{row['doc_id']}",
            "prompt_hash": row.get("prompt_hash") or _context_hash(row.get("arguments")),
            "doc_hash": row.get("doc_hash"),
            "file": str(path),
        }  # fmt: skip
        for metric in row.get("metrics") or [key for key in row if key not in OTHER]:
            value = row.get(metric)
            if isinstance(value, list | dict):
                listed.add(metric)
                continue
            score = verdict(value)
            if score is None:
                raise BadRequest(
                    f"{path}: line {number}: {metric} is {str(value)[:40]!r}, expected a number"
                )
            place = (metric, str(row.get("filter") or "none"))
            by_score.setdefault(place, []).append({**kept, "score": score})
    if not by_score:
        raise BadRequest(f"{path}: no row has a metric with one number a document")
    chosen = _choose(path, by_score, listed, options)
    read = by_score[chosen]
    for row in read:
        score = float(row["score"])  # pyright: ignore[reportArgumentType]
        if not (0 <= score <= 1) and score == score:
            raise BadRequest(
                f"{path}: {chosen[0]} of {row['item_id']} is {score:g}, not between 0 and 1; "
                f"choose another score: {_spell([s for s in by_score if s != chosen])}"
            )
    return read, chosen


def _context_hash(arguments: Any) -> str | None:
    """What lm_eval calls the prompt hash: SHA-256 of the first request's context."""
    first = next(iter(arguments.values() if isinstance(arguments, dict) else arguments or ()), None)
    if isinstance(first, dict):
        first = first.get("arg_0")
    elif isinstance(first, list):
        first = first[0] if first else None
    if not isinstance(first, str) or not first:
        return None
    return hashlib.sha256(first.encode("utf-8", "surrogatepass")).hexdigest()


def _choose(
    path: Path, by_score: dict[tuple[str, str], Any], listed: set[str], options: ReadOptions
) -> tuple[str, str]:
    """The (metric, filter) that the user named, or the only one."""
    there = list(by_score)
    for wanted in options.score:
        metric, _, name = wanted.partition(",")
        found = [s for s in there if s[0] == metric.strip() and (not name or s[1] == name.strip())]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise BadRequest(
                f"{path}: {wanted} stands under several filters; choose {_spell(found)}"
            )
    if len(there) == 1 and not options.score:
        return there[0]
    lists = f" ({', '.join(sorted(listed))}: lists, no scores)" if listed else ""
    word = f"no score {' or '.join(options.score)}" if options.score else "several scores"
    raise BadRequest(f"{path}: {word}; choose {_spell(there)}{lists}")


def _spell(scores: Sequence[tuple[str, str]]) -> str:
    return " or ".join(f"score={metric},{name}" for metric, name in scores) or "none is there"


def _task(path: Path) -> str:
    match = SAMPLES.fullmatch(path.stem)
    return match["task"] if match else path.stem


def _date(path: Path) -> str | None:
    match = SAMPLES.fullmatch(path.stem) or RESULTS.fullmatch(path.stem)
    return match["date"] if match else None


def _beside(samples: Sequence[Path], known: Sequence[Path]) -> list[Path]:
    """Results files that lie beside sample files given on their own."""
    found = []
    for path in samples:
        date = _date(path)
        report = path.with_name(f"results_{date}.json")
        if date and report.is_file() and report not in known and report not in found:
            found.append(report)
    return found


def _report(path: Path) -> dict[str, Any]:
    report = read_json(path)
    if not isinstance(report, dict) or not isinstance(report.get("results"), dict):
        raise BadRequest(f"{path} is no results file of lm_eval: it has no results")
    return {**report, "path": path}


def _report_of(path: Path, reports: dict[Path, dict[str, Any]]) -> dict[str, Any] | None:
    """The results file of a sample file: same folder, same date (else the only one there)."""
    here = [p for p in reports if p.parent == path.parent]
    dated = [p for p in here if _date(p) and _date(p) == _date(path)]
    chosen = dated or (here if len(here) == 1 and not _date(path) else [])
    return reports[chosen[0]] if chosen else None


def _model(path: Path, report: dict[str, Any] | None, notes: list[Note]) -> str:
    if report:
        config = report.get("config") or {}
        arguments = str(config.get("model_args") or "") if isinstance(config, dict) else ""
        match = re.search(r"(?:pretrained|model)=([^,]+)", arguments)
        name = report.get("model_name") or (match[1] if match else None)
        if name:
            return str(name)
    # lm_eval writes into a folder named after the model, `/` as `__`.
    folder = path.resolve().parent.name
    note = Note("no results file names the model: it is named after its folder", shown=True)
    if note not in notes:
        notes.append(note)
    return folder.replace("__", "/")


def _aggregates(
    report: dict[str, Any], task: str, model: str, chosen: tuple[str, str], rows: int
) -> list[Aggregate]:
    """What the results file says about a task, if it says the mean of this score."""
    metric, name = chosen
    values = report["results"].get(task)
    if not isinstance(values, dict) or not _is_mean(report, task, metric):
        return []
    value = values.get(f"{metric},{name}", values.get(metric))
    counted = (report.get("n-samples") or {}).get(task)
    effective = counted.get("effective") if isinstance(counted, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return [
        Aggregate(
            model, task, f"{metric},{name}", float(value), str(report["path"]),
            effective if isinstance(effective, int) and effective != rows else None,
        )
    ]  # fmt: skip


def _metric_config(report: dict[str, Any], task: str, metric: str) -> dict[str, Any]:
    config = (report.get("configs") or {}).get(task)
    listed = config.get("metric_list") if isinstance(config, dict) else None
    for entry in listed or []:
        if isinstance(entry, dict) and entry.get("metric") == metric:
            return entry
    return {}


def _is_mean(report: dict[str, Any], task: str, metric: str) -> bool:
    aggregation = _metric_config(report, task, metric).get("aggregation", "mean")
    return aggregation == "mean"


def _check_direction(
    report: dict[str, Any], task: str, chosen: tuple[str, str], path: Path
) -> None:
    better = (report.get("higher_is_better") or {}).get(task)
    better = better.get(chosen[0]) if isinstance(better, dict) else None
    if better is None:
        better = _metric_config(report, task, chosen[0]).get("higher_is_better")
    if better is False:
        raise BadRequest(
            f"{path}: less of {chosen[0]} is better (says {report['path'].name}); jaxbench needs a "
            "score where more is better"
        )
