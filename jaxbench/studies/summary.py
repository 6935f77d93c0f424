"""The summary of a sweep, from its shards."""

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from jaxbench import metrics
from jaxbench.engine import Condition, Evaluator
from jaxbench.store import Store
from jaxbench.studies.cells import CellPlan, SweepPlan, conditions_of
from jaxbench.studies.figures import own_columns
from jaxbench.studies.shards import read_parts, read_trials

Trials = Callable[[pd.DataFrame], None]


def summarise(plan: SweepPlan, shards: Store, trials: Trials | None = None) -> pd.DataFrame:
    """One row per condition of the study and budget: means with 95 % bootstrap intervals.

    **Arguments:** `trials`: takes the tables of trials, cell by cell, where they were saved.
    """
    tables = [
        table
        for cell_plan, cell, _ in plan.open(plan.cells)
        for table in _cell(cell_plan, cell.evaluator, shards, trials)
    ]
    return pd.concat(tables, ignore_index=True)


def condition_columns(
    evaluator: Evaluator, condition: Condition, varied: Mapping[str, object]
) -> dict[str, object]:
    """What tells a condition of a study from the others."""
    front: dict[str, object] = {
        "benchmark": evaluator.benchmark.name,
        "endpoints": condition.rule,
        "interface": condition.interface,
        "mechanism": condition.mechanism_name,
        "coordinates": evaluator.coordinates(condition),
    }
    own = {key: varied[key] for key in own_columns(list(varied))}
    if "precision" in own:
        own["precision"] = "exact" if condition.precision is None else condition.precision
    if "reused_items" in own:
        own["reused_items"] = "all" if condition.reused_items is None else condition.reused_items
    return front | own


def _cell(
    cell: CellPlan, evaluator: Evaluator, shards: Store, trials: Trials | None
) -> Iterator[pd.DataFrame]:
    request = cell.request
    summaries = {
        (c, bank): cell.empty_summary(bank)
        for c in range(len(evaluator.conditions))
        for bank in range(request.banks)
    }
    rows = conditions_of(cell, evaluator)
    fronts = [condition_columns(evaluator, c, row.varied) for c, row in rows]
    places = [evaluator.conditions.index(c) for c, _ in rows]
    for shard, table in shards.tables(cell.group(1).shards()):
        if not request.save_trials:
            for c, bank, part in read_parts(table):
                summaries[c, bank].add_part(part)
            continue
        for c, bank, frame in read_trials(table):
            summaries[c, bank].add_part(cell.part(bank, frame, shard.first, shard.last))
            if trials and bank == 0:
                for front, place in zip(fronts, places, strict=True):
                    if place == c:
                        trials(_behind(front, frame))
    for front, place, (_, row) in zip(fronts, places, rows, strict=True):
        table = summaries[place, 0].table(resamples=row.resamples, seed=row.bootstrap_seed)
        if request.banks > 1:
            means = [summaries[place, bank].means() for bank in range(request.banks)]
            table = pd.concat([table, metrics.bank_spread(means)], axis=1)
        yield _behind(front, table)


def _behind(front: Mapping[str, object], table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([pd.DataFrame(dict(front), index=table.index), table], axis=1)
