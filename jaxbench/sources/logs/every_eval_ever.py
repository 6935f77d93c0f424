"""Every Eval Ever: `UUID.json` (the tool's own means) with `UUID_samples.jsonl` (a row per sample).

Format: evaleval/every_eval_ever, schema 0.3.0 (arXiv 2606.14516). Its package needs Python 3.12, so
the schema is read directly.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jaxbench.errors import BadRequest, some
from jaxbench.options import ReadOptions
from jaxbench.sources.files import json_lines
from jaxbench.sources.logs.every_eval_ever_means import Means, Result
from jaxbench.sources.outcomes import Aggregate, Note, Outcomes
from jaxbench.sources.prompt_text import prompt_hash
from jaxbench.sources.score_values import verdict

# Keys of a sample's metadata that say something about the item.
FACTS = ("category", "subtask", "chance", "prompt_hash")

Labels = dict[str, set[str]]  # by task, the metrics that are read


def read_every_eval_ever(
    samples: Sequence[Path], aggregates: Sequence[Path], options: ReadOptions
) -> Outcomes:
    """Read sample files, with the aggregate files that lie beside them.

    **Errors:** `BadRequest` naming file and line where a row does not fit the schema, a metric is
    better when lower, or several metrics are there without `score` (it lists them).
    """
    beside = [path for sample in samples for path in _aggregate_of(sample)]
    means = [Means.read(path) for path in dict.fromkeys([*aggregates, *beside])]
    found = [path for mean in means for path in mean.samples() if path not in samples]
    files = list(dict.fromkeys([*samples, *found]))
    if not files:
        raise BadRequest(
            f"{means[0].path} holds means only; jaxbench needs the samples file that it belongs to "
            "(UUID_samples.jsonl)"
        )
    results = {key: value for mean in means for key, value in mean.results.items()}
    rows: list[dict[str, Any]] = []
    counted: dict[Path, int] = {}
    for path in files:
        read = _rows(path, results)
        counted[path] = len(read)
        rows += read
    chosen = _choose(rows, results, options)
    rows = [row for row in rows if row["label"] in chosen[row["task"]]]
    frame = pd.DataFrame(rows)
    compared = _compared(frame, results)
    frame = frame.drop(columns=["label", "result"])
    for column in (*FACTS, "doc_hash", "epoch"):
        if column in frame and frame[column].isna().all():
            frame = frame.drop(columns=column)
    denominators = {mean.denominator() for mean in means}
    return Outcomes(
        frame,
        aggregates=tuple(compared),
        notes=tuple(_notes(means, counted)),
        denominator=denominators.pop() if len(denominators) == 1 else None,
    )


def _aggregate_of(samples: Path) -> list[Path]:
    """The aggregate file of a samples file, if it lies beside it."""
    beside = samples.with_name(samples.stem.removesuffix("_samples") + ".json")
    return [beside] if beside != samples and beside.is_file() else []


def _rows(path: Path, results: Mapping[tuple[str, str], Result]) -> list[dict[str, Any]]:
    rows = []
    for number, row in json_lines(path):
        try:
            task, item, model = (
                _name(row[key]) for key in ("evaluation_name", "sample_id", "model_id")
            )
            score = verdict(row["evaluation"]["score"])
        except (KeyError, TypeError):
            raise BadRequest(
                f"{path}: line {number} lacks evaluation_name, sample_id, model_id or "
                "evaluation.score"
            ) from None
        if score is None:
            raise BadRequest(f"{path}: line {number}: the score is no number")
        name = str(row.get("evaluation_result_id") or task)
        key = str(row.get("evaluation_id")), name
        result = results.get(key)
        if result:
            score = result.scaled(score)
        if not (-1e-6 <= score <= 1 + 1e-6 or score != score):
            span = f"{result.low:g} to {result.high:g}" if result else "0 to 1"
            raise BadRequest(f"{path}: line {number}: the score is outside {span}")
        said = row.get("metadata")
        metadata = said if isinstance(said, dict) else {}
        rows.append(
            {
                "model": model, "task": task, "item_id": item, "score": score, "file": str(path),
                "doc_hash": str(row["sample_hash"]) if row.get("sample_hash") else None,
                "label": result.label if result else name, "result": key,
                "epoch": metadata.get("epoch"),
                **{fact: _text(metadata.get(fact)) for fact in FACTS},
                "prompt_hash": _text(metadata.get("prompt_hash")) or _prompt(row.get("input")),
            }
        )  # fmt: skip
    return rows


def _name(value: object) -> str:
    """A name, or a number that is one.

    **Errors:** `TypeError` for what is neither.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    return str(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _prompt(asked: Any) -> str | None:
    if not isinstance(asked, dict) or not str(asked.get("raw") or "").strip():
        return None
    return prompt_hash("\n".join([str(asked["raw"]), *map(str, asked.get("choices") or ())]))


def _choose(
    rows: Sequence[dict[str, Any]],
    results: Mapping[tuple[str, str], Result],
    options: ReadOptions,
) -> Labels:
    """The metric of every task: the one that the user named, or the only one."""
    there: dict[str, dict[str, None]] = {}
    by_model: dict[tuple[str, str], set[str]] = {}
    unknown: set[str] = set()
    for row in rows:
        there.setdefault(row["task"], {})[row["label"]] = None
        by_model.setdefault((row["task"], row["model"]), set()).add(row["label"])
        if row["result"] not in results:
            unknown.add(row["label"])
    chosen: Labels = {}
    for task, labels in there.items():
        wanted = [score for score in options.score if score in labels]
        if wanted or (len(labels) == 1 and not options.score):
            chosen[task] = {wanted[0] if wanted else next(iter(labels))}
            continue
        # Without aggregate files results have ids only, which may be others for every model.
        single = all(len(own) == 1 for (t, _), own in by_model.items() if t == task)
        if not options.score and single and unknown.issuperset(labels):
            chosen[task] = set(labels)
            continue
        word = f"no score {' or '.join(options.score)}" if options.score else "several scores"
        choose = " or ".join(f"score={label}" for label in labels)
        raise BadRequest(f"{rows[0]['file']}: {task} has {word}; choose {choose}")
    for row in rows:
        result = results.get(row["result"])
        if result and result.lower_is_better and result.label in chosen[row["task"]]:
            raise BadRequest(
                f"{result.path}: less of {result.label} is better; jaxbench needs a score where "
                f"more is better ({some([row['task']])})"
            )
    return chosen


def _compared(frame: pd.DataFrame, results: Mapping[tuple[str, str], Result]) -> list[Aggregate]:
    """The means that the aggregate files report of what was read."""
    found = []
    for (model, task), rows in frame.groupby(["model", "task"], sort=True):
        # Several runs of a model have a mean each.
        of = [results.get(key) for key in rows["result"]]
        values = [r.scaled(r.value) for r in of if r and r.value is not None]
        if of[0] and len(values) == len(of):
            mean = math.fsum(values) / len(values)
            found.append(Aggregate(str(model), str(task), of[0].label, mean, str(of[0].path)))
    return found


def _notes(means: Sequence[Means], counted: Mapping[Path, int]) -> list[Note]:
    notes = [Note(f"Every Eval Ever: {len(counted)} sample files")]
    for mean in means:
        told, read = mean.rows(), [counted[p] for p in mean.samples() if p in counted]
        if told is not None and read and told not in read:
            text = f"a file of means counts {told:,} samples where {sum(read):,} are in the file"
            notes.append(Note(text, (mean.path.name,), shown=True))
    lone = [mean.path.name for mean in means if not any(p in counted for p in mean.samples())]
    if lone:
        notes.append(
            Note(f"{len(lone)} aggregate files have no samples beside them", tuple(lone), True)
        )
    return notes
