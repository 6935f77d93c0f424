"""Run an attack: splits, endpoints, banks, kernel calls, outcomes per condition.

The wall runs through this file. The evaluator's arrays (`Benchmark`, `Board`, splits) stay here;
the attacker's functions are handed public profiles, prompt hashes and released contrasts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench import attacker, leaderboard, metrics
from jaxbench.attacker.routers import hash_ties
from jaxbench.benchmark import Benchmark, hash_splits, scoring
from jaxbench.engine import kernel, plan
from jaxbench.engine.banks import cached_bank
from jaxbench.engine.layout import Layout, bucket
from jaxbench.options import AttackRequest


@dataclass(frozen=True)
class ConditionOutcome:
    """One endpoint rule under one bank: everything the tables are made of."""

    rule: str
    bank: int
    budgets: tuple[int, ...]
    endpoints: attacker.Endpoints
    genuine: metrics.GenuineScores
    router: metrics.RouterScores
    arithmetic: str


class Study:
    """What all conditions and banks of one request share: splits, tallies, endpoints, weights."""

    def __init__(self, benchmark: Benchmark, request: AttackRequest):
        self.benchmark, self.request = benchmark, request
        # The static router is always computed: other budgets are compared with it.
        self.budgets = tuple(sorted({1, *request.budgets}))
        self.reused = hash_splits(
            benchmark,
            trials=request.trials,
            seed_base=request.split_seed_base,
            holdout_fraction=request.holdout_fraction,
        )
        self.board = leaderboard.tally(benchmark, self.reused)
        board = self.board
        self.reused_weights = scoring.task_weights(benchmark, request.scoring, board.reused_sizes)
        self.heldout_weights = scoring.task_weights(benchmark, request.scoring, board.heldout_sizes)
        self.genuine = metrics.GenuineScores(
            reused=self._overall(board.reused, self.reused_weights, board.reused_sizes),
            heldout=self._overall(board.heldout, self.heldout_weights, board.heldout_sizes),
        )
        profiles = attacker.PublicProfiles(
            numerators=board.reused,
            denominators=board.reused_sizes * benchmark.denominator,
            overall_weights=self.reused_weights,
            mean_weights=scoring.mean_weights(benchmark),
        )
        self.endpoints = {
            rule: attacker.choose_endpoints(profiles, rule) for rule in request.endpoints
        }
        active = np.zeros(len(benchmark.items), dtype=bool)
        for pair in self.endpoints.values():
            for a, b in {*zip(pair.a.tolist(), pair.b.tolist(), strict=True)}:
                active |= benchmark.counts[a] != benchmark.counts[b]
        self.layout = Layout.of(benchmark.task_index, active, len(benchmark.tasks))
        # Prompts in the order of their first slot: signs are drawn once per prompt.
        held = self.layout.items[self.layout.items >= 0]
        hashes = [benchmark.prompt_hashes[item] for item in held]
        self.prompts = tuple(dict.fromkeys(hashes))
        place = {prompt: index for index, prompt in enumerate(self.prompts)}
        self.prompt_of_slot = np.zeros(len(self.layout.items), dtype=np.int64)
        self.prompt_of_slot[self.layout.items >= 0] = [place[h] for h in hashes]

    def _overall(self, counts, weights, sizes) -> np.ndarray:
        return scoring.overall(counts, weights, sizes, self.benchmark.denominator)

    def scale(self) -> kernel.Scale:
        """What a count adds to the overall score on each side, for the kernel."""
        of = self.benchmark.denominator
        reused = scoring.per_count(self.reused_weights, self.board.reused_sizes, of)
        heldout = scoring.per_count(self.heldout_weights, self.board.heldout_sizes, of)
        return kernel.Scale(
            reused=jnp.asarray(reused),
            heldout=jnp.asarray(heldout),
            uniform=bool(np.all(reused == reused[0]) and np.all(heldout == heldout[0])),
        )

    def rows(self, rule: str, trials: np.ndarray) -> kernel.Rows:
        """The kernel's view of some trials under one endpoint rule."""
        pair = self.endpoints[rule]
        a, b = pair.a[trials], pair.b[trials]
        counts = self.layout.gather(self.benchmark.counts)
        history = metrics.genuine_history(self.genuine)
        public, hidden = self.board.reused[trials], self.board.heldout[trials]
        index = np.arange(len(trials))
        return kernel.Rows(
            differences=jnp.asarray((counts[a] - counts[b]).astype(np.int32)),
            reused=jnp.asarray(self.layout.gather(self.reused[trials], fill=False)),
            static=jnp.asarray(public[index, a] - public[index, b]),
            sums_reused=jnp.asarray((public[index, a] + public[index, b]).astype(np.float64)),
            sums_heldout=jnp.asarray((hidden[index, a] + hidden[index, b]).astype(np.float64)),
            best_reused=jnp.asarray(history.best_reused[trials]),
            best_heldout=jnp.asarray(history.best_heldout[trials]),
            gap=jnp.asarray(history.gap[trials]),
        )

    def signs(self, bank: int) -> tuple[np.ndarray, np.ndarray]:
        """Signs per candidate and slot, and tie signs per slot, of one bank."""
        candidates = self.budgets[-1] - 1
        drawn = cached_bank(
            self.prompts, routing_seed=self.request.bank_seed(bank), candidates=candidates
        )
        ties = hash_ties(self.prompts, self.request.tie_seed)
        if not self.prompts:
            slots = len(self.layout.items)
            return np.ones((bucket(candidates), slots), np.int8), np.ones(slots, np.int8)
        padded = np.ones((bucket(candidates), len(self.prompts)), dtype=np.int8)
        padded[:candidates] = drawn
        return padded[:, self.prompt_of_slot], ties[self.prompt_of_slot]

    def arithmetic(self, rule: str, block: int) -> plan.Arithmetic:
        """The narrowest arithmetic that is exact for every trial of a rule."""
        pair = self.endpoints[rule]
        largest_contrast = largest_total = 0
        for trial in np.flatnonzero(pair.eligible):
            apart = np.abs(
                self.benchmark.counts[pair.a[trial]] - self.benchmark.counts[pair.b[trial]]
            )
            public = np.where(self.reused[trial], apart, 0)
            per_task = np.bincount(self.benchmark.task_index, weights=public)
            largest_contrast = max(largest_contrast, int(per_task.max()))
            largest_total = max(largest_total, int(public.sum()), int((apart - public).sum()))
        return plan.choose_arithmetic(largest_contrast, largest_total, self.budgets[-1] - 1, block)


