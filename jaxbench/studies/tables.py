"""The tables that a study asks for beside its summary, each a file `NAME.csv`."""

import pandas as pd

from jaxbench.options.study import Study
from jaxbench.studies.contraction import contraction_table, false_winner_table
from jaxbench.studies.mechanisms import mechanisms_of
from jaxbench.studies.policies import Policies, policies_of
from jaxbench.studies.submitters import submitters_of

COMPARED = {"contraction": contraction_table, "false_winners": false_winner_table}
# What a study of each kind of table tells about its policies.
TOLD = {"policies": policies_of, "mechanisms": mechanisms_of, "submitters": submitters_of}


def table_names(study: Study) -> list[str]:
    """The tables that a study asks for."""
    compared = list(COMPARED) if study.contraction else []
    return [*compared, *([study.table] if study.table else [])]


def tables(study: Study, summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables that a study asks for, by name, from its summary."""
    found = {}
    if study.contraction:
        for name, of in COMPARED.items():
            found[name] = of(summary, study.varied, study.contraction)
    if study.table:
        found[study.table] = told(study, summary).table
    return found


def told(study: Study, summary: pd.DataFrame) -> Policies:
    """The table of policies that a study asks for, with what its columns are."""
    return TOLD[study.table or "policies"](summary, study.varied)
