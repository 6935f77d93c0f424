"""From a table of scores to a benchmark: repeats, gaps, prompts and names, check after check."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from jaxbench.benchmark import Benchmark, anonymous
from jaxbench.benchmark.provenance import mean_of_runs
from jaxbench.errors import BadRequest, counted, some
from jaxbench.options import Protocol, ReadOptions
from jaxbench.sources.assembly.missing import keep_complete
from jaxbench.sources.assembly.prompts import choose_hashes, drop_shared
from jaxbench.sources.assembly.reconcile import reconcile
from jaxbench.sources.outcomes import Note, Outcomes

ONE_TASK = "all"


class _Cells(NamedTuple):
    """Scores by model and item: means over repeats, how many there are, and who is who."""

    models: list[str]
    items: pd.DataFrame
    scores: np.ndarray
    present: np.ndarray
    runs: np.ndarray


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
    rows, items = _keyed(rows, given, outcomes.task_of, notes)
    if outcomes.absent and universe is None:
        model, score = next(iter(outcomes.absent.items()))
        what = "failures" if score else "successes"
        raise BadRequest(
            f"the log of {model!r} holds only {what}, so the other items are not in it; give the "
            "list of all items with items=FILE"
        )
    cells = _cells(rows, items, outcomes.absent, notes)
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


def _keyed(
    rows: pd.DataFrame,
    given: pd.DataFrame | None,
    task_of: Callable[[str], str] | None,
    notes: list[Note],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and items under names of items that are distinct over tasks."""
    rows = rows.copy(deep=False)
    if given is not None:
        items = given.copy(deep=False)
        repeated = items["item_id"].duplicated()
        if repeated.any() and "task" in items and "task" in rows:
            items["item_id"], rows["item_id"] = _by_task(items), _by_task(rows)
            repeated = items["item_id"].duplicated()
            notes.append(Note("item ids stand in several tasks: items are named TASK/ID"))
        if twice := items["item_id"][repeated].unique().tolist():
            raise BadRequest(f"an item stands more than once in the list of items: {some(twice)}")
        place = pd.Index(items["item_id"]).get_indexer(pd.Index(rows["item_id"].astype(object)))
        if (place < 0).any():
            strange = rows["item_id"][place < 0]
            raise BadRequest(
                f"{strange.nunique()} items have scores but are not in the list of items: "
                f"{some(strange.astype(str).unique())}"
            )
        if "task" not in items:
            if "task" in rows:
                pairs = rows[["item_id", "task"]].drop_duplicates()
                if twice := pairs["item_id"][pairs["item_id"].duplicated()].unique().tolist():
                    raise BadRequest(
                        f"{len(twice)} item ids stand in several tasks ({some(map(str, twice))}); "
                        "give a column task in the list of items"
                    )
                first = pairs.set_index("item_id")["task"]
                known = items["item_id"].map(first.astype(object))
                if task_of:
                    known = known.where(known.notna(), items["item_id"].map(task_of))
                if first.nunique() == 1:
                    known = known.fillna(first.iloc[0])
                items["task"] = known
                if known.isna().any():
                    lack = items["item_id"][known.isna()].tolist()
                    raise BadRequest(
                        f"no task is known for {len(lack)} items ({some(lack)}); give a column "
                        "task in the list of items"
                    )
            else:
                items["task"] = ONE_TASK
        elif "task" in rows:
            rows = rows.drop(columns="task")
        return rows, items.reset_index(drop=True)
    if "task" not in rows:
        notes.append(Note("no task is named: all items are one task", shown=True))
        rows["task"] = ONE_TASK
    pairs = rows[["item_id", "task"]].drop_duplicates()
    if pairs["item_id"].duplicated().any():
        repeated = pairs["item_id"].duplicated(keep=False)
        notes.append(
            Note(
                f"{pairs['item_id'][repeated].nunique()} item ids stand in several tasks: items "
                "are named TASK/ID"
            )
        )
        rows["item_id"] = _by_task(rows)
        pairs = rows[["item_id", "task"]].drop_duplicates()
    return rows, pairs.astype(object).reset_index(drop=True)


def _by_task(frame: pd.DataFrame) -> pd.Series:
    return frame["task"].astype(str) + "/" + frame["item_id"].astype(str)


