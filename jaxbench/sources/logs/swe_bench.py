"""SWE-bench: reports of the harness, and the files of SWE-bench/experiments.

A report (`MODEL.RUN.json`, or `RUN/results.json` of newer harnesses) lists ids by outcome.
`results/results.json` of a submission lists what was resolved and leaves out what was not, so it
needs the list of all items (`items=`). `per_instance_details.json` has one entry per instance.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jaxbench.errors import BadRequest, some
from jaxbench.options import ReadOptions
from jaxbench.sources.files import read_json
from jaxbench.sources.logs.item_tables import INSTANCE
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.sniff import Sniffed

# Lists of a report that mean a failure of the model, and those that mean no verdict on it.
FAILED = ("unresolved_ids", "error_ids", "empty_patch_ids")
NO_VERDICT = ("incomplete_ids",)
# Failures that may not be the model's: a failed instance of these lists has no verdict either.
DOUBTFUL = ("infra_failure_ids", "ambiguous_failure_ids")
# Runs that are dates have at least this many characters.
LEAST_RUN = 8
COUNTS = {
    "resolved_ids": "resolved_instances", "unresolved_ids": "unresolved_instances",
    "error_ids": "error_instances", "empty_patch_ids": "empty_patch_instances",
    "submitted_ids": "submitted_instances", "completed_ids": "completed_instances",
    "infra_failure_ids": "infra_failure_instances",
    "ambiguous_failure_ids": "ambiguous_failure_instances",
}  # fmt: skip


def read_swe_bench(files: Sequence[Sniffed], options: ReadOptions) -> Outcomes:
    """Read reports, results files and details, one model each.

    The task of an item is its repository, `django__django-11099` -> `django/django`. Several runs
    of a model are repeats.

    **Errors:** `BadRequest` naming the file where lists are missing, disagree with the counts
    beside them, or an id stands under two outcomes.
    """
    rows: list[dict[str, object]] = []
    absent: dict[str, float] = {}
    notes: list[Note] = []
    read = [(file, *_names(file), _scores(file, notes)) for file in files]
    detailed = {model: scores for file, model, _, scores in read if file.part == "details"}
    for file, model, run, scores in read:
        if file.part == "results":
            if model in detailed:
                # A submission with both says the same twice, and the details say it of all.
                _check_same(file.path, scores, detailed[model])
                continue
            absent[model] = 0.0
        rows += [
            {"model": model, "item_id": item, "task": repository_or_all(item), "epoch": run,
             "score": score, "file": str(file.path)}
            for item, score in scores.items()
        ]  # fmt: skip
    if not rows:
        raise BadRequest(f"{files[0].path} lists no instance")
    return Outcomes(
        pd.DataFrame(rows), absent=absent, task_of=repository_or_all, notes=tuple(notes)
    )


def _scores(file: Sniffed, notes: list[Note]) -> dict[str, float]:
    content = read_json(file.path)
    if not isinstance(content, dict):
        raise BadRequest(f"{file.path}: expected a JSON object")
    if file.part == "report":
        scores, told = _report(file.path, content)
        notes += told
        return scores
    return (_results if file.part == "results" else _details)(file.path, content)


def _check_same(path: Path, results: dict[str, float], details: dict[str, float]) -> None:
    differ = {i for i, s in results.items() if details.get(i) != s}
    differ |= {i for i, s in details.items() if s and results.get(i) != 1}
    if differ:
        raise BadRequest(
            f"{path} and the per_instance_details.json of the same submission disagree on "
            f"{some(sorted(differ))}"
        )


def repository_or_all(instance: str) -> str:
    """The repository of an instance id, `all` where the id names none."""
    match = INSTANCE.fullmatch(instance)
    return f"{match[1]}/{match[2]}" if match else "all"


def _names(file: Sniffed) -> tuple[str, str]:
    """The model (or submission) and the run of a file."""
    path = file.path.resolve()
    stem = file.path.stem
    if stem in ("results", "per_instance_details"):
        # SUBMISSION/results/results.json, SUBMISSION/per_instance_details.json, RUN/results.json.
        folder = path.parent.parent if path.parent.name == "results" else path.parent
        return folder.name, ""
    model, dot, run = stem.rpartition(".")
    # A dot within a version is none before a run: gpt-4.1.json is no run `1` of `gpt-4`.
    version = model[-1:].isdecimal() and run[:1].isdecimal() and len(run) < LEAST_RUN
    return (model, run) if dot and file.part == "report" and not version else (stem, "")


def _report(path: Path, content: dict[str, Any]) -> tuple[dict[str, float], list[Note]]:
    scores: dict[str, float] = {}
    for key in ("resolved_ids", *FAILED, *NO_VERDICT):
        ids = _counted(path, content, key)
        score = 1.0 if key == "resolved_ids" else 0.0 if key in FAILED else float("nan")
        for item in ids:
            if item in scores:
                raise BadRequest(f"{path}: {item} stands under two outcomes, one of them {key}")
            scores[item] = score
    doubtful = {key: ids for key in DOUBTFUL if (ids := _counted(path, content, key))}
    for key, ids in doubtful.items():
        if right := [item for item in ids if scores.get(item) == 1]:
            raise BadRequest(f"{path}: {some(right)} stand under resolved_ids and {key}")
        scores.update(dict.fromkeys(ids, float("nan")))
    # Submitted, and under no outcome: no verdict.
    for key in ("submitted_ids", "completed_ids"):
        for item in _counted(path, content, key):
            scores.setdefault(item, float("nan"))
    total = content.get("total_instances")
    notes = []
    if isinstance(total, int) and total > len(scores):
        notes.append(
            Note(
                f"missing: {total - len(scores)} of {total} instances that a report counts and "
                "does not name",
                (path.name,),
                shown=True,
            )
        )
    if failed := len(_ids(path, content, "error_ids")):
        told = f"{failed:,} of {len(scores):,} instances ended in an error, which is a failure"
        notes.append(Note(told, (path.name,), shown=True))
    if doubtful:
        told = f"missing: instances of {' and '.join(doubtful)}, without a verdict"
        notes.append(Note(told, (path.name,), shown=True))
    return scores, notes


def _results(path: Path, content: dict[str, Any]) -> dict[str, float]:
    scores = {}
    for key in ("no_generation", "no_logs"):
        scores.update(dict.fromkeys(_ids(path, content, key), 0.0))
    resolved = _ids(path, content, "resolved")
    if both := [item for item in resolved if item in scores]:
        raise BadRequest(f"{path}: {some(both)} stand under resolved and under another outcome")
    return scores | dict.fromkeys(resolved, 1.0)


def _details(path: Path, content: dict[str, Any]) -> dict[str, float]:
    scores = {}
    for item, entry in content.items():
        resolved = entry.get("resolved") if isinstance(entry, dict) else None
        if not isinstance(resolved, bool):
            raise BadRequest(f"{path}: {item} has no `resolved` that is true or false")
        scores[item] = float(resolved)
    return scores


def _counted(path: Path, content: dict[str, Any], key: str) -> list[str]:
    """The ids of a list, as many as the report counts."""
    ids, counted = _ids(path, content, key), content.get(COUNTS.get(key, ""))
    # A report with counts only would be a report without failures.
    if isinstance(counted, int) and counted != len(ids):
        raise BadRequest(f"{path}: {COUNTS[key]} is {counted}, but {key} holds {len(ids)} ids")
    return ids


def _ids(path: Path, content: dict[str, Any], key: str) -> list[str]:
    ids = content.get(key, [])
    if not isinstance(ids, list) or not all(isinstance(i, str) and i.strip() for i in ids):
        raise BadRequest(f"{path}: {key} is not a list of ids")
    if len(set(ids)) < len(ids):
        raise BadRequest(
            f"{path}: {key} names {some(sorted({i for i in ids if ids.count(i) > 1}))} twice"
        )
    return ids
