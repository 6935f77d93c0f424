"""lm-evaluation-harness: `samples_TASK_DATE.jsonl` of `--log_samples`, with `results_DATE.json`.

Format: EleutherAI/lm-evaluation-harness 0.4 (`lm_eval.result_schema.SampleResult`): a row per
document and filter, one number per metric; scores are aggregated over repeats already.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from jaxbench.errors import BadRequest, some
from jaxbench.options import ReadOptions
from jaxbench.sources.files import json_records
from jaxbench.sources.logs.lm_eval_results import Report, find_reports, model_of, task_of
from jaxbench.sources.outcomes import Aggregate, Note, Outcomes

# Keys of a row that are no metrics (older rows have no list of them).
OTHER = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
     "doc_hash", "prompt_hash", "target_hash", "logit_0", "logit_1", "truth", "schema_version")
)  # fmt: skip
# The hash of no text at all: tasks without a context have it in every row.
NO_TEXT = hashlib.sha256(b"").hexdigest()

Score = tuple[str, str]  # a metric and a filter


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
    reports = find_reports(samples, results)
    samples = _of_tasks(samples, reports, options)
    frames: list[pd.DataFrame] = []
    aggregates: list[Aggregate] = []
    notes: list[Note] = []
    for path in samples:
        report = reports[path]
        task, model = task_of(path, report), model_of(path, report, notes)
        table = _read_samples(path, options)
        try:
            chosen = table.choose(path, options, report, task)
        except BadRequest:
            _check_choices(samples, reports, options)
            raise
        frames.append(table.frame(path, task, model, chosen, options))
        if report:
            aggregates += _aggregates(report, task, model, chosen, len(frames[-1]), options)
    rows = pd.concat(frames, ignore_index=True)
    return Outcomes(rows, aggregates=tuple(aggregates), notes=tuple(notes))


def _of_tasks(
    samples: Sequence[Path], reports: Mapping[Path, Report | None], options: ReadOptions
) -> list[Path]:
    """The sample files of the tasks that `where` names, or all.

    **Errors:** `BadRequest` for another column, or a task that is nowhere.
    """
    for column in options.where:
        if column != "task":
            raise BadRequest(f"where={{{column}:...}} means nothing for format=lm_eval; task does")
    tasks = {path: task_of(path, reports[path]) for path in samples}
    wanted = options.where.get("task")
    if wanted is None:
        return list(samples)
    if lack := [task for task in wanted if task not in tasks.values()]:
        raise BadRequest(
            f"no samples of task {lack[0]!r}; found {some(sorted(set(tasks.values())))}"
        )
    return [path for path in samples if tasks[path] in wanted]


def _check_choices(
    samples: Sequence[Path], reports: Mapping[Path, Report | None], options: ReadOptions
) -> None:
    """Where tasks have different scores, ask for all choices at once.

    **Errors:** `BadRequest` with the scores of every task, and a list to give.
    """
    there: dict[str, dict[Score, None]] = {}
    first: dict[str, Path] = {}
    if len({task_of(path, reports[path]) for path in samples}) < 2:
        return
    for path in samples:
        task = task_of(path, reports[path])
        # A document and its filters stand together, or all of one filter after the other.
        if task not in there:
            first[task] = path
            there[task] = _scores_of(path)
    if len({tuple(scores) for scores in there.values()}) < 2:
        return
    for task, scores in there.items():
        table = _Samples(scores={score: ([], []) for score in scores})
        try:
            table.wanted(first[task], options)
        except BadRequest:
            words = [f"{t}: {' or '.join(map(','.join, s))}" for t, s in there.items()]
            shown = "; ".join(words[:6]) + ("; ..." if len(words) > 6 else "")
            picked = list(dict.fromkeys(",".join(next(iter(s))) for s in there.values()))
            listing = ",".join(f'"{score}"' for score in picked)
            raise BadRequest(
                f"{first[task]}: tasks have different scores ({shown}); choose one for each, such "
                f"as 'score=[{listing}]'"
            ) from None


def _scores_of(path: Path) -> dict[Score, None]:
    """The metrics and filters of a file."""
    found: dict[Score, None] = {}
    for number, row in json_records(path):
        name = str(row.get("filter") or "none")
        found.update(dict.fromkeys((m, name) for m, _ in _metrics(path, number, row, set())))
    return found


@dataclass
class _Samples:
    """The rows of a file, column by column: a document a row, its numbers by metric and filter."""

    documents: list[str] = field(default_factory=list)
    prompts: list[str | None] = field(default_factory=list)
    hashes: list[str | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    # Numbers of rows and their scores.
    scores: dict[Score, tuple[list[int], list[float]]] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)

    def choose(self, path: Path, options: ReadOptions, report: Report | None, task: str) -> Score:
        """The metric and filter that the user named, or the only ones.

        **Errors:** `BadRequest` where that is none, several, or better when lower.
        """
        if not self.scores:
            lists = f"; {', '.join(sorted(self.listed))}: lists" if self.listed else ""
            raise BadRequest(f"{path}: no row has a metric with one number a document{lists}")
        chosen = self.wanted(path, options)
        if report and report.lower_is_better(task, chosen[0]):
            raise BadRequest(
                f"{path}: less of {chosen[0]} is better (says {report.path.name}); jaxbench needs "
                f"a score where more is better{self._others(chosen)}"
            )
        return chosen

    def wanted(self, path: Path, options: ReadOptions) -> Score:
        """The metric and filter that the options name, or the only ones there are."""
        there = list(self.scores)
        for wanted in options.score:
            metric, _, name = wanted.partition(",")
            found = [
                s for s in there if s[0] == metric.strip() and (not name or s[1] == name.strip())
            ]
            if len(found) == 1:
                return found[0]
            if len(found) > 1:
                raise BadRequest(
                    f"{path}: {wanted} stands under several filters; choose {_spell(found)}"
                )
        if len(there) == 1 and not options.score:
            return there[0]
        lists = f" ({', '.join(sorted(self.listed))}: lists, no scores)" if self.listed else ""
        word = f"no score {' or '.join(options.score)}" if options.score else "several scores"
        raise BadRequest(f"{path}: {word}; choose {_spell(there)}{lists}")

    def _others(self, chosen: Score) -> str:
        others = [score for score in self.scores if score != chosen]
        return f": choose {_spell(others)}" if others else ""

    def frame(
        self, path: Path, task: str, model: str, chosen: Score, options: ReadOptions
    ) -> pd.DataFrame:
        """The rows of one score.

        **Errors:** `BadRequest` for a document that stands twice, or a value that is no fraction.
        """
        rows, scores = self.scores[chosen]
        perfect = float(options.max_score or 1)
        seen: dict[str, int] = {}
        for row, score in zip(rows, scores, strict=True):
            document, line = self.documents[row], self.lines[row]
            if document in seen:
                raise BadRequest(
                    f"{path}: line {line}: doc_id {document} stands again under filter "
                    f"{chosen[1]} (first in line {seen[document]}); expected one row per document"
                )
            seen[document] = line
            if not math.isnan(score) and not 0 <= score <= perfect:
                raise BadRequest(
                    f"{path}: line {line}: {chosen[0]} of {task}/{document} is {score:g}, not "
                    f"between 0 and {perfect:g}{self._others(chosen)}"
                )
        return pd.DataFrame(
            {
                "model": model,
                "task": task,
                "item_id": [f"{task}/{self.documents[row]}" for row in rows],
                "prompt_hash": pd.Series([self.prompts[row] for row in rows], dtype=object),
                "doc_hash": pd.Series([self.hashes[row] for row in rows], dtype=object),
                "file": str(path),
                "score": [score / perfect for score in scores],
            }
        )


def _read_samples(path: Path, options: ReadOptions) -> _Samples:
    table = _Samples()
    # Of what the user did not ask for, only the name is of interest.
    asked = {score.partition(",")[0].strip() for score in options.score}
    for number, row in json_records(path):
        if row.get("doc_id") is None:
            raise BadRequest(f"{path}: line {number} has no doc_id; is this a file of samples?")
        place = len(table.documents)
        table.documents.append(str(row["doc_id"]))
        prompt = row.get("prompt_hash") or _context_hash(row.get("arguments"))
        table.prompts.append(None if prompt == NO_TEXT else str(prompt) if prompt else None)
        table.hashes.append(str(row["doc_hash"]) if row.get("doc_hash") else None)
        table.lines.append(number)
        name = str(row.get("filter") or "none")
        for metric, score in _metrics(path, number, row, table.listed):
            rows, scores = table.scores.setdefault((metric, name), ([], []))
            if not asked or metric in asked:
                rows.append(place)
                scores.append(score)
    return table


def _metrics(
    path: Path, number: int, row: dict[str, Any], listed: set[str]
) -> list[tuple[str, float]]:
    """The numbers of a row by metric; NaN where a metric has none."""
    named = row.get("metrics")
    if isinstance(named, list):
        found = {str(metric): row.get(str(metric)) for metric in named}
    else:
        # Without a list of them, what is no number is no metric.
        found = {
            key: value
            for key, value in row.items()
            if key not in OTHER and isinstance(value, int | float | list | dict)
        }
    numbers = []
    for metric, value in found.items():
        if isinstance(value, list | dict):
            listed.add(metric)
        elif value is None:
            numbers.append((metric, math.nan))
        elif isinstance(value, int | float):
            numbers.append((metric, float(value)))
        else:
            raise BadRequest(
                f"{path}: line {number}: {metric} is {str(value)[:40]!r}, expected a number"
            )
    return numbers


def _context_hash(arguments: Any) -> str | None:
    """What lm_eval calls the prompt hash: SHA-256 of the first request's context."""
    if isinstance(arguments, dict):
        arguments = list(arguments.values())
    first = arguments[0] if isinstance(arguments, list) and arguments else None
    if isinstance(first, dict):
        first = first.get("arg_0")
    elif isinstance(first, list):
        first = first[0] if first else None
    if not isinstance(first, str) or not first:
        return None
    return hashlib.sha256(first.encode("utf-8", "surrogatepass")).hexdigest()


def _spell(scores: Sequence[Score]) -> str:
    return " or ".join(f"score={metric},{name}" for metric, name in scores)


def _aggregates(
    report: Report, task: str, model: str, chosen: Score, rows: int, options: ReadOptions
) -> list[Aggregate]:
    """What the results file says about a task, if it says the mean of this score."""
    value = report.mean(task, chosen)
    if value is None:
        return []
    counted = report.counted(task)
    return [
        Aggregate(
            model, task, ",".join(chosen), value / float(options.max_score or 1), str(report.path),
            counted if counted != rows else None,
        )
    ]  # fmt: skip
