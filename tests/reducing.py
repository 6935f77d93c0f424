"""A study run by the reduced simulator, beside the full one."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench import metrics
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.benchmark.aggregate import Chain
from jaxbench.counters import words
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
        differing, shape, units.count, *rules, seed=study.request.seed, trials=trials,
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


def bare_rows(reused: list[int], heldout: list[int], trials: int, *, seed=0, slots=None,
              records=True, first=0):  # fmt: skip
    """Rows of nothing but differing items, every item alike, one unit per coordinate."""
    units = len(reused)
    tile = [np.tile(np.array(side, dtype=np.int64), (trials, 1)) for side in (reused, heldout)]
    none = np.zeros_like(tile[0])
    differing = reduced_inputs.Differing(*tile, none, none, np.ones(trials, dtype=np.int64))
    rules = [
        scoring.Overall.of(
            Chain.start(side[:1]).sums([range(units)]), [Fraction(1)], total=True
        ) for side in tile
    ]  # fmt: skip
    slots = slots or [a + b for a, b in zip(reused, heldout, strict=True)]
    shape = reduced.Shape(tuple((u,) for u in range(units)), tuple(slots), records)
    half = np.full(trials, 0.5)
    rows = reduced_inputs.make_rows(
        differing, shape, units, *rules, seed=seed, trials=np.arange(first, first + trials),
        sums_reused=tile[0].astype(float), sums_heldout=tile[1].astype(float),
        static=np.zeros((trials, units)), best_reused=half, best_heldout=half,
        gap=np.zeros(trials),
    )  # fmt: skip
    return rows, rules, shape


def bare_outcomes(reused: list[int], heldout: list[int], budgets: list[int], trials: int, **how):
    """Outcomes of `bare_rows` as numpy arrays."""
    with jax.enable_x64(True):
        rows, rules, shape = bare_rows(reused, heldout, trials, **how)
        found = reduced.reduced_rows(
            rows, jnp.asarray(budgets, dtype=jnp.int32),
            *jax.tree.map(jnp.asarray, tuple(rules)), shape=shape,
        )  # fmt: skip
        return jax.tree.map(np.asarray, found)


def bare_signs(rows: reduced.ReducedRows, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs of the first 64 candidates `(rows, items, 64)` and tie signs, of the first unit."""
    number = jnp.arange(items, dtype=jnp.uint32)[None, :]
    zero = jnp.zeros((1, 1), dtype=jnp.uint32)
    pair = [np.asarray(w) for w in words(rows.sign_keys[:, None, :], number, zero)]
    ties = np.asarray(words(rows.tie_keys[:, None, :], number, zero)[0])
    bits = np.concatenate([(w[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1 for w in pair], 2)
    return 2 * bits.astype(np.int64) - 1, 2 * (ties & 1).astype(np.int64) - 1


def logistic(sizes: tuple[int, ...], models: int, seed: int, spread: float = 0.5) -> Benchmark:
    """Right and wrong answers of a two-parameter logistic model; models differ by task."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    ability = rng.normal(size=(models, 1)) * spread + rng.normal(size=(models, len(sizes))) * 0.4
    chance = 1 / (1 + np.exp(-1.5 * (ability[:, task] - rng.normal(size=len(task)))))
    return Benchmark.from_scores(
        (rng.random(chance.shape) < chance).astype(float),
        models=[f"model {m:02d}" for m in range(models)],
        items=[f"item {i:04d}" for i in range(len(task))],
        tasks=[f"task {t}" for t in task],
    )
