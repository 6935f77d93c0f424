"""A cell: one benchmark under all conditions that share trials and routers.

Trials come in chunks. A chunk is split, counted and given its endpoints on the host, which is all
that the kernel's rows are made of.
"""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Bool, Int

from jaxbench import attacker, leaderboard, metrics
from jaxbench.counters import Stream, trial_keys
from jaxbench.engine import kernel, plan
from jaxbench.engine.banks import SharedBanks
from jaxbench.engine.channels import Channelled
from jaxbench.engine.conditions import Condition, Side, budgets_run
from jaxbench.engine.evaluator import Evaluator
from jaxbench.engine.frame import Frame
from jaxbench.engine.layout import Layout
from jaxbench.engine.tally import Tally
from jaxbench.metrics.trial import History

# Mechanisms in one program: each adds to what there is to compile.
MOST_CHANNELS = 8


@dataclass(frozen=True)
class Chunk:
    """Some trials of a cell under some conditions: tallies per side, endpoints per condition.

    `views[view_of[c]]` is the view of condition c: its tally, and the condition whose endpoints it
    takes. `made[c]` is what stands between its numbers and their release, if anything does.
    """

    cell: "Cell"
    conditions: tuple[Condition, ...]
    trials: Int[np.ndarray, " trials"]
    tallies: dict[Side, Tally]
    endpoints: tuple[attacker.Endpoints, ...]
    made: tuple[Channelled | None, ...]
    views: tuple[tuple[Side, int], ...]
    view_of: tuple[int, ...]

    def tally(self, condition: int) -> Tally:
        """The tally of a condition."""
        return self.tallies[self.views[self.view_of[condition]][0]]

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The budgets at which routers are needed."""
        return budgets_run(self.conditions, self.cell.evaluator.budgets)

    @cached_property
    def private(self) -> Tally:
        """The reused items that are kept from the board, where the condition keeps some."""
        side = self.conditions[0].side
        whole = self.cell.tallies(self.trials, [side._replace(public=None)])
        (split,) = (tally.split for tally in whole.values())
        apart = split.reused & ~self.tally(0).split.reused
        return self.cell.evaluator.tally(split._replace(reused=apart))

    @cached_property
    def releases(self) -> tuple[leaderboard.Release, ...]:
        """What is released under every condition."""
        evaluator = self.cell.evaluator
        return tuple(
            evaluator.release(self.tally(c), condition)
            for c, condition in enumerate(self.conditions)
        )

    @cached_property
    def rules(self) -> kernel.Rules:
        """The kernel's rules; arrays with a trial axis have it first, of length 1 or `trials`."""
        tallies = [self.tallies[size] for size, _ in self.views]
        return kernel.Rules(
            releases=tuple(release.bare() for release in self.releases),
            reused=tuple(tally.reused.bare() for tally in tallies),
            heldout=tuple(tally.heldout.bare() for tally in tallies),
            # Their arrays are given with the rows: they come in shapes of their own.
            mechanisms=(None,) * len(self.conditions),
            view_of=self.view_of,
            decoders=tuple(condition.decoder for condition in self.conditions),
            submitter=self.cell.votes,
        )

    @cached_property
    def varies(self) -> bool:
        """Whether anything in the rules differs between trials."""
        trials = len(self.trials)
        leaves = jax.tree.leaves(self.rules)
        return trials > 1 and any(np.ndim(x) == 3 and len(x) == trials for x in leaves)

    @cached_property
    def pairs(self) -> Int[np.ndarray, "trials views 2"]:
        """Endpoints A and B of every view."""
        found = [self.endpoints[condition] for _, condition in self.views]
        return np.stack([np.stack([pair.a, pair.b], axis=1) for pair in found], axis=1)

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Sets of pairs that occur, and that of every trial."""
        flat = self.pairs.reshape(len(self.trials), -1)
        sets, of_trial = np.unique(flat, axis=0, return_inverse=True)
        return sets.reshape(len(sets), -1, 2), of_trial

    @cached_property
    def active(self) -> Bool[np.ndarray, "layouts items"]:
        """Items on which some pair of a set differs: of every set, or of all that a bank serves."""
        counts, (sets, _) = self.cell.evaluator.benchmark.counts, self._distinct
        if self.cell.fresh:
            apart = [counts[s[:, 0]] != counts[s[:, 1]] for s in sets]
            return np.stack([differ.any(axis=0) for differ in apart])
        every = np.unique(sets.reshape(-1, 2), axis=0)
        apart = counts[every[:, 0]] != counts[every[:, 1]]
        return self.cell.banks.active(apart.any(axis=0))[None]

    @property
    def layout_of_trial(self) -> Int[np.ndarray, " trials"]:
        """The row of `active` of every trial."""
        return self._distinct[1] if self.cell.fresh else np.zeros(len(self.trials), dtype=np.int64)

    def bounds(self) -> tuple[int, int, int]:
        """Bounds on |contrast|, of any candidate on one coordinate, and over all of them.

        The third one is that of the weights that mechanisms let through, 0 without any.
        """
        evaluator = self.cell.evaluator
        counts, units = evaluator.benchmark.counts, evaluator.units
        pairs = np.unique(self.pairs.reshape(-1, 2), axis=0)
        apart = np.abs(counts[pairs[:, 0]] - counts[pairs[:, 1]])
        # No split can put more of a unit on the reused side than its items that differ.
        per_unit = np.stack(
            [apart[:, units.of_item == unit].sum(axis=1) for unit in range(units.count)], axis=1
        )
        largest = max(
            release.chain(per_unit[:, None, :].astype(np.float64)).max()
            if release.linear and len(release.chain.denominators) == 1
            else 2 * release.chain.largest.max()
            for release in self.releases
        )
        total = int(max(per_unit.sum(axis=1).max(), evaluator.benchmark.denominator))
        weights = [made.bound for made in self.made if made is not None]
        linear = self.cell.votes == "linear"
        return int(largest), total, int(max(weights, default=0)) if linear else len(weights)

    def static_side(self, condition: int) -> Int[np.ndarray, "trials units"]:
        """Which endpoint is publicly better at the coordinate of every unit: 1 for A, -1 for B."""
        release, pair = self.releases[condition], self.endpoints[condition]
        made, rows = self.made[condition], np.arange(len(self.trials))
        if made is not None:
            apart = made.known[rows, pair.b] - made.known[rows, pair.a]
        else:
            board = self.tally(condition).board.reused
            both = np.stack([board[rows, pair.a], board[rows, pair.b]], axis=1).astype(np.float64)
            released = release.chain(both)
            apart = released[:, 0] - released[:, 1]
        return np.sign(apart).astype(np.int64)[:, release.coordinate_of_unit()]

    @property
    def unit_order(self) -> list[int]:
        """Units in the order of their slots: by the first release, coordinate by coordinate."""
        return [unit for units in self.releases[0].units for unit in units]

    def layout(self, frame: Frame) -> Layout:
        """Slots for the active items, padded to the sizes of a frame."""
        evaluator = self.cell.evaluator
        return Layout.of(
            evaluator.units.of_item, self.unit_order, self.active, frame.sizes.tolist()
        )

    def rows(self, layout: Layout, here: Int[np.ndarray, " rows"]) -> dict[str, object]:
        """The fields of `kernel.Rows` for some of the trials (places in the chunk), in numpy."""
        counts = self.cell.evaluator.benchmark.counts
        tallies = [self.tallies[size] for size, _ in self.views]
        pairs, index = self.pairs[here], here[:, None]
        differences = (counts[pairs[:, :, 0]] - counts[pairs[:, :, 1]]).astype(np.int32)
        layouts = self.layout_of_trial[here]

        def on(side: str) -> np.ndarray:
            masks = [getattr(tally.split, side)[here] for tally in tallies]
            return np.stack(
                [
                    layout.gather(np.where(mask, differences[:, v], np.int32(0)), layouts)
                    for v, mask in enumerate(masks)
                ],
                axis=1,
            )

        def of_pair(side: str, size: Side, pair: np.ndarray) -> np.ndarray:
            """Counts of A and B per unit."""
            return getattr(self.tallies[size].board, side)[index, pair].astype(np.float64)

        def sums(side: str) -> np.ndarray:
            parts = [
                of_pair(side, size, pairs[:, v]).sum(axis=1)
                for v, (size, _) in enumerate(self.views)
            ]
            return np.stack(parts, axis=1)

        histories = [self._histories[size] for size, _ in self.views]
        apart, both, channels = [], [], []
        for c, release in enumerate(self.releases):
            view = self.view_of[c]
            board = of_pair("reused", self.views[view][0], pairs[:, view])
            true = release.at(here, len(self.trials)).chain(board)
            both.append(true[:, 0] + true[:, 1])
            made = self.made[c]
            if made is None:
                apart.append(true[:, 0] - true[:, 1])
                channels.append(None)
                continue
            losses = made.known[index, pairs[:, view]]
            apart.append(losses[:, 1] - losses[:, 0])
            channels.append(made.channel(here, pairs[:, view]))
        return {
            "public": on("reused"),
            "private": on("heldout"),
            "sums_reused": sums("reused"),
            "sums_heldout": sums("heldout"),
            "best_reused": np.stack([h.best_reused[here] for h in histories], axis=1),
            "best_heldout": np.stack([h.best_heldout[here] for h in histories], axis=1),
            "gap": np.stack([h.gap[here] for h in histories], axis=1),
            "static": tuple(apart),
            "released": tuple(both),
            "channels": tuple(channels),
        }

    def mechanisms(self, here: Int[np.ndarray, " rows"]) -> tuple[object, ...]:
        """The mechanisms for some of the trials; what all trials share has one row."""
        return tuple(None if made is None else made.mechanism.at(here) for made in self.made)

    @cached_property
    def _histories(self) -> dict[Side, History]:
        """The history of the genuine models per side."""
        return {
            size: metrics.genuine_history(tally.genuine) for size, tally in self.tallies.items()
        }

    def fresh_bank(
        self,
        layout: Layout,
        here: Int[np.ndarray, " rows"],
        layouts: Int[np.ndarray, " rows"] | None = None,
    ) -> dict[str, np.ndarray]:
        """The fields of `attacker.FreshBank` for some of the trials, in numpy.

        **Arguments:** `layouts`: which of the layout's each takes (None: that of its trial).
        """
        prompts = self.cell.prompts
        layouts = self.layout_of_trial[here] if layouts is None else layouts
        per_slot = layout.gather(np.broadcast_to(prompts, (len(here), len(prompts))), layouts)
        keys, ties = self._keys
        return {"keys": keys[here], "tie_keys": ties[here], "prompts": per_slot}

    @cached_property
    def _keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys of routers and of ties for every trial: of whole chunks, which have few lengths."""
        seed = self.cell.evaluator.request.seed
        keys, ties = trial_keys(seed, (Stream.ROUTER, Stream.TIE), self.trials)
        return np.asarray(keys), np.asarray(ties)


