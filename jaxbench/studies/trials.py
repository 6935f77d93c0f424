"""The columns of `trials.parquet` of a sweep, whichever condition is written first."""

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from jaxbench.options.parse import show
from jaxbench.studies.cells import SweepPlan
from jaxbench.studies.figures import CONDITION_COLUMNS, own_columns
from jaxbench.studies.shards import BANK, CONDITION, TYPES

# Columns in which a number may stand beside a word (`exact`, `all`).
WORDS = {"precision": "exact", "reused_items": "all"}


def trial_types(plan: SweepPlan) -> dict[str, pa.DataType]:
    """The types of columns that are not float64, and of those that some condition may not have."""
    types = dict.fromkeys(CONDITION_COLUMNS, pa.string()) | {"coordinates": pa.int64()}
    rows = [row for cell in plan.cells for row in cell.rows]
    for key in own_columns(plan.study.varied):
        values = [row.varied[key] for row in rows]
        types[key] = _type([WORDS.get(key) if v is None else v for v in values])
    for name, kind in TYPES.items():
        if name not in (CONDITION, BANK):
            types[name] = pa.string() if pa.types.is_dictionary(kind) else kind
    measured = dict.fromkeys(metric for cell in plan.cells for metric in cell.metrics)
    return types | dict.fromkeys(measured, pa.float64())


def typed(frame: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """A table of trials with these columns; what it does not have is empty."""
    columns = []
    for field in schema:
        if field.name not in frame:
            columns.append(pa.nulls(len(frame), field.type))
            continue
        values = frame[field.name]
        if pa.types.is_string(field.type) and not isinstance(values.dtype, pd.CategoricalDtype):
            values = values.map(show, na_action="ignore")
        columns.append(pa.Array.from_pandas(values).cast(field.type))
    return pa.table(columns, schema=schema)


def _type(values: Sequence[object]) -> pa.DataType:
    """The narrowest type of all values; text where they have none in common."""
    kinds = {type(value) for value in values if value is not None}
    for kind, found in ((bool, pa.bool_()), (int, pa.int64()), (float, pa.float64())):
        if kinds == {kind}:
            # Seeds may be larger than a signed number.
            largest = max((abs(v) for v in values if type(v) is int), default=0)
            return pa.string() if largest >= 2**63 else found
    return pa.float64() if kinds == {int, float} else pa.string()
