"""Every model's overall score in whole numbers, with its parts per item and per prompt."""

from fractions import Fraction
from math import lcm

import equinox as eqx
import numpy as np
from jaxtyping import Float64, Int, Shaped

from jaxbench.benchmark import Benchmark, scoring

# Whole numbers up to this size are exact in float64 as well as in int64.
EXACT = 2**53


class Scores(eqx.Module):
    """Overall scores `totals / out_of`, parts of which are `weights[i] * counts[m, i]`.

    Weights are whole: an item weighs `weights[i] / sum(weights)` under the scoring rule. They are
    Python's integers (dtype object) where parts of a score could pass 2^53; `fine` says so.
    """

    benchmark: Benchmark
    weights: Shaped[np.ndarray, " items"]
    totals: tuple[int, ...] = eqx.field(static=True)
    out_of: int = eqx.field(static=True)
    fine: bool = eqx.field(static=True)

    @classmethod
    def of(cls, benchmark: Benchmark, rule: str) -> "Scores":
        """Score every model.

        **Arguments:** `rule`: `item_mean`, `equal_task` or `equal_category`.

        **Errors:** `BadRequest` for `equal_category` without one category for every task.
        """
        per_task = _item_weights(benchmark, rule)
        common = lcm(*(weight.denominator for weight in per_task))
        out_of = common * benchmark.denominator
        fine = out_of > EXACT
        whole = np.array(
            [int(weight * common) for weight in per_task], dtype=object if fine else np.int64
        )
        weights = whole[benchmark.task_index]
        totals = (benchmark.counts * weights).sum(axis=1)
        return cls(benchmark, weights, tuple(int(total) for total in totals), out_of, fine)

    @property
    def scores_pp(self) -> Float64[np.ndarray, " models"]:
        """Overall scores in percentage points, each rounded once."""
        return np.array([100 * total / self.out_of for total in self.totals])

    @property
    def equal_weights(self) -> bool:
        """Whether every item weighs the same."""
        return bool((self.weights == self.weights[0]).all())

    @property
    def right_or_wrong(self) -> bool:
        """Whether every score is 0 or 1, every item weighs the same and is its own prompt."""
        prompts = self.benchmark.prompt_hashes
        plain = self.benchmark.denominator == 1 and len(set(prompts)) == len(prompts)
        return plain and self.equal_weights

    def prompt_parts(self) -> Shaped[np.ndarray, "models prompts"]:
        """What every prompt adds to a model's total, all its items together."""
        return self._by_prompt(self.benchmark.counts * self.weights)

    def prompt_weights(self) -> Float64[np.ndarray, " prompts"]:
        """The share of the overall score that stands on every prompt."""
        of_score = (self.weights / (self.out_of // self.benchmark.denominator)).astype(np.float64)
        return self._by_prompt(of_score[None])[0]

    def _by_prompt(self, parts: np.ndarray) -> np.ndarray:
        index = self.benchmark.prompt_index
        order = np.argsort(index, kind="stable")
        _, starts = np.unique(index[order], return_index=True)
        return np.add.reduceat(parts[:, order], starts, axis=1)


def ranks(totals: tuple[int, ...]) -> Int[np.ndarray, " models"]:
    """Competition ranks: 1 plus the models that score higher, so that equals share a rank."""
    ordered = sorted(totals, reverse=True)
    first: dict[int, int] = {}
    for place, total in enumerate(ordered, start=1):
        first.setdefault(total, place)
    return np.array([first[total] for total in totals])


def ranking(scores: Scores) -> list[int]:
    """The models, best first, equals in name order."""
    return sorted(range(len(scores.totals)), key=lambda m: (-scores.totals[m], m))


def _item_weights(benchmark: Benchmark, rule: str) -> list[Fraction]:
    """The weight of an item of every task; the weights of all items add up to 1."""
    if rule == "item_mean":
        return [Fraction(1, len(benchmark.items))] * len(benchmark.tasks)
    per_task = scoring.task_weights(benchmark, rule)
    sizes = benchmark.task_sizes.tolist()
    return [weight / size for weight, size in zip(per_task, sizes, strict=True)]
