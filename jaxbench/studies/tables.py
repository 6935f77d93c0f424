"""The tables that a study asks for beside its summary."""

import pandas as pd

from jaxbench.options.study import Study
from jaxbench.studies.contraction import contraction_table, false_winner_table
from jaxbench.studies.policies import policies_of

# Every table that some study may have: a file each, under this name.
CONTRACTION, FALSE_WINNERS, POLICIES = "contraction", "false_winners", "policies"
TABLES = (CONTRACTION, FALSE_WINNERS, POLICIES)


def table_names(study: Study) -> list[str]:
    """The tables that a study asks for."""
    compared = [CONTRACTION, FALSE_WINNERS] if study.contraction else []
    return [*compared, *([POLICIES] if study.table == "policies" else [])]


def tables(study: Study, summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables that a study asks for, by name, from its summary."""
    found = {}
    if study.contraction:
        for name, of in ((CONTRACTION, contraction_table), (FALSE_WINNERS, false_winner_table)):
            found[name] = of(summary, study.varied, study.contraction)
    if study.table == "policies":
        found[POLICIES] = policies_of(summary, study.varied).table
    return found
