"""The attack from Python: what `jaxbench.attack` runs and returns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from jaxbench import metrics
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, Condition, Evaluator, Runner, Stopwatch, run_cell
from jaxbench.engine.requests import request_for
from jaxbench.engine.tables import trial_table
from jaxbench.errors import BadRequest, unknown
from jaxbench.jobs.promised import promised
from jaxbench.options import AttackRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Called with trials done and trials in all.
Progress = Callable[[int, int], None]


@dataclass
class ConditionResult:
    """One condition: bank 0 in full, the means of every bank (0 first), how it was computed."""

    condition: Condition
    coordinates: int
    summary: metrics.Summary
    banks: list[metrics.Summary]
    variance: metrics.CrossedVariance
    arithmetic: str = ""
    redone: int = 0
    tables: list[pd.DataFrame] = field(default_factory=list)


class AttackResult:
    """What an attack measured: tables per trial and per budget, and figures.

    `theory` has what theory promises about the mechanism at this size, and does not, in sentences.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        request: AttackRequest,
        conditions: list[ConditionResult],
        watch: Stopwatch,
    ):
        self.benchmark, self.request = benchmark, request
        self.conditions, self.watch = conditions, watch
        self.theory = promised(benchmark, request)
        self._summary: pd.DataFrame | None = None

    def __repr__(self) -> str:
        conditions = ", ".join(condition_name(c.condition) for c in self.conditions)
        return f"AttackResult({self.benchmark.name!r}: {self.request.trials} trials, {conditions})"

    def trials(self) -> pd.DataFrame:
        """One row per condition, trial and budget (0 = no attack); scores in percentage points.

        Empty with `save_trials=False`.
        """
        tables = [self.named(c, table) for c in self.conditions for table in c.tables]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def summary(self) -> pd.DataFrame:
        """One row per condition and budget: means over trials with 95 % bootstrap intervals.

        With hash routers the intervals are conditional on the bank; with `banks` > 1 the columns
        `_bank_mean` and `_bank_sd` show what other banks give.
        """
        if self._summary is None:
            self._summary = pd.concat(
                [self._condition_summary(c) for c in self.conditions], ignore_index=True
            )
        return self._summary.copy()

    def variance(self) -> pd.DataFrame:
        """Variance of the selection loss (pp squared) by its sources, with `banks` > 1.

        Per condition and budget: `splits`, `banks`, and the `rest` (both together).
        """
        parts = [self.named(c, c.variance.components()) for c in self.conditions]
        return pd.concat(parts, ignore_index=True)

    def first_significant_budget(self) -> dict[str, int | None]:
        """Per condition, the first budget >= 2 with a mean selection loss surely above 0."""
        seed = self.request.bootstrap_seed
        return {
            condition_name(c.condition): c.summary.first_significant_budget(seed=seed)
            for c in self.conditions
        }

    def plot(self, metric: str = "selection_loss_pp") -> "Figure":
        """A metric of the summary against the budget, with intervals."""
        from jaxbench.report import budget_figure

        if metric not in metrics.METRICS:
            raise unknown("metric", metric, metrics.METRICS)
        return budget_figure(self.summary(), metric)

    def named(self, result: ConditionResult, table: pd.DataFrame) -> pd.DataFrame:
        """The condition columns in front of a table."""
        condition = {
            "benchmark": self.benchmark.name,
            "endpoints": result.condition.rule,
            "interface": result.condition.interface,
            "mechanism": result.condition.mechanism_name,
            "coordinates": result.coordinates,
        }
        front = pd.DataFrame(condition, index=table.index)
        return pd.concat([front, table], axis=1)

    def _condition_summary(self, result: ConditionResult) -> pd.DataFrame:
        table = result.summary.table(
            resamples=self.request.resamples, seed=self.request.bootstrap_seed
        )
        if len(result.banks) > 1:
            spread = metrics.bank_spread([bank.means() for bank in result.banks])
            table = pd.concat([table, spread], axis=1)
        return self.named(result, table)


