"""Drawing worlds: abilities, items and answers of many worlds in one compiled call.

Every random number is a function of (seed, purpose, model, item or task, run, step): which worlds
are drawn together, how they are padded and what else is drawn cannot change a world.

Normals are rounded to a grid of 2^-40. Sums of them are then exact, hence the same in every
order, so that no mean over tasks depends on padding. An answer is right where a uniform number of
52 bits lies below the probability: two devices that round a probability differently could differ
there only where the uniform falls between the two, about once in 10^15 draws.
"""

from enum import IntEnum
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, UInt32

from jaxbench.counters import Stream, words
from jaxbench.synthetic.difficulty import Difficulty

GRID = 2.0**40
# More than a run's steps and a world's items: what is drawn for a model fits one counter.
STEPS, ITEMS = 2**7, 2**17


class Purpose(IntEnum):
    """What is drawn: the key of a purpose is that of trial `purpose` of the stream `WORLD`."""

    GENERAL = 0
    TASK = 1
    CONTRAST = 2
    DIFFICULTY = 3
    DISCRIMINATION = 4
    ANSWER = 5


class Plan(eqx.Module):
    """Parameters of worlds, as arrays, with a leading axis of worlds outside the program.

    `keys` are those of every purpose; `models` and `tasks` say how many of the padded ones there
    are. A run has `steps` draws, all of which an item of partial credit takes.
    """

    keys: UInt32[Array, "*worlds purposes 2"]
    models: Int32[Array, "*worlds"]
    tasks: Int32[Array, "*worlds"]
    repeats: Int32[Array, "*worlds"]
    steps: Int32[Array, "*worlds"]
    field_spread: Float64[Array, "*worlds"]
    leader_gap: Float64[Array, "*worlds"]
    task_spread: Float64[Array, "*worlds"]
    contrast: Float64[Array, "*worlds"]
    discrimination: Float64[Array, "*worlds"]
    difficulty: Difficulty
    task_index: Int32[Array, "*worlds items"]
    prompts: UInt32[Array, "*worlds items"]
    partial: Bool[Array, "*worlds items"]


class Drawn(NamedTuple):
    """Worlds as drawn, padded."""

    abilities: Float64[Array, "*worlds models tasks"]
    difficulties: Float64[Array, "*worlds items"]
    discriminations: Float64[Array, "*worlds items"]
    counts: Int32[Array, "*worlds models items"]


@partial(jax.jit, static_argnames=("models", "tasks"))
def draw(plans: Plan, draws: Int32[Array, ""], *, models: int, tasks: int) -> Drawn:
    """Draw worlds; runs inside `jax.enable_x64(True)`.

    **Arguments:** `plans`: with a leading axis of worlds; `draws`: the most of `repeats * steps`
    over these worlds; `models`, `tasks`: the padded numbers.
    """
    return jax.vmap(lambda plan: _draw_world(plan, draws, models, tasks))(plans)


@jax.jit
def purpose_keys(
    roots: UInt32[Array, "worlds 2"],
) -> UInt32[Array, "worlds purposes 2"]:
    """The keys of every purpose, of seeds in two words.

    A program of its own: threefry takes long to compile, and this one serves all shapes.
    """
    stream = _key(roots, jnp.full(roots.shape[:1], Stream.WORLD, dtype=jnp.uint32))
    return _key(stream[:, None, :], jnp.arange(len(Purpose), dtype=jnp.uint32)[None, :])


def _draw_world(plan: Plan, draws: Int32[Array, ""], models: int, tasks: int) -> Drawn:
    general, task, contrast, difficulty, discrimination = _normals(plan, models, tasks)
    abilities = _abilities(plan, general, task, contrast)
    difficulties = plan.difficulty(difficulty, jnp)
    discriminations = jnp.exp(plan.discrimination * discrimination)
    right = jax.nn.sigmoid(
        discriminations[None, :] * (abilities[:, plan.task_index] - difficulties[None, :])
    )
    counts = _answers(plan, right, draws)
    return Drawn(abilities, difficulties, discriminations, counts)


def _normals(plan: Plan, models: int, tasks: int) -> list[Float64[Array, "..."]]:
    """Normals on the grid for every purpose but the answers, in the order of `Purpose`.

    All in one, which compiles faster.
    """
    model, task = jnp.arange(models, dtype=jnp.uint32), jnp.arange(tasks, dtype=jnp.uint32)
    counters = [
        (model, jnp.zeros_like(model)),
        (jnp.repeat(model, tasks), jnp.tile(task, models)),
        (task, jnp.zeros_like(task)),
        (plan.prompts, jnp.zeros_like(plan.prompts)),
        (plan.prompts, jnp.zeros_like(plan.prompts)),
    ]
    lengths = [len(first) for first, _ in counters]
    keys = [
        jnp.broadcast_to(plan.keys[purpose], (length, 2))
        for purpose, length in zip(Purpose, lengths, strict=False)
    ]
    first, second = (jnp.concatenate(parts) for parts in zip(*counters, strict=True))
    drawn = _on_grid(jax.scipy.special.ndtri(_uniforms(jnp.concatenate(keys), first, second)))
    parts = jnp.split(drawn, list(accumulate(lengths))[:-1])
    parts[Purpose.TASK] = parts[Purpose.TASK].reshape(models, tasks)
    return parts


