"""One condition of a study, ready for the kernel: layout, arithmetic, banks and rows."""

from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from jaxbench import attacker, metrics
from jaxbench.attacker.routers import FRESH_BLOCK, hash_ties
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine import kernel, plan
from jaxbench.engine.banks import cached_bank
from jaxbench.engine.layout import Layout
from jaxbench.engine.study import Condition, Study, Tally
from jaxbench.shapes import bucket


class Attack:
    """One condition of a study: its endpoints, layout and arithmetic, and its banks."""

    def __init__(self, study: Study, condition: Condition, endpoints: attacker.Endpoints):
        self.study, self.condition, self.endpoints = study, condition, endpoints
        self.fresh = study.request.routers == "prng"
        block = plan.SHARED_BLOCK.get(jax.default_backend(), 64)
        self.block = FRESH_BLOCK if self.fresh else block
        self.pairs, self.pair_of_trial = np.unique(
            np.stack([endpoints.a, endpoints.b], axis=1), axis=0, return_inverse=True
        )

    def check(self) -> None:
        """Refuse what cannot be computed, before anything is.

        **Errors:** `BadRequest` where no arithmetic is exact, or the bank is too large.
        """
        assert self.arithmetic
        if not self.fresh:
            plan.check_bank(self.study.budgets[-1] - 1, sum(self.layout.sizes))

    @cached_property
    def first(self) -> Tally:
        """The first trial's tally: what does not change between trials."""
        study = self.study
        return study.tally(self.condition.interface, study.splits(np.zeros(1, dtype=np.int64)))

    @cached_property
    def layout(self) -> Layout:
        """Slots for the items on which endpoints differ.

        All pairs' together under a shared bank, each pair's own where trials draw their own signs.
        """
        counts = self.study.benchmark.counts
        active = counts[self.pairs[:, 0]] != counts[self.pairs[:, 1]]
        if not self.fresh:
            active = active.any(axis=0, keepdims=True)
        release = self.first.rules.release
        order = [unit for units in release.units for unit in units]
        return Layout.of(self.first.units.of_item, order, active)

    @cached_property
    def arithmetic(self) -> plan.Arithmetic:
        """The narrowest arithmetic that is exact for every pair and every split.

        **Errors:** `BadRequest` where none is.
        """
        units, release = self.first.units, self.first.rules.release
        counts, of = self.study.benchmark.counts, self.study.benchmark.denominator
        apart = np.abs(counts[self.pairs[:, 0]] - counts[self.pairs[:, 1]])
        # No split can put more of a unit on the reused side than its items that differ.
        per_unit = np.stack(
            [apart[:, units.of_item == unit].sum(axis=1) for unit in range(units.count)], axis=1
        )
        if release.linear:
            largest = release.chain(per_unit[:, None, :].astype(np.float64)).max()
        else:
            largest = 2 * release.chain.largest.max()
        total = max(per_unit.sum(axis=1).max(), of)
        return plan.choose_arithmetic(
            int(largest), int(total), self.study.budgets[-1] - 1, self.block
        )

    @cached_property
    def rows_per_call(self) -> int:
        """Trials of one kernel call."""
        sizes = self.layout.sizes
        return plan.rows_per_call(
            self.study.request.trials, slots=sum(sizes), budgets=len(self.study.budgets),
            units=len(sizes), block=self.block, fresh=self.fresh,
        )  # fmt: skip

    @cached_property
    def _prompts(self) -> np.ndarray:
        """The prompt number of every item, as counters take it."""
        return self.study.benchmark.prompt_index.astype(np.uint32)

    def shared_bank(self, bank: int) -> attacker.SharedBank:
        """A hash bank, by slots and candidates."""
        request, benchmark = self.study.request, self.study.benchmark
        items = self.layout.items[0]
        hashes = [benchmark.prompt_hashes[item] for item in items[items >= 0]]
        prompts = tuple(dict.fromkeys(hashes))
        place = {prompt: index for index, prompt in enumerate(prompts)}
        candidates = self.study.budgets[-1] - 1
        drawn = cached_bank(prompts, routing_seed=request.bank_seed(bank), candidates=candidates)
        padded = -(-bucket(candidates + 1) // self.block) * self.block
        signs = np.zeros((len(items), padded), dtype=np.int8)
        ties = np.ones(len(items), dtype=np.int8)
        chosen = [place[h] for h in hashes]
        signs[items >= 0, 1 : candidates + 1] = drawn.T[chosen]
        ties[items >= 0] = hash_ties(prompts, request.tie_seed)[chosen]
        return attacker.SharedBank(signs=jnp.asarray(signs), tie_signs=jnp.asarray(ties))

    def fresh_bank(self, trials: np.ndarray) -> attacker.FreshBank:
        """Routers of these trials' own."""
        prompts = np.broadcast_to(self._prompts, (len(trials), len(self._prompts)))
        per_slot = self.layout.gather(prompts, self.pair_of_trial[trials])
        keys = trial_keys(self.study.request.seed, (Stream.ROUTER, Stream.TIE), trials)
        return attacker.FreshBank(*keys, prompts=jnp.asarray(per_slot))

    def rows(self, tally: Tally, reused: np.ndarray, trials: np.ndarray) -> kernel.Rows:
        """The kernel's view of some trials (splits and tallies are of these trials)."""
        benchmark = self.study.benchmark
        a, b = self.endpoints.a[trials], self.endpoints.b[trials]
        layouts = (
            self.pair_of_trial[trials] if self.fresh else np.zeros(len(trials), dtype=np.int64)
        )
        counts, board, index = benchmark.counts, tally.board, np.arange(len(trials))
        released = tally.rules.release.chain(board.reused.astype(np.float64))
        history = metrics.genuine_history(tally.genuine)
        return kernel.Rows(
            differences=jnp.asarray(
                self.layout.gather((counts[a] - counts[b]).astype(np.int32), layouts)
            ),
            reused=jnp.asarray(self.layout.gather(reused, layouts)),
            sums_reused=_both(board.reused, index, a, b),
            sums_heldout=_both(board.heldout, index, a, b),
            static=jnp.asarray(released[index, a] - released[index, b]),
            released=_both(released, index, a, b),
            best_reused=jnp.asarray(history.best_reused),
            best_heldout=jnp.asarray(history.best_heldout),
            gap=jnp.asarray(history.gap),
        )


def _both(values: np.ndarray, index: np.ndarray, a: np.ndarray, b: np.ndarray) -> jax.Array:
    return jnp.asarray((values[index, a] + values[index, b]).astype(np.float64))
