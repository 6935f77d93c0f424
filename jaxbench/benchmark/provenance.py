"""Sentences of a provenance that others read facts from: the wording and its reading in one place.

A benchmark carries how it was read as sentences for people. A few of them are also looked for: how
many runs a score is the mean of, what tells prompts apart, what is missing or was left out.
"""

import re
from collections.abc import Sequence

# Printed after a run; the others only stand in the record.
SHOWN = "note: "
ON_GRID = "scores have no common denominator up to 10^6: rounded to a grid of 1e-6"
PROMPTS = {
    "text": "prompts are told apart by the hash of their text",
    "document": "prompts are told apart by the log's document hash",
    "item": "no hash of prompts or documents: every item counts as its own prompt",
}
_RUNS = re.compile(r"each score is the mean of (\d+)(?: to (\d+))? runs")
_MISSING = re.compile(r"(note: )?(missing|shared_prompts)\b")


def mean_of_runs(fewest: int, most: int) -> str:
    """That scores are means over repeats."""
    spread = str(fewest) if fewest == most else f"{fewest} to {most}"
    return f"each score is the mean of {spread} runs"


def runs(provenance: Sequence[str]) -> tuple[int, int] | None:
    """The fewest and most runs that a score is the mean of, or None where nobody said."""
    for found in filter(None, map(_RUNS.search, provenance)):
        return int(found[1]), int(found[2] or found[1])
    return None


def prompts_told_by(provenance: Sequence[str]) -> str | None:
    """What tells prompts apart: `text`, `document` or `item`; None where nobody said."""
    return next((kind for kind, said in PROMPTS.items() if said in provenance), None)


def what_is_missing(provenance: Sequence[str]) -> list[str]:
    """Sentences on what is missing or was left out; they begin with that word."""
    return [note.removeprefix(SHOWN) for note in provenance if _MISSING.match(note)]


def on_grid(provenance: Sequence[str]) -> bool:
    """Whether scores were rounded to the grid of 1e-6."""
    return any(note.startswith(ON_GRID) for note in provenance)