def _abilities(
    plan: Plan,
    general: Float64[Array, " models"],
    deviation: Float64[Array, "models tasks"],
    lean: Float64[Array, " tasks"],
) -> Float64[Array, "models tasks"]:
    """General abilities, deviations that add up to 0 over tasks, and the leaders' contrast."""
    models, tasks = deviation.shape
    model = jnp.arange(models, dtype=jnp.int32)
    is_task = jnp.arange(tasks, dtype=jnp.int32) < plan.tasks
    count = plan.tasks.astype(jnp.float64)

    # Best and second by what was drawn, so that they are chosen by chance without any spread too.
    ranked = jnp.where(model < plan.models, general, -jnp.inf)
    best = lax.argmax(ranked, 0, jnp.int32)
    second = lax.argmax(jnp.where(model == best, -jnp.inf, ranked), 0, jnp.int32)
    general = plan.field_spread * general
    general = jnp.where(model == best, general[second] + plan.leader_gap, general)

    deviation = jnp.where(is_task[None, :], deviation, 0.0)
    deviation -= deviation.sum(axis=1, keepdims=True) / count
    # Centred, a normal's variance is less by one part in `tasks`.
    deviation *= plan.task_spread * jnp.sqrt(count / jnp.maximum(count - 1.0, 1.0))

    lean = jnp.where(is_task, lean, 0.0)
    lean = jnp.where(is_task, lean - lean.sum() / count, 0.0)
    # Over the largest, so that squares on the grid are exact enough; one task leans nowhere.
    largest = jnp.abs(lean).max()
    lean /= jnp.where(largest > 0, largest, 1.0)
    square = _on_grid(lean**2).sum() / count
    lean *= plan.contrast / jnp.sqrt(jnp.where(largest > 0, square, 1.0))
    side = (model == best).astype(jnp.float64) - (model == second).astype(jnp.float64)
    return general[:, None] + deviation + side[:, None] * lean[None, :]


def _answers(
    plan: Plan, right: Float64[Array, "models items"], draws: Int32[Array, ""]
) -> Int32[Array, "models items"]:
    """Counts out of `repeats * steps`.

    A run of a plain item is one draw, worth `steps`. A run of an item of partial credit takes
    `steps` draws from an urn that starts with the 2PL probability and gains a ball of the kind
    drawn: beta-binomial, with the mean of a plain run and (1 + 1 / steps) / 2 of its variance.
    """
    models, items = right.shape
    model = jnp.arange(models, dtype=jnp.uint32)[:, None]
    item = jnp.arange(items, dtype=jnp.uint32)[None, :]
    key = plan.keys[Purpose.ANSWER][None, None, :]

    def one(draw, state):
        counts, successes = state
        run, step = lax.div(draw, plan.steps), lax.rem(draw, plan.steps)
        successes = jnp.where(step == 0, 0, successes)
        # One counter for run, step and item: programs with more words take longer to compile.
        number = (run * STEPS + step).astype(jnp.uint32) * jnp.uint32(ITEMS) + item
        uniform = _uniforms(key, model, number)
        balls = uniform * (step + 1).astype(jnp.float64)
        success = balls < right + successes.astype(jnp.float64)
        worth = jnp.where(plan.partial, 1, jnp.where(step == 0, plan.steps, 0))
        worth = jnp.where(draw < plan.repeats * plan.steps, worth, 0)
        counts += jnp.where(success, worth[None, :], 0)
        return counts, successes + success.astype(jnp.int32)

    zeros = jnp.zeros((models, items), dtype=jnp.int32)
    counts, _ = lax.fori_loop(jnp.int32(0), draws, one, (zeros, zeros))
    return counts


def _key(key: UInt32[Array, "*#shape 2"], counter: UInt32[Array, "*#shape"]) -> Array:
    """The key that a counter leads to."""
    return jnp.stack(words(key, counter, jnp.zeros_like(counter)), axis=-1)


def _uniforms(key: Array, first: Array, second: Array) -> Float64[Array, "..."]:
    """Numbers in (0, 1): odd multiples of 2^-53, from 26 bits of either word."""
    high, low = (w >> jnp.uint32(6) for w in words(key, first, second))
    return (high.astype(jnp.float64) * 2.0**26 + low.astype(jnp.float64) + 0.5) * 2.0**-52


def _on_grid(numbers: Array) -> Array:
    return jnp.rint(numbers * GRID) / GRID
