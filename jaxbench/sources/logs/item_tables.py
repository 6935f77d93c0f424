"""Items of the named benchmarks: their tasks, categories and prompt hashes.

Every table has the columns `item_id`, `task`, `category` and `prompt_hash`, one row per item, in
the order of the ids that were given.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from jaxbench.errors import BadRequest, some
from jaxbench.sources.logs.responses import read_lines
from jaxbench.sources.prompt_text import prompt_hash

# OWNER__REPOSITORY-NUMBER, or -COMMIT with what builders of SWE-bench Pro append to it.
INSTANCE = re.compile(r"(?:instance_)?([^/\s]+?)__([^/\s]+?)-(?:\d+|[0-9a-f]{40}(?:-v\w+)?)")
SOFTWARE = "software engineering"
# The main language of every repository of SWE-bench Pro's public set.
LANGUAGES = {
    "NodeBB/NodeBB": "js/ts",
    "ansible/ansible": "python",
    "element-hq/element-web": "js/ts",
    "flipt-io/flipt": "go",
    "future-architect/vuls": "go",
    "gravitational/teleport": "go",
    "internetarchive/openlibrary": "python",
    "navidrome/navidrome": "go",
    "protonmail/webclients": "js/ts",
    "qutebrowser/qutebrowser": "python",
    "tutao/tutanota": "js/ts",
}
TASK_FORM = (
    '{"task_id": ITEM, "category": TASK, "difficulty": CATEGORY, "problem_statement": PROMPT}'
)


def repository(item: str) -> str:
    """The repository `owner/name` that a SWE-bench instance id names.

    **Errors:** `BadRequest` for an id of another form.
    """
    match = INSTANCE.fullmatch(item)
    if match is None:
        raise BadRequest(
            f"item {item!r} is no SWE-bench instance; expected OWNER__REPOSITORY-NUMBER"
        )
    return f"{match[1]}/{match[2]}"


def swe_verified_items(items: Sequence[str]) -> pd.DataFrame:
    """SWE-bench Verified: the task is the repository, the prompt hash that of the instance id.

    **Errors:** `BadRequest` for an id that is no instance.
    """
    return _instances(items, dict.fromkeys(map(repository, items), SOFTWARE))


def swe_pro_items(items: Sequence[str]) -> pd.DataFrame:
    """SWE-bench Pro: the task is the repository, the category its main language.

    **Errors:** `BadRequest` for an id that is no instance, or of a repository with no known
    language.
    """
    return _instances(items, LANGUAGES)


def terminal_bench_items(items: Sequence[str], path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Terminal-Bench: items of `tasks.jsonl`, and a note on tasks there that no system answered.

    The task is the category of the record, the category its difficulty; the prompt hash is that of
    the problem statement with every run of white space as one space.

    **Errors:** `BadRequest` naming file and line of a record, or the items that have none.
    """
    records: dict[str, dict[str, str]] = {}
    for number, record in read_lines(path, TASK_FORM):
        where = f"{path}: line {number}"
        entries = {
            entry: _text(record, entry, where)
            for entry in ("task_id", "category", "difficulty", "problem_statement")
        }
        if entries["task_id"] in records:
            raise BadRequest(f"{where} holds task {entries['task_id']!r} again; expected it once")
        records[entries["task_id"]] = entries
    if unknown := [item for item in items if item not in records]:
        raise BadRequest(
            f"{path} has no record of {len(unknown)} of {len(items)} items that systems answered: "
            f"{some(unknown)}"
        )
    unanswered = sorted(set(records) - set(items))
    notes = []
    if unanswered:
        notes.append(
            f"{len(unanswered)} of the {len(records)} tasks in {path.name} were answered by no "
            f"system and are left out: {some(unanswered)}"
        )
    chosen = [records[item] for item in items]
    table = pd.DataFrame(
        {
            "item_id": list(items),
            "task": [record["category"] for record in chosen],
            "category": [record["difficulty"] for record in chosen],
            "prompt_hash": [prompt_hash(record["problem_statement"]) for record in chosen],
        }
    )
    return table, notes


def _instances(items: Sequence[str], categories: dict[str, str]) -> pd.DataFrame:
    tasks = [repository(item) for item in items]
    if unknown := sorted(set(tasks) - set(categories)):
        raise BadRequest(f"no language is known for repository {some(unknown)}")
    return pd.DataFrame(
        {
            "item_id": list(items),
            "task": tasks,
            "category": [categories[task] for task in tasks],
            "prompt_hash": [prompt_hash(item) for item in items],
        }
    )


def _text(record: dict, entry: str, where: str) -> str:
    value = record.get(entry)
    if not isinstance(value, str) or not value.strip():
        raise BadRequest(f"{where} has no {entry}; expected {TASK_FORM}")
    return value
