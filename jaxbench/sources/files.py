"""Files as text and JSON, with errors that name file and line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxbench.errors import BadRequest

# Bytes that are looked at to tell what a file is.
HEAD = 2**16
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The bytes of a regular file, or the first of them.

    **Errors:** `BadRequest` where it cannot be read, or is empty.
    """
    try:
        # Opening a pipe would wait for a writer.
        if path.exists() and not path.is_file():
            raise BadRequest(f"{path} is not a regular file")
        with path.open("rb") as file:
            data = file.read(most)
    except FileNotFoundError:
        raise BadRequest(f"{path} is missing") from None
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {(error.strerror or '').lower()}") from None
    if not data.strip() or data in _MARKS:
        raise BadRequest(f"{path} is empty")
    return data


def encoding_of(data: bytes) -> str:
    """UTF-8, or what the mark at the start of the file says."""
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")


def start_of(head: bytes) -> str:
    """The first bytes of a file as text, as far as they are text, without a mark."""
    return head.decode(encoding_of(head), errors="replace").removeprefix("\ufeff")


def read_text(path: Path) -> str:
    """A whole file as text, without a mark.

    **Errors:** `BadRequest` naming the line that is not UTF-8 (or UTF-16 with a mark).
    """
    data = read_bytes(path)
    try:
        text = data.decode(encoding_of(data)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadRequest(
            f"{path}: line {line} is not {_spoken(data)}; save the file as UTF-8"
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise BadRequest(f"{path}: line {line} holds a zero byte; save the file as UTF-8")
    return text


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a JSON-lines file with their line numbers, one at a time.

    **Errors:** `BadRequest` naming the line that is no JSON object (the last one: the file may be
    cut off) or not UTF-8.
    """
    if encoding_of(read_bytes(path, HEAD)) == "utf-16":
        for number, line in enumerate(read_text(path).splitlines(keepends=True), start=1):
            if line.strip():
                yield number, _record(path, number, line)
        return
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise BadRequest(
                    f"{path}: line {number} is not UTF-8; save the file as UTF-8"
                ) from None
            if line.strip():
                yield number, _record(path, number, line)


def json_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a JSON-lines file, or of one JSON list (numbered from 1), as they come.

    **Errors:** those of `json_lines` and `read_json`.
    """
    head = read_bytes(path, HEAD)
    if head.decode(encoding_of(head), errors="replace").lstrip("\ufeff \t\r\n")[:1] != "[":
        yield from json_lines(path)
        return
    for number, record in enumerate(read_json(path), start=1):
        if not isinstance(record, dict):
            raise BadRequest(f"{path}: entry {number} is no JSON object")
        yield number, record


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        cut = "" if line.endswith("\n") else " (it is the last one: is the file cut off?)"
        raise BadRequest(f"{path}: line {number} is no JSON{cut}") from None
    if not isinstance(record, dict):
        raise BadRequest(f"{path}: line {number} is no JSON object")
    return record


def read_json(path: Path) -> Any:
    """A whole JSON file.

    **Errors:** `BadRequest` naming line and column where it is no JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except json.JSONDecodeError as error:
        end = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        cut = "; is the file cut off?" if end else ""
        raise BadRequest(
            f"{path}: no JSON at line {error.lineno}, column {error.colno}: {error.msg}{cut}"
        ) from None
    except RecursionError:
        raise BadRequest(f"{path}: no JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"{path}: no JSON that can be read: {str(error)[:80]}") from None


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; JSON itself would let the last of two equal keys win."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"{twice[:40]!r} stands more than once in one object; expected it once")
    return made


def _spoken(data: bytes) -> str:
    return "UTF-16" if encoding_of(data) == "utf-16" else "UTF-8"
