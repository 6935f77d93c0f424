"""What a file is, from its first bytes: keys of its JSON, columns of its table."""

import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources.files import HEAD, encoding_of, read_bytes, read_json
from jaxbench.sources.tables import tabular
from jaxbench.sources.tables.choosing import listed
from jaxbench.sources.tables.roles import find_roles, score_candidates, spelled
from jaxbench.sources.tables.wide_table import MODEL_NAMES, orientation

# A long table, but for its scores: its reader says what is missing.
UNSCORED = "unscored table"
# What could be a file of results; other files in a folder are passed over.
SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".pq", ".eval")


@dataclass(frozen=True)
class Sniffed:
    """A file and what it seems to be.

    `format` is None where it is nothing that is known; `part` tells the files of one format apart
    (rows, or the tool's own means about them); `seen`: what was found, for the user.
    """

    path: Path
    format: str | None
    part: str
    seen: str


def sniff(path: Path, options: ReadOptions) -> Sniffed:
    """Tell what a file is.

    **Errors:** `BadRequest` where it cannot be read at all.
    """
    head = read_bytes(path, HEAD)
    if head.startswith(b"PK\x03\x04"):
        return _zip(path)
    if not head.startswith(tabular.PARQUET):
        start = head.decode(encoding_of(head), errors="replace").lstrip("\ufeff \t\r\n")
        if start[:1] == "{":
            found = _object(path, start)
            if found is not None:
                return found
    return _table(path, head, options)


def _zip(path: Path) -> Sniffed:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError) as error:
        raise BadRequest(f"{path} is a damaged zip archive: {error}") from None
    if "header.json" in names or "_journal/start.json" in names:
        return Sniffed(path, "inspect", "log", "an Inspect log")
    return Sniffed(path, None, "", f"a zip archive with {', '.join(names[:3])}")


def _object(path: Path, start: str) -> Sniffed | None:
    """A JSON object or JSON lines; None where it could be a table of records."""
    keys, inner, whole = top_keys(start)
    names = set(keys)
    seen = f"JSON with {listed(keys)}"
    record = _first_record(start)
    if record is not None:
        if is_lm_eval(names):
            return Sniffed(path, "lm_eval", "samples", seen)
        # What follows the keys of a long record may lie beyond what is looked at.
        if {"evaluation_id", "sample_id"} <= names and names & {"model_id", "evaluation"}:
            return Sniffed(path, "every_eval_ever", "samples", seen)
        if {"subject_id", "responses"} <= names:
            return Sniffed(path, "responses", "responses", seen)
    if "evaluation_results" in names and "model_info" in names:
        return Sniffed(path, "every_eval_ever", "aggregate", seen)
    if "results" in names and names & {"configs", "n-shot", "group_subtasks", "versions"}:
        return Sniffed(path, "lm_eval", "results", seen)
    if {"eval", "version"} <= names and names & {"status", "plan", "samples", "results", "stats"}:
        return Sniffed(path, "inspect", "log", seen)
    # The lists of a report can be longer than what is looked at; the counts come first.
    if "resolved_ids" in names or {"resolved_instances", "total_instances"} <= names:
        return Sniffed(path, "swe_bench", "report", seen)
    if "resolved" in names and names <= {"resolved", "no_generation", "no_logs"} | _EXTRA:
        return Sniffed(path, "swe_bench", "results", seen)
    if "resolved" in inner and "resolved" not in names:
        if "patch_exists" in inner or "patch_is_None" in inner:
            seen = "the report of one instance; the harness sums them up in MODEL.RUN.json"
        # SWE-bench/experiments also counts what was resolved by repository and by year.
        elif re.search(r'"resolved"\s*:\s*(true|false)', start):
            return Sniffed(path, "swe_bench", "details", seen)
        return Sniffed(path, None, "", seen)
    if unread := _unread(path, keys):
        return unread
    # A file that is seen as a whole can be told to be cut off.
    if record is None and whole and len(start) < HEAD // 4:
        read_json(path)
    # One object over several lines is no record of a table.
    return None if record is not None or not whole else Sniffed(path, None, "", seen)


