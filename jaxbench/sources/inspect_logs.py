"""Inspect logs (`.eval` and `.json`), through the log reader of inspect_ai."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources.long_table import prompt_hash
from jaxbench.sources.outcomes import Aggregate, Note, Outcomes
from jaxbench.sources.score_values import verdict

# Metrics of inspect_ai that are means of the samples' scores.
MEANS = ("accuracy", "mean")


def read_inspect(files: Sequence[Path], options: ReadOptions) -> Outcomes:
    """Read Inspect logs, one model and task each.

    Samples that have no score (an error, a limit) are missing, not wrong.

    **Errors:** `BadRequest` where inspect_ai is not installed or cannot read a file; for several
    scorers or keys without `score` (it lists them); a score that is no verdict and no number.
    """
    rows: list[dict[str, object]] = []
    aggregates: list[Aggregate] = []
    notes: list[Note] = []
    for path in files:
        header, samples = _open(path)
        task, model = str(header.eval.task), str(header.eval.model)
        read = list(_rows(path, samples, task, model))
        chosen = _choose(path, read, options)
        rows += [_scored(path, row, chosen) for row in read]
        if header.status != "success":
            notes.append(
                Note(
                    f"{path.name} ended with status {header.status}: {len(read)} samples are in it",
                    shown=True,
                )
            )
        aggregates += _aggregates(path, header, task, model, chosen, notes)
    return Outcomes(pd.DataFrame(rows), aggregates=tuple(aggregates), notes=tuple(notes))


def _open(path: Path) -> tuple[Any, list[Any]]:
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise BadRequest(
            f"{path} is an Inspect log; reading it needs inspect_ai: pip install "
            "'jaxbench[inspect]'"
        ) from None
    try:
        header = read_eval_log(str(path.resolve()), header_only=True)
        samples = list(read_eval_log_samples(str(path.resolve()), all_samples_required=False))
    # Whatever the library says about a file is about the file.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadRequest(f"{path} cannot be read as an Inspect log: {reason[:200]}") from None
    if not samples:
        raise BadRequest(f"{path} holds no samples (its status is {header.status})")
    return header, samples


def _rows(path: Path, samples: Sequence[Any], task: str, model: str) -> Iterator[dict[str, Any]]:
    for sample in samples:
        yield {
            "model": model, "task": task, "item_id": str(sample.id), "epoch": str(sample.epoch),
            "prompt_hash": prompt_hash(_prompt(sample)), "file": str(path),
            "scores": {
                name: score.value for name, score in (sample.scores or {}).items()
            },
        }  # fmt: skip


def _prompt(sample: Any) -> str:
    """What was asked: the input, message by message, and the choices."""
    if isinstance(sample.input, str):
        parts = [sample.input]
    else:
        parts = [f"{message.role}: {message.text}" for message in sample.input]
    return "\n".join([*parts, *(sample.choices or ())])


def _choose(
    path: Path, rows: Sequence[dict[str, Any]], options: ReadOptions
) -> tuple[str, str | None]:
    """The (scorer, key of its value) that the user named, or the only one."""
    there: dict[tuple[str, str | None], None] = {}
    for row in rows:
        for scorer, value in row["scores"].items():
            keys = list(value) if isinstance(value, dict) else [None]
            there.update(dict.fromkeys((scorer, key) for key in keys))
    if not there:
        raise BadRequest(f"{path}: no sample has a score")
    for wanted in options.score:
        found = [s for s in there if wanted in (s[0], _spell(s), s[1])]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise BadRequest(f"{path}: {wanted} has several values; choose {_list(found)}")
    if len(there) == 1 and not options.score:
        return next(iter(there))
    word = f"no score {' or '.join(options.score)}" if options.score else "several scores"
    raise BadRequest(f"{path}: {word}; choose {_list(there)}")


def _spell(score: tuple[str, str | None]) -> str:
    return score[0] if score[1] is None else f"{score[0]}/{score[1]}"


def _list(scores: Any) -> str:
    return " or ".join(f"score={_spell(s)}" for s in scores)


def _scored(path: Path, row: dict[str, Any], chosen: tuple[str, str | None]) -> dict[str, Any]:
    scorer, key = chosen
    value = row.pop("scores").get(scorer)
    if key is not None:
        value = value.get(key) if isinstance(value, dict) else None
    score = verdict(value)
    if score is None or not (0 <= score <= 1 or score != score):
        raise BadRequest(
            f"{path}: sample {row['item_id']}: {_spell(chosen)} is {str(value)[:40]!r}, expected a "
            "number in [0, 1], true/false, or C, I, P or N"
        )
    return {**row, "score": score}


def _aggregates(
    path: Path, header: Any, task: str, model: str, chosen: tuple[str, str | None],
    notes: list[Note],
) -> list[Aggregate]:  # fmt: skip
    """The means that the log reports of this score, where they are means over epochs."""
    found = []
    scorer, key = chosen
    for entry in header.results.scores if header.results else []:
        if entry.scorer != scorer and entry.name != scorer:
            continue
        if key is not None and entry.name != key:
            continue
        if entry.reducer not in (None, "mean"):
            notes.append(
                Note(
                    f"{path.name} reduces epochs by {entry.reducer}; jaxbench takes their mean, "
                    "so the two are not compared",
                    shown=True,
                )
            )
            continue
        found += [
            Aggregate(model, task, f"{_spell(chosen)} {name}", float(metric.value), str(path))
            for name, metric in entry.metrics.items()
            if name in MEANS
        ]
    return found
