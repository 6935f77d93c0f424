"""One number for what happened in a run: equal on every device, however the work was cut up."""

import hashlib
import json
from collections.abc import Iterable

import numpy as np

from jaxbench.engine.conditions import Condition
from jaxbench.engine.outcome import ChunkOutcome

# What trials and routers depend on, and what their numbers are called.
FACTS = (
    "seed", "split", "split_seed_base", "holdout_fraction", "min_task_items", "scoring",
    "group_seed", "endpoint_view", "routers", "routing_seed", "tie_seed",
)  # fmt: skip


def events_digest(outcomes: Iterable[ChunkOutcome]) -> str:
    """SHA-256 (hex) of the events of a run: whole numbers and decisions, no floating-point score.

    Every trial of a condition under a bank is one record: a line of text that names benchmark,
    options, condition, bank and budgets, and then, as int64 in little endian: the trial; endpoints
    A and B, and whether it is eligible; the winner before the attack; and per budget, in order,
    the final router's count on every task on the reused, then on the held-out side, the selected
    model, whether the router is a false winner, and its ranks on the reused and the held-out side.
    The digest is that of the records' own digests in ascending order, so that it depends neither
    on chunks, calls or shards nor on the order in which they come. Counts are per task since units
    may be finer, depending on what runs beside a condition.
    """
    records = sorted(record for outcome in outcomes for record in _records(outcome))
    return hashlib.sha256(b"".join(records)).hexdigest()


def _records(outcome: ChunkOutcome) -> Iterable[bytes]:
    evaluator, found, pair = outcome.cell.evaluator, outcome.measured, outcome.endpoints
    tasks = evaluator.units.tasks

    def per_task(counts: np.ndarray) -> np.ndarray:
        return np.stack([counts[:, :, list(units)].sum(axis=2) for units in tasks], axis=2)

    per_budget = [
        per_task(outcome.counts_reused),
        per_task(outcome.counts_heldout),
        *(
            values[:, :, None]
            for values in (
                found.selected, found.false_winner, found.rank_reused, found.rank_heldout,
            )
        ),
    ]  # fmt: skip
    per_trial = [outcome.trials, pair.a, pair.b, pair.eligible, found.winner]
    rows = np.concatenate(
        [
            np.stack([_whole(part) for part in per_trial], axis=1),
            np.concatenate([_whole(part) for part in per_budget], axis=2).reshape(
                len(outcome.trials), -1
            ),
        ],
        axis=1,
    )
    name = _name(outcome)
    for row in rows:
        yield hashlib.sha256(name + row.tobytes()).digest()


def _whole(values: np.ndarray) -> np.ndarray:
    whole = np.asarray(values).astype("<i8")
    assert (whole == values).all()
    return whole


def _name(outcome: ChunkOutcome) -> bytes:
    evaluator, condition = outcome.cell.evaluator, outcome.condition
    facts = {name: str(getattr(evaluator.request, name)) for name in FACTS}
    facts |= {
        "benchmark": evaluator.benchmark.digest(),
        "budgets": list(evaluator.budgets),
        "bank": outcome.bank,
        "endpoints": condition.rule,
        "interface": condition.interface,
        "precision": condition.precision,
        "reused_items": condition.reused_items,
    }
    # What nobody asked for goes without saying, so that digests of plain attacks stay as they are.
    asked = {
        "mechanism": condition.mechanism_name,
        "submitter": str(condition.submitter),
        "decoder": condition.decoder,
        "state": condition.state,
        "on": condition.on,
        "clip": str(condition.clip),
        "extra_overall": str(condition.extra_overall),
    }
    plain = Condition("", "")
    for name, value in asked.items():
        usual = plain.mechanism_name if name == "mechanism" else str(getattr(plain, name))
        if value != usual:
            facts[name] = value
    return json.dumps(facts, sort_keys=True).encode() + b"\n"
