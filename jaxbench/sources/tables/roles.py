"""Which column of a table is which: given by the user, or guessed by its name and echoed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from jaxbench.errors import BadRequest, nearest, some

# Names that tools and people give, the likeliest first, in lower case with `_` for spaces.
GUESSES = {
    "model": ("model", "model_name", "model_id", "system", "submission", "agent", "subject_id",
              "participant", "configuration", "config", "run_name"),
    "item_id": ("item_id", "item", "instance_id", "question_id", "sample_id", "problem_id",
                "example_id", "doc_id", "id", "task_id", "prompt_id", "index", "qid"),
    "task": ("task", "task_name", "subtask_name", "subject", "subset", "domain", "dataset",
             "benchmark", "repo", "evaluation_name"),
    "category": ("category", "group", "area", "topic", "language", "difficulty"),
    "score": ("score", "scores", "correct", "is_correct", "accuracy", "acc", "resolved", "success",
              "passed", "pass", "result", "outcome", "value", "grade", "exact_match", "verdict",
              "acc_norm", "f1", "em", "bleu", "rouge", "rougel", "win",
              "score_pct", "score_percent"),
    "epoch": ("epoch", "repeat", "attempt", "trial", "run", "run_id", "replicate", "seed",
              "train_trial_index"),
    "repeats": ("repeats", "n_repeats", "num_repeats", "n_runs", "runs", "trials"),
    "prompt": ("prompt", "input", "question", "problem", "problem_statement", "instruction",
               "text"),
    "prompt_hash": ("prompt_hash", "prompt_sha256"),
    "doc_hash": ("doc_hash", "sample_hash", "item_hash"),
    "subtask": ("subtask",),
    "chance": ("chance", "chance_level", "random_baseline"),
}  # fmt: skip
# A task column of these names would be the item, were there no other.
NEVER_BOTH = ("item_id", "task")
# What tells rows of one model and item apart that are no repeats.
VARIANTS = ("metric", "filter", "variant_id", "variant", "wording", "axis", "split",
            "perturbation", "wrapper", "template", "scorer")  # fmt: skip


def spelled(name: str) -> str:
    """A column name as guesses are written."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def find_roles(
    names: Sequence[str], given: Mapping[str, str], score: Sequence[str], path: Path
) -> dict[str, str]:
    """Role to column, as far as the names say; without `score` where none or several could be it.

    **Arguments:** `given`: roles that the user named; `score`: score columns that the user named,
    of which the first that is there is taken.

    **Errors:** `BadRequest` for a named column that is not there.
    """
    for role, column in given.items():
        if column not in names:
            raise BadRequest(
                f"{path} has no column {column!r} (columns.{role}); {nearest(column, names)}"
            )
    roles = dict(given)
    plain = {}
    for name in names:
        plain.setdefault(spelled(name), name)
    for role, guesses in GUESSES.items():
        if role in roles or role == "score":
            continue
        taken = set(roles.values())
        found = [plain[g] for g in guesses if g in plain and plain[g] not in taken]
        if found:
            roles[role] = found[0]
    if "score" not in roles:
        chosen = [s for s in score if s in names]
        found = chosen or score_candidates(names, roles)
        if len(found) == 1 or chosen:
            roles["score"] = found[0]
    return roles


def score_candidates(names: Sequence[str], roles: Mapping[str, str]) -> list[str]:
    """Columns that could hold the score."""
    taken = {column for role, column in roles.items() if role != "score"}
    free = [name for name in names if name not in taken]
    if scores := [name for name in free if spelled(name) == "score"]:
        return scores
    return [name for g in GUESSES["score"] for name in free if spelled(name) == g]


def guessed(roles: Mapping[str, str], given: Mapping[str, str]) -> str:
    """How a note echoes the roles that were guessed from other names."""
    told = [
        f"{role} from column {column!r}"
        for role, column in roles.items()
        if column != role and role not in given
    ]
    return ", ".join(told)


def check_variants(frame: pd.DataFrame, called: Mapping[str, str]) -> None:
    """Refuse to average over metrics or wordings unless the user says so.

    **Arguments:** `called`: what the table calls these columns.

    **Errors:** `BadRequest` naming the column that tells the scores of one model and item apart.
    """
    keys = [k for k in ("model", "task", "item_id") if k in frame]
    columns = [c for c in frame if str(c) in VARIANTS and frame[c].nunique() > 1]
    if "epoch" in frame:
        keys.append("epoch")
    if not columns or not frame.duplicated(keys).any():
        return
    columns.sort(key=lambda c: frame[c].nunique())
    # The coarsest that tells them apart.
    column = next((c for c in columns if not frame.duplicated([*keys, c]).any()), columns[0])
    values = [str(v) for v in frame[column].unique()]
    column = called.get(str(column), str(column))
    choose = (
        f"score={values[0]}" if spelled(column) == "metric" else f"where={{{column}:{values[0]}}}"
    )
    raise BadRequest(
        f"models have several scores per item that differ in {column!r} ({some(values, most=6)}); "
        f"choose with {choose}, or average over them with columns={{epoch:{column}}}"
    )
