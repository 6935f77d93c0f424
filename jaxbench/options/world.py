"""Synthetic worlds: the parameters of one, checked.

A world is a leaderboard drawn from a two-parameter logistic model (2PL): a model m answers item i
of task t rightly with probability `logistic(discrimination_i * (ability_mt - difficulty_i))`.
Abilities and difficulties are on one scale, in logits at discrimination 1.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from jaxbench.errors import BadRequest, unknown
from jaxbench.options import parse
from jaxbench.options.option import Option
from jaxbench.shapes import bucket

# Scores of one world (models x items): they are drawn at once, at about 64 bytes each.
MOST_SCORES = 4 * 10**6


@dataclass(frozen=True)
class Parameter:
    """A parameter's range and meaning; whole numbers where the range is given in whole numbers."""

    name: str
    least: int | float
    most: int | float
    meaning: str

    def check(self, value: object) -> int | float:
        """A value in the range, as a plain number.

        **Errors:** `BadRequest` for any other.
        """
        return parse.within(self.name, value, self.least, self.most)


PARAMETERS = (
    Parameter("models", 2, 1000, "models on the leaderboard"),
    Parameter("items", 4, 100_000, "items of all tasks together"),
    Parameter("tasks", 1, 1000, "tasks; at most half as many as items"),
    Parameter("size_ratio", 1.0, 1000.0,
              "items of the largest task over those of the smallest, sizes in between growing "
              "geometrically (no task has fewer than 2 items); 1: equal tasks"),
    Parameter("categories", 0, 1000,
              "categories, each of whole tasks side by side; at most as many as tasks; 0: none"),
    Parameter("repeats", 1, 100, "runs that a score is the mean of"),
    Parameter("partial_credit", 0.0, 1.0, "share of items that give partial credit"),
    Parameter("credit_steps", 2, 100, "steps of partial credit: a run's score is a multiple of "
              "one over it; means nothing without partial credit"),
    Parameter("duplicate_prompts", 0.0, 0.5,
              "share of items that repeat the prompt of another item of their task; less where "
              "a task could not be split any more"),
    Parameter("prompt_copies", 2, 5, "items on every prompt that is repeated"),
    Parameter("discrimination", 0.0, 1.0, "sd of log discrimination over items; its mean is 0"),
    Parameter("difficulty_mean", -5.0, 5.0, "mean difficulty of items, in logits; the models' "
              "abilities have mean 0"),
    Parameter("difficulty_sd", 0.0, 3.0, "sd of difficulties, in logits"),
    Parameter("difficulty_skew", -2.0, 2.0, "skewness of difficulties: 0 normal, above it a tail "
              "of hard items (a shifted lognormal), below it one of easy items"),
    Parameter("field_spread", 0.0, 3.0, "sd of general ability over models, in logits"),
    Parameter("leader_gap", 0.0, 3.0, "general ability of the best model less that of the "
              "second best, in logits"),
    Parameter("task_spread", 0.0, 3.0, "sd of a model's ability on a task around its general "
              "ability, in logits; means nothing with one task"),
    Parameter("contrast", 0.0, 3.0, "how opposite the task profiles of the two best models are: "
              "root mean square over tasks, in logits, of what one gains and the other loses "
              "there beside that; means nothing with one task"),
    Parameter("seed", 0, 2**64 - 1, "seed; worlds of one seed share their random numbers, so "
              "worlds that are to be independent need seeds of their own"),
)  # fmt: skip


@dataclass(frozen=True)
class WorldSpec:
    """The parameters of one world; their ranges and meanings are those of `PARAMETERS`.

    **Errors:** `BadRequest` naming the parameter, what was found and what was expected.
    """

    models: int = 20
    items: int = 600
    tasks: int = 6
    size_ratio: float = 1.0
    categories: int = 0
    repeats: int = 1
    partial_credit: float = 0.0
    credit_steps: int = 4
    duplicate_prompts: float = 0.0
    prompt_copies: int = 2
    discrimination: float = 0.3
    difficulty_mean: float = 0.0
    difficulty_sd: float = 1.5
    difficulty_skew: float = 0.0
    field_spread: float = 0.7
    leader_gap: float = 0.1
    task_spread: float = 0.3
    contrast: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for one in PARAMETERS:
            # Equal specs are to be spelled alike: no numpy numbers, no 1 for 1.0.
            object.__setattr__(self, one.name, one.check(getattr(self, one.name)))
        if 2 * self.tasks > self.items:
            raise BadRequest(
                f"tasks={self.tasks} with items={self.items}: a task needs at least 2 items; "
                f"expected tasks of at most {self.items // 2}, or more items"
            )
        if self.categories > self.tasks:
            raise BadRequest(
                f"categories={self.categories} with tasks={self.tasks}: a category holds whole "
                "tasks; expected at most as many categories as tasks"
            )
        if self.models * self.items > MOST_SCORES:
            raise BadRequest(
                f"models={self.models} with items={self.items}: expected at most "
                f"{MOST_SCORES:,} scores (models x items)"
            )

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "WorldSpec":
        """Check the parameters that were given (None: not given) and fill in the others.

        **Errors:** `BadRequest` for an unknown parameter, with the nearest known one, or a value
        outside its range.
        """
        known = {one.name: one for one in PARAMETERS}
        asked = {}
        for name, value in given.items():
            if name not in known:
                raise unknown("parameter of a world", name, known)
            if value is not None:
                asked[name] = known[name].check(value)
        return cls(**asked)

    def as_options(self) -> dict[str, int | float]:
        """Every parameter, as plain values that resolve to this spec again."""
        return {one.name: getattr(self, one.name) for one in PARAMETERS}

    def shape(self) -> tuple[int, int, int]:
        """Models, items and tasks, padded: specs that agree here are drawn by one program."""
        return bucket(self.models, 4), bucket(self.items), bucket(self.tasks, 4)

    @property
    def name(self) -> str:
        """A name that tells every two specs apart: `world-` and a hash of the parameters."""
        spelled = json.dumps(self.as_options(), sort_keys=True)
        return f"world-{hashlib.sha256(spelled.encode()).hexdigest()[:12]}"

    @property
    def denominator(self) -> int:
        """What every score of the world is a multiple of one over."""
        return self.repeats * (self.credit_steps if self.partial_credit else 1)

    @property
    def task_sizes(self) -> tuple[int, ...]:
        """Items per task, rising: they add up to `items` and are 2 at least."""
        growth = self.size_ratio ** (1 / max(1, self.tasks - 1))
        weights = [growth**t for t in range(self.tasks)]
        sizes, rest = [], self.items
        for t in range(self.tasks):
            # The least of the weights that are left: what remains has room for 2 items a task.
            sizes.append(max(2, round(rest * weights[t] / sum(weights[t:]))))
            rest -= sizes[-1]
        # Halves are rounded to even, which may put a smaller task behind a larger.
        return tuple(sorted(sizes))


WORLD = tuple(
    Option(one.name, parse.plain(getattr(WorldSpec, one.name)), "the same",
           f"{parse.plain(one.least)} to {parse.plain(one.most)}", one.meaning)
    for one in PARAMETERS
)  # fmt: skip