class Cell:
    """One benchmark under conditions that share trials and routers, chunk by chunk."""

    def __init__(self, evaluator: Evaluator):
        self.evaluator = evaluator
        self.fresh = evaluator.request.routers == "prng"
        self.reduced = evaluator.request.simulator == "reduced"
        name = evaluator.request.submitter.name
        # Whether some condition needs the numbers of every task.
        self._by_task = any(c.acting.kind != "aggregate" for c in evaluator.conditions)
        self._latest: tuple[bytes, dict[Side, Tally]] = b"", {}
        # The static router is what budget 1 submits.
        self.votes = name if name in ("sign", "majority") else "linear"
        self.block = plan.block(jax.default_backend(), fresh=self.fresh)
        # The group of equal endpoints of every condition, which can only be told further apart.
        self._groups = dict.fromkeys(evaluator.conditions, 0)
        # Some are run together in blocks of candidates, the others one at a time.
        self.in_sequence = tuple(c for c in evaluator.conditions if c.sequenced)
        self.in_blocks = _together([c for c in evaluator.conditions if not c.sequenced])

    @cached_property
    def banks(self) -> SharedBanks:
        """The published routers, all banks."""
        evaluator = self.evaluator
        candidates = evaluator.budgets_run[-1] - 1
        return SharedBanks(evaluator.benchmark, evaluator.request, candidates, self.block)

    @property
    def most_views(self) -> int:
        """Views there can be: conditions that see the same have the same endpoints."""
        return len({(self._sees(c), c.side) for c in self.evaluator.conditions})

    @cached_property
    def prompts(self) -> np.ndarray:
        """The prompt number of every item, as counters take it."""
        return self.evaluator.benchmark.prompt_index.astype(np.uint32)

    def chunk(
        self, trials: Int[np.ndarray, " trials"], conditions: tuple[Condition, ...] | None = None
    ) -> Chunk:
        """Split and count some trials and choose their endpoints.

        **Arguments:** `conditions`: some that run together (None: the first such).
        """
        evaluator = self.evaluator
        conditions = self.in_blocks[0] if conditions is None else conditions
        # Endpoints are chosen with all reused items that are public.
        by_task = evaluator.request.endpoint_view == "tasks"
        # Frozen endpoints come from all that is reused, whatever a board shows of it.
        whole = {c: Side(None, None if by_task else c.side.public) for c in conditions}
        sides = list(dict.fromkeys(s for c in conditions for s in (c.side, whole[c])))
        tallies = self.tallies(trials, sides)
        found: dict[object, Channelled] = {}

        def made(condition: Condition, side: Side) -> Channelled | None:
            """What stands between numbers and their release, made once."""
            if not condition.channelled:
                return None
            key = condition.channel_key, side
            if key not in found:
                found[key] = evaluator.channelled(tallies[side], condition, trials)
            return found[key]

        chosen: dict[object, attacker.Endpoints] = {}
        endpoints = []
        for condition in conditions:
            key = self._sees(condition)
            if key not in chosen:
                board = None if by_task else made(condition, whole[condition])
                profiles = evaluator.profiles(tallies[whole[condition]], condition, board)
                chosen[key] = attacker.choose_endpoints(profiles, condition.rule)
            endpoints.append(chosen[key])
        groups = self._regroup(conditions, endpoints)
        views = [(c.side, groups[i]) for i, c in enumerate(conditions)]
        distinct = list(dict.fromkeys(views))
        return Chunk(
            cell=self,
            conditions=conditions,
            trials=trials,
            tallies=tallies,
            endpoints=tuple(endpoints),
            made=tuple(made(c, c.side) for c in conditions),
            views=tuple(distinct),
            view_of=tuple(distinct.index(view) for view in views),
        )

    def tallies(self, trials: Int[np.ndarray, " trials"], sides: list[Side]) -> dict[Side, Tally]:
        """The tallies of some sides; those of the latest trials are kept for other conditions."""
        evaluator, key = self.evaluator, trials.tobytes()
        if self._latest[0] != key:
            self._latest = key, {}
        held = self._latest[1]
        missing = [side for side in sides if side not in held]
        sizes = list(dict.fromkeys(side.size for side in missing))
        splits = evaluator.fewer_reused(evaluator.split(trials), trials, sizes) if missing else {}
        for side in missing:
            split = splits[side.size]
            if side.public is not None:
                by_task = evaluator.request.scoring != "item_mean"
                part = evaluator.public_part(
                    split.reused, trials, side.public, (by_task or self._by_task, by_task)
                )
                split = split._replace(reused=part)
            held[side] = evaluator.tally(split)
        return {side: held[side] for side in sides}

    def _sees(self, condition: Condition) -> tuple:
        """What the endpoints of a condition depend on."""
        by_task = self.evaluator.request.endpoint_view == "tasks"
        seen = None if by_task else (condition.channel_key or condition.interface)
        public = None if by_task else condition.side.public
        return condition.rule, seen, condition.precision, condition.extra_overall, public

    def _regroup(
        self, conditions: tuple[Condition, ...], endpoints: list[attacker.Endpoints]
    ) -> list[int]:
        """For every condition the first one with the same endpoints in all chunks so far."""
        first: list[int] = []
        for i, condition in enumerate(conditions):
            for j in range(i):
                before = self._groups[condition] == self._groups[conditions[j]]
                if first[j] == j and before and _equal(endpoints[i], endpoints[j]):
                    first.append(j)
                    break
            else:
                first.append(i)
        self._groups |= dict(zip(conditions, first, strict=True))
        return first


def _together(conditions: list[Condition]) -> tuple[tuple[Condition, ...], ...]:
    """Conditions that share a program: all without a channel, and so many with one."""
    plain = tuple(c for c in conditions if not c.channelled)
    channelled = [c for c in conditions if c.channelled]
    parts = range(0, len(channelled), MOST_CHANNELS)
    groups = (plain, *(tuple(channelled[i : i + MOST_CHANNELS]) for i in parts))
    return tuple(group for group in groups if group)


def _equal(one: attacker.Endpoints, other: attacker.Endpoints) -> bool:
    return one is other or (np.array_equal(one.a, other.a) and np.array_equal(one.b, other.b))
