"""Worlds as the rest of jaxbench sees them: a benchmark, and the truth behind it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64

from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.provenance import SHOWN, mean_of_runs
from jaxbench.benchmark.scoring import task_weights
from jaxbench.errors import unknown
from jaxbench.options import WorldSpec
from jaxbench.shapes import bucket
from jaxbench.synthetic.difficulty import Difficulty
from jaxbench.synthetic.draw import Plan, draw, purpose_keys
from jaxbench.synthetic.layout import layout
from jaxbench.synthetic.truth import expected_scores

# Memory of one call, bytes: probabilities, counts and words, of every model and item.
CALL_BYTES = 64 * 2**20
PER_SCORE = 64
SCORING = ("item_mean", "equal_task", "equal_category")


@dataclass(frozen=True, eq=False)
class World:
    """A synthetic benchmark and what it was drawn from.

    `abilities` are in logits; difficulties and discriminations are those of the items' prompts.
    """

    spec: WorldSpec
    benchmark: Benchmark
    abilities: Float64[np.ndarray, "models tasks"]
    difficulties: Float64[np.ndarray, " items"]
    discriminations: Float64[np.ndarray, " items"]

    def __repr__(self) -> str:
        shape = f"{self.spec.models} models, {self.spec.items} items, {self.spec.tasks} tasks"
        return f"World({self.spec.name!r}: {shape})"

    @cached_property
    def truth(self) -> Float64[np.ndarray, "models tasks"]:
        """Expected score of every model on a fresh item of every task, in [0, 1], to 1e-8."""
        truth = expected_scores(self.spec, self.abilities)
        truth.flags.writeable = False
        return truth

    def true_scores(self, scoring: str = "item_mean") -> Float64[np.ndarray, " models"]:
        """Expected overall score of every model on fresh items, in [0, 1].

        **Arguments:** `scoring`: `item_mean` (tasks weigh by their items), `equal_task`, or
        `equal_category`.

        **Errors:** `BadRequest` for another rule, or a world without categories.
        """
        return self.truth @ self.task_weights(scoring)

    def task_weights(self, scoring: str = "item_mean") -> Float64[np.ndarray, " tasks"]:
        """The weight of every task in the overall score; they add up to 1.

        **Errors:** as `true_scores`.
        """
        if scoring == "item_mean":
            return self.benchmark.task_sizes / len(self.benchmark.items)
        if scoring in SCORING:
            return np.array([float(w) for w in task_weights(self.benchmark, scoring)])
        raise unknown("scoring of a world's truth", scoring, SCORING)


def world(**parameters: object) -> World:
    """Draw one synthetic world; the parameters are those of `WorldSpec`, such as `leader_gap=0.2`.

    **Returns:** a `World`: its `.benchmark` to attack, its `.truth` to compare with.

    **Errors:** `BadRequest` for an unknown parameter or a value outside its range.
    """
    return draw_worlds([WorldSpec.of(parameters)])[0]


def draw_worlds(specs: Sequence[WorldSpec]) -> list[World]:
    """Draw worlds, in the order of their specs.

    Worlds of one shape (`WorldSpec.shape`) are drawn together, some 64 MB of them at a time. A
    world is the same bit for bit whichever others are drawn with it.
    """
    places: dict[tuple[int, int, int], list[int]] = {}
    for place, spec in enumerate(specs):
        places.setdefault(spec.shape(), []).append(place)
    worlds: dict[int, World] = {}
    for shape, of_shape in places.items():
        # A call takes as many draws as the most that one of its worlds needs.
        of_shape.sort(key=lambda place: specs[place].denominator)
        drawn = _draw_shape(shape, [specs[place] for place in of_shape])
        worlds.update(zip(of_shape, drawn, strict=True))
    return [worlds[place] for place in range(len(specs))]


def _draw_shape(shape: tuple[int, int, int], specs: Sequence[WorldSpec]) -> Iterator[World]:
    models, items, tasks = shape
    most = max(1, CALL_BYTES // (PER_SCORE * models * items))
    calls = -(-len(specs) // most)
    rows = min(bucket(-(-len(specs) // calls)), most)
    for start in range(0, len(specs), rows):
        some = specs[start : start + rows]
        # A short call is filled up with its last world, so that one program serves every call.
        filled = [*some, *[some[-1]] * (rows - len(some))]
        with jax.enable_x64(True):
            draws = jnp.asarray(max(spec.denominator for spec in some), dtype=jnp.int32)
            drawn = draw(_plans(filled, items), draws, models=models, tasks=tasks)
        parts = [np.asarray(part) for part in drawn]
        for row, spec in enumerate(some):
            yield _world(spec, *(part[row] for part in parts))


def _plans(specs: Sequence[WorldSpec], items: int) -> Plan:
    """Parameters of worlds as columns, items padded."""

    def column(name: str, dtype: type = np.float64) -> Array:
        return jnp.asarray(np.array([getattr(spec, name) for spec in specs], dtype=dtype))

    def of_items(name: str, dtype: type) -> Array:
        padded = np.zeros((len(specs), items), dtype=dtype)
        for row, made in zip(padded, layouts, strict=True):
            row[: len(made.items)] = getattr(made, name)
        return jnp.asarray(padded)

    layouts = [layout(spec) for spec in specs]
    steps = np.array([spec.denominator // spec.repeats for spec in specs], dtype=np.int32)
    roots = np.array([divmod(spec.seed, 2**32) for spec in specs], dtype=np.uint32)
    moments = [(s.difficulty_mean, s.difficulty_sd, s.difficulty_skew) for s in specs]
    difficulty = Difficulty.of(*np.array(moments, dtype=np.float64).T)
    return Plan(
        keys=purpose_keys(jnp.asarray(roots)),
        models=column("models", np.int32),
        tasks=column("tasks", np.int32),
        repeats=column("repeats", np.int32),
        steps=jnp.asarray(steps),
        field_spread=column("field_spread"),
        leader_gap=column("leader_gap"),
        task_spread=column("task_spread"),
        contrast=column("contrast"),
        discrimination=column("discrimination"),
        difficulty=jax.tree.map(jnp.asarray, difficulty),
        task_index=of_items("task_index", np.int32),
        prompts=of_items("prompts", np.uint32),
        partial=of_items("partial", np.bool_),
    )


def _world(
    spec: WorldSpec,
    abilities: np.ndarray,
    difficulties: np.ndarray,
    discriminations: np.ndarray,
    counts: np.ndarray,
) -> World:
    """A world from what was drawn, with the padding cut off."""
    # Copies, so that a world does not hold the call it was drawn in.
    counts = counts[: spec.models, : spec.items].astype(np.int64)
    abilities = abilities[: spec.models, : spec.tasks].copy()
    difficulties = difficulties[: spec.items].copy()
    discriminations = discriminations[: spec.items].copy()
    for array in (counts, abilities, difficulties, discriminations):
        array.flags.writeable = False
    return World(spec, _benchmark(spec, counts), abilities, difficulties, discriminations)


def blank(spec: WorldSpec) -> Benchmark:
    """The benchmark of a world before its answers are drawn: nobody solves anything.

    What can be asked of a world depends on no more than this.
    """
    return _benchmark(spec, np.zeros((spec.models, spec.items), dtype=np.int64))


def _benchmark(spec: WorldSpec, counts: np.ndarray) -> Benchmark:
    made = layout(spec)
    return Benchmark(
        counts=counts,
        task_index=made.task_index,
        denominator=spec.denominator,
        name=spec.name,
        models=made.models,
        items=made.items,
        tasks=made.tasks,
        prompt_hashes=made.prompt_hashes,
        categories=made.categories,
        subtasks=None,
        chances=None,
        protocol=None,
        provenance=_provenance(spec),
    )


def _provenance(spec: WorldSpec) -> tuple[str, ...]:
    parameters = ", ".join(f"{name}={value}" for name, value in spec.as_options().items())
    told = [f"{SHOWN}synthetic, drawn from a two-parameter logistic model: {parameters}"]
    if spec.repeats > 1:
        told.append(mean_of_runs(spec.repeats, spec.repeats))
    return (*told, f"scores are multiples of 1/{spec.denominator}")
