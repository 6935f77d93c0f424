"""`jaxbench attack`, and the same from Python."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from jaxbench import metrics, sources
from jaxbench.benchmark import Benchmark
from jaxbench.engine import ConditionOutcome, Stopwatch, run_attack
from jaxbench.errors import BadRequest
from jaxbench.options import AttackRequest, resolve
from jaxbench.options.attack import JOB_OPTIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_BENCHMARK = "terminal_science"


@dataclass(frozen=True)
class Condition:
    """One endpoint rule: the trials of bank 0, and the means of every bank (0 first)."""

    rule: str
    trials: pd.DataFrame
    bank_means: tuple[pd.DataFrame, ...]
    arithmetic: str
    redone: int


class AttackResult:
    """What an attack measured: tables per trial and per budget, and figures."""

    def __init__(
        self,
        benchmark: Benchmark,
        request: AttackRequest,
        conditions: list[Condition],
        watch: Stopwatch,
    ):
        self.benchmark, self.request = benchmark, request
        self.conditions, self.watch = conditions, watch
        self._summary: pd.DataFrame | None = None

    def trials(self) -> pd.DataFrame:
        """One row per condition, trial and budget (0 = no attack); scores in percentage points."""
        return pd.concat(
            [self._named(c.rule, c.trials) for c in self.conditions], ignore_index=True
        )

    def summary(self) -> pd.DataFrame:
        """One row per condition and budget: means over trials with 95 % bootstrap intervals.

        The intervals are conditional on the router bank. With `banks` > 1 the columns
        `_bank_mean` and `_bank_sd` show what other banks give.
        """
        if self._summary is None:
            self._summary = pd.concat(
                [self._condition_summary(c) for c in self.conditions], ignore_index=True
            )
        return self._summary.copy()

    def first_significant_budget(self) -> dict[str, int | None]:
        """Per endpoint rule, the first budget >= 2 with a mean selection loss surely above 0."""
        seed = self.request.bootstrap_seed
        return {
            c.rule: metrics.first_significant_budget(c.trials, seed=seed) for c in self.conditions
        }

    def plot(self, metric: str = "selection_loss_pp") -> "Figure":
        """A metric of the summary against the budget, with intervals."""
        from jaxbench.report import budget_figure

        return budget_figure(self.summary(), metric)

    def _condition_summary(self, condition: Condition) -> pd.DataFrame:
        table = metrics.summarise(
            condition.trials,
            resamples=self.request.resamples,
            seed=self.request.bootstrap_seed,
        )
        if len(condition.bank_means) > 1:
            table = pd.concat([table, metrics.bank_spread(condition.bank_means)], axis=1)
        return self._named(condition.rule, table)

    def _named(self, rule: str, table: pd.DataFrame) -> pd.DataFrame:
        """The condition columns in front of a table."""
        condition = {
            "benchmark": self.benchmark.name,
            "endpoints": rule,
            "interface": self.request.interface[0],
            "mechanism": "none",
            "coordinates": len(self.benchmark.tasks),
        }
        front = pd.DataFrame(condition, index=table.index)
        return pd.concat([front, table], axis=1)


def attack(
    benchmark: Benchmark,
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: object,
) -> AttackResult:
    """Attack a benchmark: random routers between two models and a weighted vote on the feedback.

    **Arguments:**

    - `benchmark`: from `jaxbench.load` or `jaxbench.read`.
    - `progress`: called with trials done and trials in all.
    - `options`: those of `jaxbench attack` (the table in the README), such as `budgets=[1, 128]`.

    **Returns:** an `AttackResult` with `.summary()`, `.trials()` and `.plot()`.

    **Errors:** `BadRequest` for an unknown option or value, or a benchmark that cannot be split.
    Source: "Fast but False Progress on Benchmarks with Richer Feedback" (2026); arXiv 2609.32109.
    """
    request = resolve(options, benchmark.protocol)
    return run(benchmark, request, progress)


def run(
    benchmark: Benchmark,
    request: AttackRequest,
    progress: Callable[[int, int], None] | None = None,
) -> AttackResult:
    """Run a resolved request."""
    tables: dict[str, pd.DataFrame] = {}
    means: dict[str, list[pd.DataFrame]] = {rule: [] for rule in request.endpoints}
    outcomes: dict[str, ConditionOutcome] = {}
    with Stopwatch() as watch:
        for outcome in run_attack(benchmark, request, progress=progress):
            table = _table(benchmark, request, outcome)
            means[outcome.rule].append(metrics.budget_means(table))
            # Rows stay those of bank 0, the first of its rule.
            tables.setdefault(outcome.rule, table)
            outcomes.setdefault(outcome.rule, outcome)
    conditions = [
        Condition(
            rule=rule,
            trials=tables[rule],
            bank_means=tuple(means[rule]),
            arithmetic=outcomes[rule].arithmetic,
            redone=outcomes[rule].endpoints.redone,
        )
        for rule in request.endpoints
    ]
    return AttackResult(benchmark, request, conditions, watch)


def _table(benchmark: Benchmark, request: AttackRequest, outcome: ConditionOutcome) -> pd.DataFrame:
    pair = outcome.endpoints
    return metrics.trial_table(
        metrics.trial_metrics(outcome.genuine, outcome.router),
        outcome.router,
        models=benchmark.models,
        budgets=outcome.budgets,
        keep=request.budgets,
        endpoints=(pair.a, pair.b),
        eligible=pair.eligible,
        trial=np.arange(request.trials),
    )


def open_benchmark(options: Mapping[str, object]) -> Benchmark:
    """The benchmark that `benchmark=` or `path=` names.

    **Errors:** `BadRequest` where both are given, or neither can be found.
    """
    name, path = options.get("benchmark"), options.get("path")
    if name is not None and path is not None:
        raise BadRequest(
            f"benchmark={name} together with path={path}: outcomes come from one of the two"
        )
    if path is not None:
        return sources.read(str(path))
    return sources.load(DEFAULT_BENCHMARK if name is None else str(name))


def attack_options(options: Mapping[str, object]) -> dict[str, object]:
    """The options of the attack itself, out of those of the command."""
    return {name: value for name, value in options.items() if name not in JOB_OPTIONS}
