"""A study run by the reduced simulator, beside the full one."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench import metrics
from jaxbench.engine import Study, prepare, reduced, reduced_inputs, run_attacks
from jaxbench.engine.condition import Attack


def reduced_inputs_of(attack: Attack, trials: np.ndarray, shape=None):
    """Rows, rules and shape of some trials, with the tally they come from."""
    study = attack.study
    split = study.splits(trials)
    tally = study.tally(attack.condition.interface, split)
    a, b = attack.endpoints.a[trials], attack.endpoints.b[trials]
    counts, units, board = study.benchmark.counts, tally.units, tally.board
    differing = reduced_inputs.count_differing(counts, a, b, split, units)
    index, history = np.arange(len(trials)), metrics.genuine_history(tally.genuine)
    released = tally.rules.release.chain(board.reused.astype(np.float64))
    both = [(side[index, a] + side[index, b]).astype(np.float64)
            for side in (board.reused, board.heldout)]  # fmt: skip
    rules = tally.rules.reused, tally.rules.heldout
    shape = shape or reduced_inputs.reduced_shape(
        counts, attack.pairs, units, tally.rules.release, *rules
    )
    rows = reduced_inputs.make_rows(
        differing, shape, units, *rules, seed=study.request.seed, trials=trials,
        sums_reused=both[0], sums_heldout=both[1], static=released[index, a] - released[index, b],
        best_reused=history.best_reused, best_heldout=history.best_heldout, gap=history.gap,
    )  # fmt: skip
    return tally, rows, shape


def reduced_outcomes(attack: Attack, trials: np.ndarray, shape=None):
    """The kernel's outcomes as numpy arrays, with tally and rows."""
    with jax.enable_x64(True):
        tally, rows, shape = reduced_inputs_of(attack, trials, shape)
        rules = jax.tree.map(jnp.asarray, (tally.rules.reused, tally.rules.heldout))
        budgets = jnp.asarray(attack.study.budgets, dtype=jnp.int32)
        found = reduced.reduced_rows(rows, budgets, *rules, shape=shape)
        return jax.tree.map(np.asarray, found), tally, jax.tree.map(np.asarray, rows)


def reduced_metrics(attack: Attack, trials: np.ndarray):
    """Every metric and the routers' scores of some trials under one condition."""
    found, tally, rows = reduced_outcomes(attack, trials)
    public = 0.5 * (rows.sums_reused[:, None, :] + found.reused.swapaxes(0, 1))
    private = 0.5 * (rows.sums_heldout[:, None, :] + found.heldout.swapaxes(0, 1))
    router = metrics.RouterScores(
        tally.rules.reused(public), tally.rules.heldout(private),
        found.best_reused.T, found.best_heldout.T, found.gap.T,
    )  # fmt: skip
    ranking = attack.study.ranking(tally, public, private, router)
    return metrics.trial_metrics(tally.genuine, router, *ranking), router


def full_metrics(study: Study):
    """The same from the full simulator, over all trials of the first condition."""
    attacks = prepare(study)
    chunks = list(run_attacks(study, attacks[:1]))
    return (
        attacks[0],
        jax.tree.map(lambda *x: np.concatenate(x), *(c.measured for c in chunks)),
        jax.tree.map(lambda *x: np.concatenate(x), *(c.router for c in chunks)),
    )
