"""Inspect logs (`.eval` and `.json`), through the log reader of inspect_ai."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from jaxbench.errors import BadRequest, counted
from jaxbench.options import ReadOptions
from jaxbench.sources.files import read_bytes
from jaxbench.sources.outcomes import Aggregate, Note, Outcomes
from jaxbench.sources.prompt_text import prompt_hash
from jaxbench.sources.score_values import verdict

# Metrics of inspect_ai that are means of the samples' scores.
MEANS = ("accuracy", "mean")

Chosen = tuple[str, str | None]  # a scorer and, where its value is an object, a key of that


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
        header, samples = _read(path)
        task, model = str(header.eval.task), str(header.eval.model)
        chosen = _choose(path, samples, options)
        shared = {"model": model, "task": task, "file": str(path)}
        rows += [_scored(path, shared | sample, chosen, options) for sample in samples]
        if header.status != "success":
            told = (
                f"a log ended with status {header.status} and has {counted(len(samples), 'sample')}"
            )
            notes.append(Note(told, (path.name,), shown=True))
        means, told = _aggregates(path, header, task, model, chosen, options)
        aggregates += means
        notes += told
    return Outcomes(pd.DataFrame(rows), aggregates=tuple(aggregates), notes=tuple(notes))


def _read(path: Path) -> tuple[Any, list[dict[str, Any]]]:
    """The header of a log, and what is needed of every sample."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise BadRequest(
            f"{path} is an Inspect log; reading it needs inspect_ai: pip install "
            "'jaxbench[inspect]' (in a checkout '.[inspect]')"
        ) from None
    # By content: inspect_ai goes by the suffix of the name.
    form: Literal["eval", "json"] = "eval" if read_bytes(path, 4) == b"PK\x03\x04" else "json"
    place = str(path.resolve())
    try:
        header = read_eval_log(place, header_only=form == "eval", format=form)
        if form == "eval" and header.eval.dataset.sample_ids is not None:
            # One at a time: transcripts are far longer than what is taken of them.
            found = read_eval_log_samples(place, all_samples_required=False, format=form)
        else:
            whole = header if form == "json" else read_eval_log(place, format=form)
            found = whole.samples or ()
        samples = [_taken(sample) for sample in found]
    # Whatever the library says about a file is about the file.
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = ": ".join(lines[:3]) or type(error).__name__
        raise BadRequest(f"{path} cannot be read as an Inspect log: {reason[:200]}") from None
    if not samples:
        raise BadRequest(f"{path} holds no samples (its status is {header.status})")
    return header, samples


def _taken(sample: Any) -> dict[str, Any]:
    return {
        "item_id": str(sample.id),
        "epoch": str(sample.epoch),
        "prompt_hash": prompt_hash("\n".join(_prompt(sample))),
        "scores": {name: score.value for name, score in (sample.scores or {}).items()},
    }


def _prompt(sample: Any) -> Iterator[str]:
    """What was asked: the input, message by message, and the choices."""
    if isinstance(sample.input, str):
        yield sample.input
    else:
        for message in sample.input:
            content = message.content
            parts = [content] if isinstance(content, str) else [_part(part) for part in content]
            yield f"{message.role}: " + "\n".join(parts)
    yield from sample.choices or ()


def _part(part: Any) -> str:
    """A part of a message: its text, or the picture or sound as it is written."""
    return str(getattr(part, part.type, ""))


def _choose(path: Path, samples: Sequence[dict[str, Any]], options: ReadOptions) -> Chosen:
    """The (scorer, key of its value) that the user named, or the only one."""
    there: dict[Chosen, None] = {}
    for sample in samples:
        for scorer, value in sample["scores"].items():
            keys = list(value) if isinstance(value, dict) else [None]
            there.update(dict.fromkeys((scorer, key) for key in keys))
    # Where a scorer gives objects, a lone value is that of a sample without a score.
    keyed = {scorer for scorer, key in there if key is not None}
    found = [s for s in there if s[1] is not None or s[0] not in keyed]
    if not found:
        raise BadRequest(f"{path}: no sample has a score")
    for wanted in options.score:
        named = [s for s in found if wanted in (s[0], _spell(s), s[1])]
        if len(named) == 1:
            return named[0]
        if len(named) > 1:
            raise BadRequest(f"{path}: {wanted} has several values; choose {_list(named)}")
    if len(found) == 1 and not options.score:
        return found[0]
    word = f"no score {' or '.join(options.score)}" if options.score else "several scores"
    raise BadRequest(f"{path}: {word}; choose {_list(found)}")


def _spell(score: Chosen) -> str:
    return score[0] if score[1] is None else f"{score[0]}/{score[1]}"


def _list(scores: Sequence[Chosen]) -> str:
    return " or ".join(f"score={_spell(s)}" for s in scores)


def _scored(
    path: Path, row: dict[str, Any], chosen: Chosen, options: ReadOptions
) -> dict[str, object]:
    scorer, key = chosen
    value = row.pop("scores").get(scorer)
    if key is not None:
        value = value.get(key) if isinstance(value, dict) else None
    score = verdict(value)
    perfect = float(options.max_score or 1)
    if score is None or not (0 <= score <= perfect or score != score):
        raise BadRequest(
            f"{path}: sample {row['item_id']}: {_spell(chosen)} is {str(value)[:40]!r}, expected a "
            f"number in [0, {perfect:g}], true/false, or C, I, P or N"
        )
    return {**row, "score": score / perfect}


def _aggregates(
    path: Path, header: Any, task: str, model: str, chosen: Chosen, options: ReadOptions
) -> tuple[list[Aggregate], list[Note]]:
    """The means that the log reports of this score, where they are means over epochs."""
    found, notes = [], []
    scorer, key = chosen
    entries = (header.results.scores if header.results else None) or []
    # A key of one scorer may be the name of another.
    mine = [e for e in entries if e.scorer == scorer] or [e for e in entries if e.name == scorer]
    for entry in mine:
        if key is not None and entry.name != key:
            continue
        if entry.reducer not in (None, "mean"):
            told = (
                f"a log reduces epochs by {entry.reducer}; jaxbench takes their mean, so the two "
                "are not compared"
            )
            notes.append(Note(told, (path.name,), shown=True))
            continue
        found += [
            Aggregate(
                model, task, f"{_spell(chosen)} {name}",
                float(metric.value) / float(options.max_score or 1), str(path),
            )
            for name, metric in entry.metrics.items()
            if name in MEANS
        ]  # fmt: skip
    return found, notes
