"""Run an attack: endpoints of every trial, then the kernel chunk by chunk.

Trials go through in two passes. The first only chooses endpoints, which fixes the shapes and the
arithmetic of the second; the second makes the same splits again rather than hold millions of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench import attacker, metrics
from jaxbench.engine import kernel, plan
from jaxbench.engine.condition import Attack
from jaxbench.engine.study import Condition, Study, Tally


@dataclass(frozen=True)
class ChunkOutcome:
    """Some trials of one condition under one bank: everything the tables are made of."""

    condition: Condition
    bank: int
    trials: np.ndarray
    endpoints: attacker.Endpoints
    measured: metrics.TrialMetrics
    router: metrics.RouterScores


def prepare(study: Study) -> list[Attack]:
    """Choose the endpoints of all trials; one `Attack` per condition.

    **Errors:** `BadRequest` where no arithmetic could hold a condition's votes, or no memory its
    bank.
    """
    parts: dict[Condition, list[attacker.Endpoints]] = {c: [] for c in study.conditions}
    trials = study.request.trials
    for chunk in _chunks(study):
        _, tallies = study.chunk(chunk)
        for condition in study.conditions:
            profiles = study.profiles(tallies[condition.interface], condition.interface)
            parts[condition].append(attacker.choose_endpoints(profiles, condition.rule))
    attacks = [
        Attack(
            study,
            condition,
            attacker.Endpoints(
                *(
                    np.concatenate([getattr(p, field) for p in found])[:trials]
                    for field in ("a", "b", "eligible", "redone")
                )
            ),
        )
        for condition, found in parts.items()
    ]
    for attack in attacks:
        attack.check()
    return attacks


def run_attacks(
    study: Study,
    attacks: list[Attack],
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[ChunkOutcome]:
    """Run every condition under every bank, chunk by chunk of trials.

    **Arguments:** `progress`: called with trials done and trials in all.
    """
    trials, banks = study.request.trials, study.request.banks
    total = trials * len(attacks) * banks
    done = 0
    for bank in range(banks):
        shared = {}
        if study.request.routers == "hash":
            shared = {attack.condition: attack.shared_bank(bank) for attack in attacks}
        for chunk in _chunks(study):
            reused, tallies = study.chunk(chunk)
            kept = np.arange(chunk[0], min(chunk[0] + len(chunk), trials))
            for attack in attacks:
                tally = tallies[attack.condition.interface]
                yield _attack_chunk(
                    attack, tally, reused, chunk, len(kept), bank, shared.get(attack.condition)
                )
                done += len(kept)
                if progress:
                    progress(done, total)


def _attack_chunk(attack, tally, reused, chunk, keep, bank, shared) -> ChunkOutcome:
    """One condition on one chunk, in kernel calls of one shape."""
    study = attack.study
    together = plan.even_parts(len(chunk), attack.rows_per_call)
    parts = []
    for first in range(0, len(chunk), together):
        # The last call repeats its last trial rather than compile a shape of its own.
        here = np.minimum(np.arange(first, first + together), len(chunk) - 1)
        parts.append(_call(attack, _take(tally, here), reused[here], chunk[here], shared))
    counts_reused, counts_heldout, *history = (
        np.concatenate(column)[: len(chunk)] for column in zip(*parts, strict=True)
    )
    router = metrics.RouterScores(
        tally.rules.reused(counts_reused), tally.rules.heldout(counts_heldout), *history
    )
    ranking = study.ranking(tally, counts_reused, counts_heldout, router)
    found = metrics.trial_metrics(tally.genuine, router, *ranking)
    pair = attack.endpoints
    kept = chunk[:keep]
    return ChunkOutcome(
        condition=attack.condition,
        bank=bank,
        trials=kept,
        endpoints=jax.tree.map(lambda x: x[kept], pair),
        measured=jax.tree.map(lambda x: x[:keep], found),
        router=jax.tree.map(lambda x: x[:keep], router),
    )


def _call(attack: Attack, tally: Tally, reused, trials, shared) -> tuple:
    """Counts of final routers per unit and the history before, each `(trials, budgets, ...)`."""
    with jax.enable_x64(True):
        rows = attack.rows(tally, reused, trials)
        rules = jax.tree.map(jnp.asarray, tally.rules)
        outcomes = kernel.attack_rows(
            rows,
            attack.fresh_bank(trials) if shared is None else shared,
            jnp.asarray(attack.study.budgets, dtype=jnp.int32),
            rules,
            sizes=attack.layout.sizes,
            arithmetic=attack.arithmetic,
            block=attack.block,
        )
        sums = np.asarray(rows.sums_reused), np.asarray(rows.sums_heldout)
        outcomes = jax.tree.map(np.asarray, outcomes)
    reused_counts = 0.5 * (sums[0][:, None, :] + outcomes.reused.swapaxes(0, 1))
    heldout_counts = 0.5 * (sums[1][:, None, :] + outcomes.heldout.swapaxes(0, 1))
    history = (outcomes.best_reused.T, outcomes.best_heldout.T, outcomes.gap.T)
    return reused_counts, heldout_counts, *history


def _take(tally: Tally, rows: np.ndarray) -> Tally:
    """The tally of some of its trials; what is the same in all of them stays."""
    trials = len(tally.board.reused)

    def take(x):
        # Of the rules' arrays only those with a trial axis have three.
        return x[rows] if np.ndim(x) == 3 and len(x) == trials else x

    return Tally(
        units=tally.units,
        counted=tally.counted,
        board=jax.tree.map(lambda x: x[rows], tally.board),
        rules=jax.tree.map(take, tally.rules),
        released=tally.released,
        genuine=jax.tree.map(lambda x: x[rows], tally.genuine),
    )


def _chunks(study: Study) -> Iterator[np.ndarray]:
    """Trial numbers, equally many at a time; the last chunk repeats the last trial."""
    trials = study.request.trials
    benchmark = study.benchmark
    together = plan.trials_per_chunk(
        trials,
        items=len(benchmark.items),
        models=len(benchmark.models),
        units=max(units.count for units in study.units.values()),
        budgets=len(study.budgets),
    )
    for first in range(0, trials, together):
        yield np.minimum(np.arange(first, first + together), trials - 1)
