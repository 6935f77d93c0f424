"""Every Eval Ever: `UUID.json` (the tool's own means) with `UUID_samples.jsonl` (a row per sample).

Format: evaleval/every_eval_ever, schema 0.3.0 (arXiv 2606.14516). Its package needs Python 3.12, so
the schema is read directly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from jaxbench.errors import BadRequest, some
from jaxbench.options import ReadOptions
from jaxbench.sources.files import json_lines, read_json
from jaxbench.sources.long_table import prompt_hash
from jaxbench.sources.outcomes import Aggregate, Note, Outcomes
from jaxbench.sources.score_values import verdict

# Keys of a sample's metadata that say something about the item.
FACTS = ("category", "subtask", "chance", "prompt_hash")


@dataclass(frozen=True)
class _Result:
    """One mean of an aggregate file, with the range of its scores."""

    path: Path
    name: str
    metric: str
    low: float
    high: float
    value: float | None
    lower_is_better: bool


def read_every_eval_ever(
    samples: Sequence[Path], aggregates: Sequence[Path], options: ReadOptions
) -> Outcomes:
    """Read sample files, with the aggregate files that lie beside them.

    **Errors:** `BadRequest` naming file and line where a row does not fit the schema, a metric is
    better when lower, or several metrics are there without `score` (it lists them).
    """
    aggregates = list(dict.fromkeys([*aggregates, *filter(Path.is_file, map(_aggregate, samples))]))
    samples = list(dict.fromkeys([*samples, *_named(aggregates, samples)]))
    if not samples:
        raise BadRequest(
            f"{aggregates[0]} holds means only; jaxbench needs the samples file that it belongs to "
            "(UUID_samples.jsonl)"
        )
    results = {key: value for path in aggregates for key, value in _results(path).items()}
    denominators = {d for path in aggregates if (d := _denominator(path))}
    rows: list[dict[str, Any]] = []
    for path in samples:
        rows += _rows(path, results)
    chosen = _choose(rows, results, options)
    rows = [row for row in rows if row["label"] == chosen[row["task"]]]
    compared = [
        Aggregate(
            model, result.name, result.metric, _scaled(result, result.value), str(result.path)
        )
        for (evaluation, _), result in results.items()
        if result.value is not None and chosen.get(result.name) == result.metric
        for model in sorted({r["model"] for r in rows if r["evaluation"] == evaluation})
    ]
    notes = [Note(f"Every Eval Ever: {len(samples)} sample files")]
    frame = pd.DataFrame(rows).drop(columns=["label", "evaluation"])
    for column in FACTS:
        if column in frame and frame[column].isna().all():
            frame = frame.drop(columns=column)
    return Outcomes(
        frame,
        aggregates=tuple(compared),
        notes=tuple(notes),
        denominator=denominators.pop() if len(denominators) == 1 else None,
    )


def _aggregate(samples: Path) -> Path:
    return samples.with_name(samples.name.replace("_samples.jsonl", ".json"))


def _named(aggregates: Sequence[Path], known: Sequence[Path]) -> list[Path]:
    """Sample files that lie beside aggregate files given on their own."""
    found = [path.with_name(f"{path.stem}_samples.jsonl") for path in aggregates]
    return [path for path in found if path.is_file() and path not in known]


def _results(path: Path) -> dict[tuple[str, str], _Result]:
    """The means of a file by evaluation and result id."""
    content = read_json(path)
    evaluation = str(content.get("evaluation_id")) if isinstance(content, dict) else ""
    entries = content.get("evaluation_results") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise BadRequest(f"{path} is no aggregate file of Every Eval Ever: no evaluation_results")
    found = {}
    for entry in entries:
        config, details = entry.get("metric_config") or {}, entry.get("score_details") or {}
        name = str(entry.get("evaluation_name"))
        result = str(entry.get("evaluation_result_id") or name)
        metric = config.get("metric_name") or config.get("metric_id") or result
        low, high = (config.get(f"{end}_score") for end in ("min", "max"))
        low, high = (0.0 if low is None else float(low)), (1.0 if high is None else float(high))
        if not low < high:
            raise BadRequest(f"{path}: {name} has scores from {low:g} to {high:g}")
        value = details.get("score")
        found[evaluation, result] = _Result(
            path, name, str(metric), low, high,
            float(value) if isinstance(value, int | float) else None,
            config.get("lower_is_better") is True,
        )  # fmt: skip
    return found


def _denominator(path: Path) -> int | None:
    """The common denominator of the scores, where jaxbench wrote the file."""
    source = read_json(path).get("source_metadata") or {}
    spelled = str((source.get("additional_details") or {}).get("jaxbench_denominator", ""))
    return int(spelled) if spelled.isdecimal() and 0 < int(spelled) <= 10**6 else None


def _scaled(result: _Result, value: float) -> float:
    return (value - result.low) / (result.high - result.low)


def _rows(path: Path, results: dict[tuple[str, str], _Result]) -> list[dict[str, Any]]:
    rows = []
    for number, row in json_lines(path):
        try:
            task, item, model = (
                str(row[key]) for key in ("evaluation_name", "sample_id", "model_id")
            )
            score = verdict(row["evaluation"]["score"])
        except (KeyError, TypeError):
            raise BadRequest(
                f"{path}: line {number} lacks evaluation_name, sample_id, model_id or "
                "evaluation.score"
            ) from None
        if score is None:
            raise BadRequest(f"{path}: line {number}: the score is no number")
        evaluation = str(row.get("evaluation_id"))
        name = str(row.get("evaluation_result_id") or task)
        result = results.get((evaluation, name))
        if result:
            score = _scaled(result, score)
        if not (-1e-6 <= score <= 1 + 1e-6 or score != score):
            span = f"{result.low:g} to {result.high:g}" if result else "0 to 1"
            raise BadRequest(f"{path}: line {number}: the score is outside {span}")
        metadata = row.get("metadata") or {}
        rows.append(
            {
                "model": model, "task": task, "item_id": item, "score": score, "file": str(path),
                "doc_hash": row.get("sample_hash"), "label": result.metric if result else name,
                "evaluation": evaluation, "epoch": metadata.get("epoch"),
                **{key: metadata.get(key) for key in FACTS},
                "prompt_hash": metadata.get("prompt_hash") or _prompt(row.get("input")),
            }
        )  # fmt: skip
    return rows


def _prompt(asked: Any) -> str | None:
    if not isinstance(asked, dict) or not str(asked.get("raw") or "").strip():
        return None
    return prompt_hash("\n".join([str(asked["raw"]), *map(str, asked.get("choices") or ())]))


def _choose(
    rows: Sequence[dict[str, Any]], results: dict[tuple[str, str], _Result], options: ReadOptions
) -> dict[str, str]:
    """The metric of every task: the one that the user named, or the only one."""
    there: dict[str, dict[str, None]] = {}
    for row in rows:
        there.setdefault(row["task"], {})[row["label"]] = None
    chosen = {}
    for task, labels in there.items():
        wanted = [score for score in options.score if score in labels]
        if wanted or (len(labels) == 1 and not options.score):
            chosen[task] = wanted[0] if wanted else next(iter(labels))
            continue
        word = f"no score {' or '.join(options.score)}" if options.score else "several scores"
        choose = " or ".join(f"score={label}" for label in labels)
        raise BadRequest(f"{rows[0]['file']}: {task} has {word}; choose {choose}")
    for result in results.values():
        if result.lower_is_better and chosen.get(result.name) == result.metric:
            raise BadRequest(
                f"{result.path}: less of {result.metric} is better; jaxbench needs a score where "
                f"more is better ({some([result.name])})"
            )
    return chosen
