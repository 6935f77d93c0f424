"""Small random games for the sequential kernel, as it and as the oracle see them."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import jax.numpy as jnp
import numpy as np

from jaxbench.attacker import FreshBank
from jaxbench.benchmark.aggregate import Chain
from jaxbench.benchmark.scoring import Overall
from jaxbench.counters import Stream, trial_keys, words
from jaxbench.engine import channel as channels
from jaxbench.engine import sequence
from jaxbench.engine.channel import Channel
from jaxbench.leaderboard import Release
from jaxbench.leaderboard.mechanisms.chain import MechanismChain
from oracle import submitters as oracle

SIZES = (8, 7)
SIDES = {
    "plain": ("reused", "heldout"),
    "private": ("reused", "heldout", "private"),
    "parts": ("reused", "heldout", "rest", "public"),
}
LONGEST = 24


@dataclass(frozen=True)
class Game:
    """Some trials. `by`: `unit` (a number per unit, equal weights), `aggregate` (one number, the
    item mean) or `mean` (one number, the mean over units). `padding`: slots more per unit.
    """

    by: str = "unit"
    mode: str = "plain"
    den: int = 2
    rows: int = 4
    seed: int = 0
    padding: int = 0

    @property
    def sides(self):
        return SIDES[self.mode]

    @property
    def numbers(self):
        return [[0], [1]] if self.by == "unit" else [[0, 1]]

    @property
    def spans(self):
        ends = np.cumsum([size + self.padding for size in SIZES]).tolist()
        return tuple(zip([0, *ends[:-1]], ends, strict=True))

    @property
    def feedback(self):
        return ("rest", "public") if self.mode == "parts" else ("reused",)

    @cached_property
    def ticks(self):
        return 2 * self.den * lcm(*range(1, sum(SIZES)))

    @cached_property
    def items(self):
        """Items of every trial, in the order of the slots."""
        rng = np.random.default_rng(self.seed)
        needed = [s for s in self.sides if s != "reused" or self.mode != "parts"]
        every = []
        for _ in range(self.rows):
            items, prompt = [], 1
            for unit, size in enumerate(SIZES):
                sides = [*needed, *rng.choice(needed, size - len(needed))]
                rng.shuffle(sides)
                own, last = [], {}
                for side in sides:
                    if side not in last or rng.random() < 0.7:
                        last[side] = prompt
                        prompt += 1
                    a, b = (int(x) for x in rng.integers(0, self.den + 1, 2))
                    own.append(oracle.Item(unit, side, a, b, last[side]))
                items += own
            every.append(items)
        return every

    @property
    def places(self):
        """The slot of every item."""
        spans = zip(self.spans, SIZES, strict=True)
        return [slot for (start, _), size in spans for slot in range(start, start + size)]

    def slots(self, of, dtype, padding=0):
        """A value per item as values per row and slot."""
        found = np.full((self.rows, self.spans[-1][1]), padding, dtype=dtype)
        for r, items in enumerate(self.items):
            found[r, self.places] = [of(item) for item in items]
        return jnp.asarray(found)

    def on(self, side, item):
        if side == "reused" and self.mode == "parts":
            return item.side in ("rest", "public")
        return item.side == side

    def mask(self, side):
        return self.slots(lambda item: self.on(side, item), bool)

    @cached_property
    def prompts(self):
        return self.slots(lambda item: item.prompt, np.uint32)

    @cached_property
    def keys(self):
        streams = (Stream.ROUTER, Stream.TIE, Stream.SUBMITTER, Stream.MECHANISM)
        return trial_keys(self.seed, streams, np.arange(self.rows))

    @cached_property
    def bank(self):
        return FreshBank(self.keys[0], self.keys[1], self.prompts)

    def per_unit(self, side, of):
        return np.array(
            [
                [sum(of(i) for i in items if i.unit == u and self.on(side, i)) for u in (0, 1)]
                for items in self.items
            ]
        )

    def overall(self, side):
        start = Chain.start(self.per_unit(side, lambda _: self.den))
        if self.by == "aggregate":
            return Overall.of(start.sums([range(2)]), [Fraction(1)], total=True)
        return Overall.of(start.sums([[0], [1]]), [Fraction(1, 2)] * 2)

    def release(self, side):
        start = Chain.start(self.per_unit(side, lambda _: self.den))
        if self.by == "unit":
            return Release(start, ((0,), (1,)), plain=True, linear=True)
        chain = start.sums([range(2)])
        if self.by == "mean":
            chain = start.sums([[0], [1]]).mix([[(0, Fraction(1, 2)), (1, Fraction(1, 2))]])
        return Release(chain, ((0, 1),), plain=False, linear=True)

    def rows_of(self, *, answers=False):
        """The kernel's rows; with `answers` those of a submission that answers items itself."""

        def difference(side, item):
            return (1 if answers else item.a - item.b) if self.on(side, item) else 0

        differences = [
            self.slots(lambda item, s=s: difference(s, item), np.int32) for s in self.sides
        ]
        sums = [self.per_unit(s, lambda i: 0 if answers else i.a + i.b) for s in self.sides]
        history = (jnp.asarray([float(h[n]) for h in self.histories]) for n in range(3))
        return sequence.Rows(
            jnp.stack(differences, axis=1),
            jnp.asarray(np.stack(sums, axis=1).astype(float)),
            *history,
            static=jnp.asarray(self.static.astype(float)),
        )

    @property
    def histories(self):
        return [(Fraction(r, 8), Fraction(3, 8), abs(Fraction(r - 3, 8))) for r in range(self.rows)]

    def rules(self, *, aware=True):
        scored = [s for s in self.sides if s not in ("rest", "public")]
        reads = (2, 3) if self.mode == "parts" else (0,)
        return sequence.Rules(
            tuple(self.release(s).bare() for s in self.feedback),
            tuple(self.overall(s).bare() for s in scored),
            jnp.array(aware),
            reads,
        )

    def losses(self, side, endpoint):
        counts = self.per_unit(side, lambda i: getattr(i, endpoint)).astype(float)
        release = self.release(side)
        of = np.broadcast_to(release.chain.denominators, (self.rows, len(self.numbers)))
        return (of - release.chain(counts[:, None])[:, 0]) * (self.ticks // of)

    @property
    def reference(self):
        return self.losses(self.feedback[0], "a") + self.losses(self.feedback[0], "b")

    @property
    def static(self):
        side = self.feedback[0]
        return self.losses(side, "b") - self.losses(side, "a")

    def channel(self, *parts):
        shape = (self.rows, len(self.numbers))

        def of(side):
            found = np.broadcast_to(self.release(side).chain.denominators, shape)
            return tuple(jnp.asarray(x.astype(float)) for x in (found, self.ticks // found))

        public = of("public") if self.mode == "parts" else (None, None)
        shares = jnp.full(shape, 1 / (len(self.numbers) * self.ticks), dtype=jnp.float64)
        return Channel(
            MechanismChain(parts), self.keys[3], *of(self.feedback[0]), shares,
            jnp.asarray(self.reference), None, self.prompts, *public,
        )  # fmt: skip

    # --- as the oracle sees it ---

    def trial(self, row):
        reused = ("rest", "public") if self.mode == "parts" else ("reused",)
        weights = None if self.by == "aggregate" else [Fraction(1, 2)] * 2
        return oracle.Trial(
            self.items[row], self.den, 2, self.numbers, weights, self.ticks, reused, self.feedback
        )

    @cached_property
    def tables(self):
        """Signs of candidates, ties and words of all submissions, `(rows, ..., prompts)`."""
        numbers = np.arange(sum(SIZES) + 1, dtype=np.uint32)[None, None]
        times = np.arange(LONGEST, dtype=np.uint32)[None, :, None]
        drawn = words(self.keys[2][:, None, None], jnp.asarray(numbers), jnp.asarray(times))
        every = jnp.broadcast_to(jnp.asarray(numbers[0]), (self.rows, numbers.size))
        bank = FreshBank(self.keys[0], self.keys[1], every)
        signs = bank.block(jnp.int32(0), 64, jnp.dtype(jnp.int8), slice(None))
        content = channels.prompt_words(self.keys[3], every)
        ties = bank.ties_to_a()
        return [np.asarray(x) for x in (signs, ties, *drawn, content)]

    def hints(self, row):
        signs, ties, one, two, _ = self.tables
        prompts = range(signs.shape[2])
        reused = {i.prompt for i in self.items[row] if self.on("reused", i)}
        return oracle.Hints(
            candidate=lambda j: {p: int(signs[row, j, p]) for p in prompts},
            ties={p: 1 if ties[row, p] else -1 for p in prompts},
            word=lambda p, t: (int(one[row, t, p]), int(two[row, t, p])),
            reference=[int(x) for x in self.reference[row]],
            static=[int(x) for x in self.static[row]],
            reused=sorted(reused),
        )

    def first_slots(self):
        """The first slot of every reused prompt."""
        mask, prompts = np.asarray(self.mask("reused")), np.asarray(self.prompts)
        first = np.zeros(mask.shape, dtype=bool)
        for r in range(self.rows):
            for p in set(prompts[r][mask[r]].tolist()):
                first[r, np.flatnonzero(mask[r] & (prompts[r] == p))[0]] = True
        return jnp.asarray(first)

    def start(self, row):
        """Counts of the model that ordinary development starts from: endpoint A."""
        return [item.a for item in self.items[row]]
