"""The card of a benchmark: how finely it can rank its models, and what first place hangs on.

`card.json` is one object. Scores, differences and deviations are in percentage points (`_pp`),
shares and p-values fractions; what is undefined is null.

- `benchmark, scoring, level, power, correction, resamples, seed`: what was described, and how.
- `shape`: `models, items, tasks, categories, denominator` (scores are whole multiples of its
  inverse), `on_grid` (they were rounded to that), `repeats` (fewest and most runs per
  score, as the files say), `prompts, prompts_told_by` (`text`, `document` or `item`)
  `, shared_prompts` (standing on several items), `shared_prompt_items,
  prompts_in_several_tasks, solved_by_all, solved_by_none` (items), `missing` (what readers noted).
- `tasks`: per task `task, items, category`, and over models `mean_pp, sd_pp, low_pp, high_pp`.
- `models`, best first: `model, rank` (equals share one) `, tied, score_pp, score_pp_low,
  score_pp_high, interval` (`wilson` or `bootstrap`) `, tier, difference_pp` (less the first),
  `difference_tier_pp` (less the tier's best) `, p_first, p_first_adjusted` (against the first;
  where first place is shared the largest, as `tier` has it)
  `, rank_low, rank_high, mde_pp` (minimum detectable difference to the first; of the first, to the
  second) `, frontier, any_pp` (items with a score above 0) `, full_pp` (items with a score of 1)
  `, task_scores_pp` (in the order of `tasks`).
- `tiers`: names per tier.
- `pairs`: `tested, separable_unadjusted, separable, tests` (how many of each kind), and one entry
  per pair in `a, b` (positions in `models`, the better first) `, difference_pp, p, p_adjusted,
  test` (`mcnemar`, `sign_flip`; `sign_flip_rounded` and `sign_flip_normal` where weighted scores
  are too fine for exact sums).
- `adjacent`: neighbours in the ranking: `pairs, separable_unadjusted, separable, mde_pp` (median).
- `first_place`: `models, deciding_items, share, rival`.
- `frontier`: `size, models, endpoints` (A and B per rule, or null) `, agree`.
- `warnings`, `provenance`: sentences.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from jaxbench import stats
from jaxbench.benchmark import Benchmark, pool_small_tasks
from jaxbench.card import cautions, leading, precision, shape
from jaxbench.card.numbers import plain
from jaxbench.card.pairs import Pairs, pair_tests
from jaxbench.card.scores import Scores, ranking, ranks
from jaxbench.card.tiers import rank_bounds, tiers
from jaxbench.options.describe import DescribeRequest
from jaxbench.report import card_text

# The columns of `summary.csv` after `benchmark`.
COLUMNS = (
    "model", "rank", "tied", "score_pp", "score_pp_low", "score_pp_high", "interval", "tier",
    "difference_pp", "p_first", "p_first_adjusted", "rank_low", "rank_high", "mde_pp", "frontier",
)  # fmt: skip
WHOLE = ("rank", "tier", "rank_low", "rank_high")


@dataclass(frozen=True)
class Card:
    """What `jaxbench.describe` returns: `str()`, `.summary()`, `.pairs()`, `.to_dict()`."""

    benchmark: Benchmark
    request: DescribeRequest
    entries: dict[str, Any]

    def __repr__(self) -> str:
        found = f"{len(self.entries['models'])} models in {len(self.entries['tiers'])} tiers"
        return f"Card({self.benchmark.name!r}: {found})"

    def __str__(self) -> str:
        """The card as the terminal shows it, 80 columns wide."""
        return card_text(self.entries)

    @property
    def warnings(self) -> list[str]:
        """What a reader should know before trusting the ranking."""
        return list(self.entries["warnings"])

    def to_dict(self) -> dict[str, Any]:
        """Everything in the card as plain values (see the module)."""
        return dict(self.entries)

    def summary(self) -> pd.DataFrame:
        """One row per model, best first, equals in name order; scores in percentage points."""
        rows = [[model[name] for name in COLUMNS] for model in self.entries["models"]]
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        table.insert(0, "benchmark", self.benchmark.name)
        undefined = [name for name in COLUMNS if name.startswith(("p_", "mde", "score", "diff"))]
        return table.astype(dict.fromkeys(undefined, "float64") | dict.fromkeys(WHOLE, "int64"))

    def pairs(self) -> pd.DataFrame:
        """One row per pair of models: `model` (the better), `other`, difference, p and test."""
        pairs, names = self.entries["pairs"], [m["model"] for m in self.entries["models"]]
        columns = {"model": [names[a] for a in pairs["a"]], "other": [names[b] for b in pairs["b"]]}
        kept = ("difference_pp", "p", "p_adjusted", "test")
        return pd.DataFrame(columns | {name: pairs[name] for name in kept})


def make_card(benchmark: Benchmark, request: DescribeRequest) -> Card:
    """Describe a benchmark as the request says.

    **Errors:** `BadRequest` for `equal_category` without one category for every task, or where
    small tasks cannot be pooled.
    """
    pooled = pool_small_tasks(benchmark, request.min_task_items)
    return Card(pooled, request, _Making(pooled, request).entries())


class _Making:
    """A card in the making: what several of its entries share."""

    def __init__(self, benchmark: Benchmark, request: DescribeRequest):
        self.benchmark, self.request = benchmark, request
        self.scores = Scores.of(benchmark, request.scoring)
        self.order = ranking(self.scores)
        # The position of every model in the ranking.
        self.place = np.argsort(self.order)
        self.on_frontier = leading.frontier(shape.task_counts(benchmark))

    @cached_property
    def tests(self) -> Pairs:
        return pair_tests(self.scores, self.request.correction)

    def entries(self) -> dict[str, Any]:
        request = self.request
        made: dict[str, Any] = {
            "benchmark": self.benchmark.name,
            **request.as_options(),
            "level": float(request.level),
            "power": float(request.power),
            "shape": shape.shape(self.benchmark),
            "tasks": shape.task_rows(self.benchmark),
        }
        models = self._models()
        made["models"] = models
        made["tiers"] = [
            [m["model"] for m in models if m["tier"] == tier]
            for tier in range(1, models[-1]["tier"] + 1)
        ]
        made["pairs"] = self._pairs()
        made["adjacent"] = self._adjacent()
        made["first_place"] = self._first_place()
        made["frontier"] = self._frontier()
        made["warnings"] = cautions.cautions(made)
        made["provenance"] = list(self.benchmark.provenance)
        return made

    def _models(self) -> list[dict[str, Any]]:
        scores, tests, alpha = self.scores, self.tests, self.request.alpha
        first = self.order[0]
        adjusted, single = tests.matrix(tests.p_adjusted), tests.matrix(tests.p)
        low, high, interval = precision.intervals(scores, self.request)
        rank = ranks(scores.totals)
        firsts = np.flatnonzero(rank == 1)
        best, worst = rank_bounds(scores.totals, adjusted, alpha)
        tier = tiers(scores.totals, self.order, adjusted, alpha)
        top = {int(tier[m]): m for m in reversed(self.order)}
        detectable = self._detectable_to_first()
        by_task = shape.task_scores_pp(self.benchmark)
        some, full = self._shares(1), self._shares(self.benchmark.denominator)
        return [
            {
                "model": self.benchmark.models[m],
                "rank": int(rank[m]),
                "tied": bool((rank == rank[m]).sum() > 1),
                "score_pp": plain(scores.scores_pp[m]),
                "score_pp_low": plain(low[m]),
                "score_pp_high": plain(high[m]),
                "interval": interval,
                "tier": int(tier[m]),
                "difference_pp": self._difference(m, first),
                "difference_tier_pp": self._difference(m, top[int(tier[m])]),
                "p_first": _largest(single[firsts, m]),
                "p_first_adjusted": _largest(adjusted[firsts, m]),
                "rank_low": int(best[m]),
                "rank_high": int(worst[m]),
                "mde_pp": plain(detectable[m]),
                "frontier": bool(self.on_frontier[m]),
                "any_pp": some[m],
                "full_pp": full[m],
                "task_scores_pp": by_task[m].tolist(),
            }
            for m in self.order
        ]

    def _difference(self, m: int, other: int) -> float:
        """The score less another's in pp, rounded once."""
        return 100 * (self.scores.totals[m] - self.scores.totals[other]) / self.scores.out_of

    def _shares(self, least: int) -> list[float]:
        """The weight in pp of the items on which a model counts at least so much."""
        reached = (self.benchmark.counts >= least) * self.scores.weights
        of = self.scores.out_of // self.benchmark.denominator
        return [100 * int(share) / of for share in reached.sum(axis=1)]

    def _detectable_to_first(self) -> np.ndarray:
        """Against the model of rank 1; that one against the second."""
        found = np.full(len(self.order), np.nan)
        if len(self.order) > 1:
            others = np.array(self.order[1:])
            first = np.full(len(others), self.order[0])
            found[others] = precision.detectable(self.scores, first, others, self.request)
            found[self.order[0]] = found[self.order[1]]
        return found

    def _pairs(self) -> dict[str, Any]:
        tests, alpha = self.tests, self.request.alpha
        ahead = np.minimum(self.place[tests.a], self.place[tests.b])
        behind = np.maximum(self.place[tests.a], self.place[tests.b])
        in_order = np.lexsort((behind, ahead))
        exact = "mcnemar" if self.scores.right_or_wrong else "sign_flip"
        kinds = [exact, *(f"sign_flip_{method}" for method in stats.SIGN_FLIP_METHODS[1:])]
        names = [kinds[method] for method in tests.method[in_order]]
        a, b = ahead[in_order].tolist(), behind[in_order].tolist()
        return {
            "tested": len(names),
            "separable_unadjusted": int((tests.p < alpha).sum()),
            "separable": int((tests.p_adjusted < alpha).sum()),
            "tests": dict(sorted(Counter(names).items())),
            "a": a,
            "b": b,
            "difference_pp": [
                self._difference(self.order[x], self.order[y]) for x, y in zip(a, b, strict=True)
            ],
            "p": tests.p[in_order].tolist(),
            "p_adjusted": tests.p_adjusted[in_order].tolist(),
            "test": names,
        }

    def _adjacent(self) -> dict[str, Any]:
        upper, lower = np.array(self.order[:-1], dtype=int), np.array(self.order[1:], dtype=int)
        tests, alpha = self.tests, self.request.alpha
        found: dict[str, Any] = {
            "pairs": len(upper),
            "separable_unadjusted": int((tests.matrix(tests.p)[upper, lower] < alpha).sum()),
            "separable": int((tests.matrix(tests.p_adjusted)[upper, lower] < alpha).sum()),
            "mde_pp": None,
        }
        if len(upper):
            detectable = precision.detectable(self.scores, upper, lower, self.request)
            if not np.isnan(detectable).all():
                found["mde_pp"] = plain(np.nanmedian(detectable))
        return found

    def _first_place(self) -> dict[str, Any]:
        totals, names = self.scores.totals, self.benchmark.models
        deciding = leading.deciding_items(self.scores, self.order)
        items = len(self.benchmark.items)
        return {
            "models": [names[m] for m in self.order if totals[m] == totals[self.order[0]]],
            "deciding_items": None if deciding is None else deciding.items,
            "share": None if deciding is None else deciding.items / items,
            "rival": None if deciding is None else names[deciding.rival],
        }

    def _frontier(self) -> dict[str, Any]:
        names = self.benchmark.models
        chosen = leading.endpoints(self.benchmark, self.request.scoring)
        pairs = None
        if chosen is not None:
            pairs = {
                rule: None if pair is None else [names[m] for m in pair]
                for rule, pair in chosen.items()
            }
        return {
            "size": int(self.on_frontier.sum()),
            "models": [names[m] for m in self.order if self.on_frontier[m]],
            "endpoints": pairs,
            "agree": None if pairs is None else _agree(list(pairs.values())),
        }


def _largest(p: np.ndarray) -> float | None:
    """The largest of some p-values, None where none is defined."""
    return None if np.isnan(p).all() else plain(np.nanmax(p))


def _agree(pairs: list[list[str] | None]) -> bool:
    """Whether every rule picks the same two models, whichever of them it calls A."""
    return None not in pairs and len({frozenset(pair or ()) for pair in pairs}) == 1
