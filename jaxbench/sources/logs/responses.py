"""Outcomes as one JSON object a line: a model and its answers.

`{"subject_id": "model", "responses": {"item": 0, ...}}`, where an answer is 0, 1, true, false or
`{"successes": 4, "trials": 5}`; a pair without a trial says nothing and is left out. Other entries
of a line (`metadata`) are ignored.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources.files import once_each, read_bytes
from jaxbench.sources.outcomes import Outcomes

FORM = '{"subject_id": MODEL, "responses": {ITEM: 0 or 1, ...}}'
ANSWER = '0, 1 or {"successes": N, "trials": N}'


def read_responses(path: Path) -> pd.DataFrame:
    """The outcomes of a file, long: `model`, `item_id`, `score` in [0, 1], `repeats` (trials).

    Models may have answered different items; rows stand in the order of the file.

    **Errors:** `BadRequest` naming file and line: no file, no UTF-8, a line that is no JSON of this
    form, a model or item that stands twice, an answer of another kind, no outcome at all.
    """
    models: list[str] = []
    items: list[str] = []
    scores: list[float] = []
    repeats: list[int] = []
    first: dict[str, int] = {}
    for number, record in read_lines(path, FORM):
        where = f"{path}: line {number}"
        model = _name(record.get("subject_id"), "subject_id", where)
        if model in first:
            raise BadRequest(
                f"{where} holds {model!r} again, which stands in line {first[model]}; expected one "
                "line per model"
            )
        first[model] = number
        answers = record.get("responses")
        if not isinstance(answers, dict) or not answers:
            raise BadRequest(f"{where} ({model!r}) has no responses; expected {FORM}")
        for item, answer in answers.items():
            _name(item, "an item id", where)
            score, trials = _answer(answer, f"{where} ({model!r}), item {item!r}")
            if trials:
                models.append(model)
                items.append(item)
                scores.append(score)
                repeats.append(trials)
    if not models:
        raise BadRequest(f"{path}: every model has 0 trials on every item")
    return pd.DataFrame({"model": models, "item_id": items, "score": scores, "repeats": repeats})


def read_response_files(files: Sequence[Path], options: ReadOptions) -> Outcomes:
    """Files of responses as a benchmark of the user's.

    **Errors:** those of `read_responses`.
    """
    rows = pd.concat([read_responses(path).assign(file=str(path)) for path in files])
    return Outcomes(rows.reset_index(drop=True))


def read_lines(path: Path, form: str) -> Iterator[tuple[int, dict]]:
    """The JSON objects of a file and the numbers of their lines; empty lines are passed over.

    **Errors:** `BadRequest` naming file and line; `form`: what a line should be, for the message.
    """
    content = read_bytes(path)
    for number, line in enumerate(content.split(b"\n"), start=1):
        where = f"{path}: line {number}"
        try:
            # A byte order mark is what some editors put first.
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadRequest(
                f"{where} is not UTF-8 (byte {error.start + 1} is {line[error.start]:#04x}); save "
                "the file as UTF-8"
            ) from None
        if not text.strip():
            continue
        try:
            record = json.loads(text, object_pairs_hook=once_each, parse_constant=_no_number)
        except RecursionError:
            raise BadRequest(f"{where} is nested too deeply; expected {form}") from None
        except json.JSONDecodeError as error:
            raise BadRequest(
                f"{where} is not JSON ({error.msg} at character {error.colno} of {len(text)}); "
                f"expected {form}, and a line that ends early means a file that was cut off"
            ) from None
        except ValueError as error:
            raise BadRequest(f"{where}: {error}") from None
        if not isinstance(record, dict):
            raise BadRequest(f"{where} holds {_show(record)}; expected {form}")
        yield number, record


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number; expected {ANSWER}")


def _name(value: object, what: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadRequest(f"{where}: {what} is {_show(value)}, expected a name")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{where}: {what} {value!a} holds half a character") from None
    return value


def _answer(value: object, where: str) -> tuple[float, int]:
    """Score and trials of one answer."""
    if isinstance(value, bool | int | float) and value in (0, 1):
        return float(value), 1
    if isinstance(value, Mapping) and {"successes", "trials"} <= set(value):
        successes, trials = value["successes"], value["trials"]
        whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (successes, trials))
        if whole and 0 <= successes <= trials:
            return (successes / trials if trials else 0.0), trials
        raise BadRequest(
            f"{where}: {_show(successes)} successes in {_show(trials)} trials, expected whole "
            "numbers, and no more successes than trials"
        )
    raise BadRequest(f"{where}: the answer is {_show(value)}, expected {ANSWER}")


def _show(value: object, longest: int = 60) -> str:
    text = json.dumps(value)
    return text if len(text) <= longest else f"{text[:longest]}..."