def run_attack(
    benchmark: Benchmark,
    request: AttackRequest,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[ConditionOutcome]:
    """Run every endpoint rule under every bank; bank 0 of a rule comes first.

    **Arguments:** `progress`: called with trials done and trials in all.

    **Errors:** `BadRequest` where the benchmark cannot be split or scored as asked, or no
    arithmetic could hold the votes.
    """
    study = Study(benchmark, request)
    total = request.trials * len(request.endpoints) * request.banks
    done = 0
    block = plan.CANDIDATE_BLOCK.get(jax.default_backend(), 64)
    # Refuse before anything is computed.
    arithmetic = {rule: study.arithmetic(rule, block) for rule in request.endpoints}
    for bank in range(request.banks):
        signs, ties = study.signs(bank)
        for rule in request.endpoints:
            parts = []
            for part in _attack_in_parts(study, rule, signs, ties, arithmetic[rule], block):
                parts.append(part)
                done += len(part[0])
                if progress:
                    progress(done, total)
            yield ConditionOutcome(
                rule=rule,
                bank=bank,
                budgets=study.budgets,
                endpoints=study.endpoints[rule],
                genuine=study.genuine,
                router=metrics.RouterScores(*(np.concatenate(p) for p in zip(*parts, strict=True))),
                arithmetic=arithmetic[rule].name,
            )


def _attack_in_parts(study, rule, signs, ties, arithmetic, block) -> Iterator[tuple]:
    """Router scores of some trials at a time, each `(trials, budgets)`."""
    trials = study.request.trials
    sizes = study.layout.sizes
    together = plan.rows_per_call(trials, sum(sizes), len(study.budgets), len(sizes), block)
    board, of = study.board, study.benchmark.denominator
    for first in range(0, trials, together):
        # The last call repeats its last trial rather than compile a shape of its own.
        wanted = np.arange(first, first + together)
        here = np.minimum(wanted, trials - 1)
        with jax.enable_x64(True):
            rows = study.rows(rule, here)
            outcomes = kernel.attack_rows(
                rows,
                jnp.asarray(signs),
                jnp.asarray(ties),
                jnp.asarray(study.budgets, dtype=jnp.int32),
                study.scale(),
                sizes=sizes,
                arithmetic=arithmetic,
                block=block,
            )
            outcomes = jax.tree.map(np.asarray, outcomes)
            sums = np.asarray(rows.sums_reused), np.asarray(rows.sums_heldout)
        counts = (sums[0] + outcomes.reused) / 2, (sums[1] + outcomes.heldout) / 2
        reused = scoring.overall(counts[0], study.reused_weights, board.reused_sizes, of)
        heldout = scoring.overall(counts[1], study.heldout_weights, board.heldout_sizes, of)
        rows_kept = int((wanted < trials).sum())
        columns = (reused, heldout, outcomes.best_reused, outcomes.best_heldout, outcomes.gap)
        yield tuple(column.T[:rows_kept] for column in columns)
