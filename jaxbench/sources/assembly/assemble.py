"""From a table of scores to a benchmark: repeats, gaps, prompts and names, check after check."""

import numpy as np
import pandas as pd

from jaxbench.benchmark import Benchmark, anonymous
from jaxbench.errors import BadRequest, some
from jaxbench.options import Protocol, ReadOptions
from jaxbench.sources.assembly.cells import cells_of
from jaxbench.sources.assembly.keys import keyed
from jaxbench.sources.assembly.missing import keep_complete
from jaxbench.sources.assembly.prompts import choose_hashes, drop_shared
from jaxbench.sources.assembly.reconcile import reconcile
from jaxbench.sources.outcomes import Note, Outcomes


def assemble(
    outcomes: Outcomes,
    options: ReadOptions,
    *,
    name: str,
    source: str,
    universe: pd.DataFrame | None = None,
    protocol: Protocol | None = None,
) -> Benchmark:
    """Make a benchmark of what a reader found.

    **Arguments:** `source`: the file or folder, for errors; `universe`: every item of the
    benchmark, from `items=`.

    **Errors:** `BadRequest` for repeats that cannot be told apart, gaps, an item that is two
    things, a prompt in two tasks, or means that are not those the tool reports.
    """
    try:
        return _assemble(outcomes, options, name, universe, protocol)
    except BadRequest as refusal:
        if str(refusal).startswith(source):
            raise
        raise BadRequest(f"{outcomes.file or source}: {refusal}") from None


def _assemble(
    outcomes: Outcomes,
    options: ReadOptions,
    name: str,
    universe: pd.DataFrame | None,
    protocol: Protocol | None,
) -> Benchmark:
    notes = list(outcomes.notes)
    rows = outcomes.rows
    if rows.empty:
        raise BadRequest("no scores were found")
    given = universe if universe is not None else outcomes.items
    rows, items = keyed(rows, given, outcomes.task_of, notes)
    if outcomes.absent and universe is None:
        model, score = next(iter(outcomes.absent.items()))
        what = "failures" if score else "successes"
        raise BadRequest(
            f"the log of {model!r} holds only {what}, so the other items are not in it; give the "
            "list of all items with items=FILE"
        )
    cells = cells_of(rows, items, outcomes.absent, notes)
    notes += reconcile(cells.models, cells.items, cells.scores, outcomes.aggregates, options)
    facts, hashes = choose_hashes(rows, cells.items, notes)
    models, kept, told = keep_complete(
        cells.present, cells.models, cells.items["item_id"].tolist(), options.missing
    )
    notes += told
    facts = facts.assign(hash=hashes)[kept]
    scores = cells.scores[np.ix_(models, kept)]
    if options.shared_prompts == "drop":
        stay, told = drop_shared(*(facts[c].tolist() for c in ("hash", "task", "item_id")))
        notes += told
        facts, scores = facts[stay], scores[:, stay]
    if gone := set(cells.items["task"]) - set(facts["task"]):
        notes.append(Note(f"{len(gone)} tasks have no item left: {some(sorted(gone))}", shown=True))
    benchmark = Benchmark.from_scores(
        scores,
        models=[m for m, stays in zip(cells.models, models, strict=True) if stays],
        items=facts["item_id"].tolist(),
        tasks=facts["task"].tolist(),
        prompt_hashes=facts["hash"].tolist(),
        categories=_fact(facts, "category"),
        subtasks=_fact(facts, "subtask"),
        chances=_fact(facts, "chance"),
        name=name,
        protocol=protocol,
        denominator=outcomes.denominator,
        provenance=[note.spell(options.anonymise) for note in notes],
        keep_shared_prompts=options.shared_prompts == "keep",
    )
    return anonymous(benchmark) if options.anonymise else benchmark


def _fact(facts: pd.DataFrame, name: str) -> list | None:
    """A fact that every item has, or None."""
    if name not in facts or facts[name].isna().any():
        return None
    return facts[name].tolist()