def is_lm_eval(names: set[str]) -> bool:
    """Whether these are keys of a row that lm_eval wrote."""
    return "doc_id" in names and bool(names & {"doc", "filtered_resps"})


# Lists that some SWE-bench results files have beside `resolved`.
_EXTRA = {
    "generated", "with_logs", "applied", "install_fail", "reset_failed", "test_errored",
    "test_timeout", "no_apply", "patch_is_None", "patch_exists", "patch_successfully_applied",
}  # fmt: skip
# Known by these keys or columns, and not read yet.
UNREAD = {
    "BFCL scores": {"accuracy", "correct_count", "total_count"},
    "EvalPlus results": {"eval", "hash", "date"},
    "AlpacaEval annotations": {"instruction", "preference", "generator_2"},
    "lighteval details": {"doc", "metric", "model_response"},
    "HELM statistics": {"instance_id", "train_trial_index", "stats"},
    "HELM scenario state": {"adapter_spec", "request_states"},
    "LiveBench judgments": {"question_id", "answer_id", "tstamp"},
}  # fmt: skip


def _unread(path: Path, names: Sequence[str]) -> Sniffed | None:
    """A format that is known but not read, or None."""
    for word, marks in UNREAD.items():
        if marks <= set(names):
            return Sniffed(path, None, "", f"{word}, which jaxbench does not read yet")
    return None


def _first_record(start: str) -> dict | None:
    """The object on the first line, if that line is one."""
    line = start.split("\n", 1)[0].strip()
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        # A first record longer than what was looked at: its keys are seen all the same.
        return (
            {} if "\n" not in start and len(start) > 1000 and not start.startswith("{\n") else None
        )
    return record if isinstance(record, dict) else None


def top_keys(text: str) -> tuple[list[str], list[str], bool]:
    """Keys of a JSON object and of the first object within it, as far as the text goes.

    Also whether the text is one object (and not the first of several lines).
    """
    keys: list[str] = []
    inner: list[str] = []
    depth, place = 0, 0
    # A string that is cut off ends the text: what is in it must not be taken for keys.
    token = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(\s*:)?|\\?\Z)|[{}\[\]]', re.DOTALL)
    first_inner = True
    for match in token.finditer(text):
        mark = match.group(0)
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth == 1 and inner:
                first_inner = False
            if depth == 0:
                place = match.end()
                break
        elif match.group(2) and depth == 1:
            keys.append(match.group(1))
        elif match.group(2) and depth == 2 and first_inner:
            inner.append(match.group(1))
    return keys, inner, not text[place:].strip() if place else True


def _table(path: Path, head: bytes, options: ReadOptions) -> Sniffed:
    names = tabular.column_names(path, head)
    seen = f"columns {listed(names)}"
    if is_lm_eval(set(names)):
        return Sniffed(path, "lm_eval", "samples", seen)
    if not names or (len(names) < 2 and not options.columns):
        return Sniffed(path, None, "", seen if names else "no columns")
    if unread := _unread(path, names):
        return unread
    known = {role: column for role, column in options.columns.items() if column in names}
    roles = find_roles(names, known, options.score, path)
    scored = "score" in roles or bool(score_candidates(names, roles))
    # Several columns of scores by names of their own, and none of models: those are the models.
    if len(options.score) > 1 and "model" not in roles and not score_candidates(names, roles):
        scored = False
    # A table that names models and items is long, whatever its column of scores is called.
    models = "model" in known or any(spelled(name) in MODEL_NAMES for name in names)
    if "item_id" in roles and (scored or models):
        return Sniffed(path, "long" if scored else None, UNSCORED if not scored else "table", seen)
    plain = {spelled(name) for name in names}
    text_like = {"model_patch", "trajectory", "messages", "output", "completion"}
    if not scored and not plain & text_like and len(names) > 2 and orientation(names, options):
        return Sniffed(path, "wide", "table", seen)
    named = "columns={model:NAME,item_id:NAME,score:NAME} (a wide table: only item_id)"
    return Sniffed(path, None, "", f"{seen}: name them with {named}")


def describe(sniffed: Sequence[Sniffed]) -> str:
    """What was found, for a refusal."""
    return "; ".join(f"{s.path.name}: {s.seen}" for s in sniffed[:3])