def _cells(
    rows: pd.DataFrame, items: pd.DataFrame, absent: Mapping[str, float], notes: list[Note]
) -> _Cells:
    models = sorted({str(m) for m in rows["model"].unique()} | set(absent))
    shape = len(models), len(items)
    model = pd.Index(models).get_indexer(pd.Index(rows["model"].astype(object)))
    item = pd.Index(items["item_id"]).get_indexer(pd.Index(rows["item_id"].astype(object)))
    cell = model * shape[1] + item
    scores = rows["score"].to_numpy(dtype=np.float64)
    known = ~np.isnan(scores)
    told = "epoch" in rows and bool(rows["epoch"].notna().all())
    _check_repeats(rows, cell, told, models, items)
    weight = rows["repeats"].to_numpy(dtype=np.float64) if "repeats" in rows else np.ones(len(rows))
    size = shape[0] * shape[1]
    runs = np.bincount(cell[known], weights=weight[known], minlength=size)
    sums = np.bincount(cell[known], weights=(scores * weight)[known], minlength=size)
    with np.errstate(invalid="ignore"):
        means = np.where(runs > 0, sums / np.where(runs > 0, runs, 1), np.nan).reshape(shape)
    present = (runs > 0).reshape(shape)
    if not known.all():
        lost = counted(int((~known).sum()), "row")
        notes.append(Note(f"missing: {lost} without a score"))
    for name, score in absent.items():
        row = models.index(name)
        means[row] = np.where(present[row], means[row], score)
        present[row] = True
    counts = runs[runs > 0]
    if "repeats" in rows or (counts > 1).any():
        low, high = int(counts.min()), int(counts.max())
        unmarked = not told and len(rows) > len(np.unique(cell))
        untold = ": rows of one model and item count as repeats" if unmarked else ""
        notes.append(Note(mean_of_runs(low, high) + untold, shown=unmarked))
    return _Cells(models, items, means, present, runs.reshape(shape))


def _check_repeats(
    rows: pd.DataFrame, cell: np.ndarray, told: bool, models: list[str], items: pd.DataFrame
) -> None:
    """Refuse several scores of one model on one item that nothing tells apart."""
    keys = pd.DataFrame(
        {"cell": cell, "epoch": rows["epoch"].astype(str)} if told else {"cell": cell}
    )
    again = keys.duplicated(keep=False).to_numpy()
    if not again.any():
        return
    times = np.bincount(cell)
    alike = len(np.unique(times[times > 0])) == 1
    if not told and alike and all(_one_each(rows, cell, c) for c in ("file", "prompt_hash")):
        # The same number of rows for every model and item: these are repeats. Two logs of a
        # model, or two prompts, are not simply that.
        return
    first = int(np.argmax(again))
    same = np.flatnonzero((keys == keys.iloc[first]).all(axis=1).to_numpy())
    files = list(dict.fromkeys(rows["file"].iloc[same].astype(str))) if "file" in rows else []
    m, i = divmod(int(cell[first]), len(items))
    # Files of one name lie in different folders.
    deep = next((d for d in (1, 2) if len({Path(f).parts[-d:] for f in files}) == len(files)), 99)
    names = [Path(*Path(f).parts[-deep:]).as_posix() for f in files]
    where = f" (in {some(names)})" if len(files) > 1 else ""
    if not where and not told and not _one_each(rows, cell, "prompt_hash"):
        where = " (of different prompts)"
    epoch = f" in epoch {rows['epoch'].iloc[first]}" if told and rows["epoch"].iloc[first] else ""
    hint = "leave out all but one of these files" if len(files) > 1 else "leave out the others"
    if not told:
        hint += "; in tables, columns={epoch:NAME} names the column that tells repeats apart" + (
            ", and files of several tasks need a column task" if len(files) > 1 else ""
        )
    raise BadRequest(
        f"model {models[m]!r} has {len(same)} scores for item {items['item_id'].iloc[i]!r}{epoch}"
        f"{where}, expected one; {hint}"
    )


def _one_each(rows: pd.DataFrame, cell: np.ndarray, column: str) -> bool:
    """Whether no cell has rows with two values in a column, if there is one."""
    if column not in rows:
        return True
    pairs = pd.DataFrame({"cell": cell, column: rows[column].astype(str)}).drop_duplicates()
    return not pairs["cell"].duplicated().any()