def attack(
    benchmark: Benchmark, *, progress: Progress | None = None, **options: object
) -> AttackResult:
    """Attack a benchmark: random routers between two models and a weighted vote on the feedback.

    **Arguments:**

    - `benchmark`: from `jaxbench.load` or `jaxbench.read`.
    - `progress`: called with trials done and trials in all.
    - `options`: those of `jaxbench attack` (the table in the README), such as `budgets=[1, 128]`.
      The preset is `published` for a benchmark with a published protocol, else `simulation`.

    **Returns:** an `AttackResult` with `.summary()`, `.trials()` and `.plot()`.

    **Errors:** `BadRequest` for an unknown option or value, or a benchmark that cannot be split.
    Source: "Fast but False Progress on Benchmarks with Richer Feedback" (2026); arXiv 2609.32109.
    """
    if not isinstance(benchmark, Benchmark):
        raise BadRequest(
            f"attack takes a Benchmark from jaxbench.load or jaxbench.read, not {type(benchmark)}"
        )
    run = AttackRun(benchmark, request_for(benchmark, options), progress)
    for result, table in run:
        if run.request.save_trials:
            result.tables.append(table)
    return run.result()


class AttackRun:
    """An attack under way: iterate over tables of trials, then take the `result`.

    Iterating gives the tables of bank 0, some trials at a time, with the condition that they
    belong to; sums over all trials are kept on the way, the tables are not.

    **Arguments:** `runner`, `host_bytes`: how memory is used.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        request: AttackRequest,
        progress: Progress | None = None,
        *,
        runner: Runner | None = None,
        host_bytes: int | None = None,
    ):
        self.request, self.progress = request, progress
        self._runner, self._host_bytes = runner, host_bytes
        self.watch = Stopwatch()
        with self.watch:
            self.evaluator = Evaluator(benchmark, request)
            self.cell = Cell(self.evaluator)
        self.conditions = {
            condition: ConditionResult(
                condition=condition,
                coordinates=self.evaluator.coordinates(condition),
                summary=metrics.Summary(request.trials, (0, *request.budgets)),
                banks=[
                    metrics.Summary(request.trials, (0, *request.budgets), means_only=True)
                    for _ in range(request.banks)
                ],
                variance=metrics.CrossedVariance(request.trials, request.banks, request.budgets),
            )
            for condition in self.evaluator.conditions
        }

    def __iter__(self) -> Iterator[tuple[ConditionResult, pd.DataFrame]]:
        outcomes = run_cell(
            self.cell, self.progress, runner=self._runner, host_bytes=self._host_bytes
        )
        while True:
            with self.watch:
                outcome = next(outcomes, None)
                if outcome is None:
                    return
                table = trial_table(outcome)
                result = self.conditions[outcome.condition]
                result.banks[outcome.bank].add(table)
                if outcome.bank == 0:
                    result.summary.add(table)
                    result.arithmetic = outcome.arithmetic
                    result.redone += int(outcome.endpoints.redone.sum())
                if self.request.banks > 1:
                    self._add_variance(result, outcome.bank, table)
            if outcome.bank == 0:
                yield result, table

    def result(self) -> AttackResult:
        """What was measured."""
        conditions = list(self.conditions.values())
        return AttackResult(self.evaluator.benchmark, self.request, conditions, self.watch)

    def _add_variance(self, result: ConditionResult, bank: int, table: pd.DataFrame) -> None:
        losses = table["selection_loss_pp"].to_numpy(dtype=np.float64)
        losses = losses.reshape(-1, 1 + len(self.request.budgets))[:, 1:]
        result.variance.add(bank, int(table["trial"].iloc[0]), losses)


def condition_name(condition: Condition) -> str:
    """A condition in one word."""
    return f"{condition.rule}/{condition.interface}"
