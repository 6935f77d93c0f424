"""What a reader hands on: one table of scores, whatever the format, and what was said about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from jaxbench.benchmark.provenance import SHOWN
from jaxbench.errors import some

# What an item carries beside its name; one value per item, whoever ran it.
FACTS = ("category", "subtask", "chance", "prompt_hash", "doc_hash")


@dataclass(frozen=True)
class Note:
    """A sentence on how the outcomes were read, for the record.

    `shown`: it is printed after a run as well. `names` (of models or items) follow the sentence,
    but for a record without names.
    """

    text: str
    names: tuple[str, ...] = ()
    shown: bool = False

    def spell(self, anonymise: bool) -> str:
        """The sentence as provenance holds it."""
        names = f": {some(self.names)}" if self.names and not anonymise else ""
        return f"{SHOWN if self.shown else ''}{self.text}{names}"


@dataclass(frozen=True)
class Aggregate:
    """A mean that the tool itself reports, in the scale of its scores.

    `items`: how many it says it is the mean of, if it does; `task` None: over all tasks;
    `source`: where it stands, for the user.
    """

    model: str
    task: str | None
    metric: str
    value: float
    source: str
    items: int | None = None


@dataclass(frozen=True)
class Outcomes:
    """Scores as read.

    `rows` has a row per score: `model`, `item_id`, `score` (a fraction; NaN: no verdict) and,
    where the format has them, `task`, `epoch` (text; tells repeats apart), `repeats` (runs that the
    score is the mean of), `file`, and the facts of `FACTS`. `items`, if given, is the universe: a
    row per item with `item_id` and perhaps `task` and facts. `absent`: models whose log leaves out
    every item with one score, and that score. `task_of`: the task of an item by its name, for
    items that no row has. `denominator`: what scores are multiples of one over,
    where the file says so; `file`: where the scores stand, if in one file.
    """

    rows: pd.DataFrame
    items: pd.DataFrame | None = None
    absent: Mapping[str, float] = field(default_factory=dict)
    task_of: Callable[[str], str] | None = None
    aggregates: tuple[Aggregate, ...] = ()
    notes: tuple[Note, ...] = ()
    denominator: int | None = None
    file: str | None = None
