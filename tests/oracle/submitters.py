"""Submitters in plain Python: one trial, whole numbers and fractions, submission after submission.

A submission is a list of counts, one per item. Random words come in as functions. Source: spec of
the mechanisms (rules 1, 3, 6, 7, 9, 10, 14 to 16; the attacker; adaptive flips).
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from .mechanisms import to_grid

WORD = 2**32


@dataclass(frozen=True)
class Item:
    unit: int
    side: str
    a: int
    b: int
    prompt: int


@dataclass
class Trial:
    """`numbers`: units of every released number; `weights`: of units in an overall (None: items).

    `feedback`: the sides that a number is about; `reused`: sides of the true reused score.
    """

    items: list
    den: int
    units: int
    numbers: list
    weights: list | None
    ticks: int
    reused: tuple = ("reused",)
    feedback: tuple = ("reused",)

    def mean(self, counts, sides, units):
        own = [c for c, i in zip(counts, self.items, strict=True)
               if i.side in sides and i.unit in units]  # fmt: skip
        return Fraction(sum(own), self.den * len(own))

    def score(self, counts, sides, units=None):
        units = range(self.units) if units is None else units
        if self.weights is None:
            return self.mean(counts, sides, units)
        weights = {u: self.weights[u] for u in units}
        total = sum(w * self.mean(counts, sides, [u]) for u, w in weights.items())
        return total / sum(weights.values())

    def losses(self, counts, sides):
        found = []
        for units in self.numbers:
            loss = self.ticks * (1 - self.score(counts, sides, units))
            assert loss.denominator == 1
            found.append(int(loss))
        return found

    def overall(self, losses):
        shares = [Fraction(1)] if len(self.numbers) == 1 else self.weights
        return sum(s * Fraction(x) for s, x in zip(shares, losses, strict=True)) / self.ticks

    def routed(self, signs):
        return [i.a if signs[i.prompt] > 0 else i.b for i in self.items]

    def unit_sums(self, counts, unit, sides):
        return sum(c for c, i in zip(counts, self.items, strict=True)
                   if i.unit == unit and i.side in sides)  # fmt: skip


# --- mechanisms, a step at a time: (released or None per number, answered per number) ------------


class Nothing:
    kind = "own"

    def step(self, trial, counts, losses, public, number):
        return losses, [True] * len(losses)


@dataclass
class Noisy:
    """`noise(number, counts)` gives a number each."""

    noise: object
    kind = "own"

    def step(self, trial, counts, losses, public, number):
        drawn = self.noise(number, counts)
        return [round(x + z) for x, z in zip(losses, drawn, strict=True)], [True] * len(losses)


@dataclass
class Ladder:
    step_size: int
    best: list | None = None
    kind = "last"

    def step(self, trial, counts, losses, public, number):
        best = self.best or [inf] * len(losses)
        taken = [x < r - self.step_size for x, r in zip(losses, best, strict=True)]
        self.best = [
            to_grid(x, self.step_size) if t else r
            for x, r, t in zip(losses, best, taken, strict=True)
        ]
        return list(self.best), taken


@dataclass
class Gate:
    step_size: int
    shown: list | None = None
    kind = "last"

    def step(self, trial, counts, losses, public, number):
        limit = inf if self.shown is None else trial.overall(self.shown)
        taken = trial.overall(losses) < limit - Fraction(self.step_size, trial.ticks)
        if taken:
            self.shown = [to_grid(x, self.step_size) for x in losses]
        return list(self.shown), [taken] * len(losses)


@dataclass
class Frontier:
    step_size: int
    members: list = field(default_factory=list)
    kind = "best"

    def step(self, trial, counts, losses, public, number):
        for member in self.members:
            if all(f <= r + self.step_size for f, r in zip(member, losses, strict=True)):
                return [None] * len(losses), [False] * len(losses)
        self.members.append([to_grid(x, self.step_size) for x in losses])
        return list(self.members[-1]), [True] * len(losses)


@dataclass
class Thresholdout:
    """`noise(number)` gives (G, X, Z) per number."""

    threshold: float
    answers: int
    first: list
    noise: object
    kind = "own"

    def __post_init__(self):
        self.limits = [self.threshold + g for g, _, _ in self.first]
        self.left = [self.answers] * len(self.first)

    def step(self, trial, counts, losses, public, number):
        released, answered = [], []
        for n, (g, x, z) in enumerate(self.noise(number)):
            if self.left[n] < 1:
                released.append(None)
                answered.append(False)
            elif abs(losses[n] - public[n]) > self.limits[n] + x:
                released.append(round(losses[n] + z))
                answered.append(True)
                self.left[n] -= 1
                self.limits[n] = self.threshold + g
            else:
                released.append(public[n])
                answered.append(False)
        return released, answered


@dataclass
class ParameterFree:
    best: list | None = None
    released: Fraction | None = None
    kind = "last"

    def step(self, trial, counts, losses, public, number):
        strata = (
            [range(trial.units)] if trial.weights is None else [[u] for u in range(trial.units)]
        )
        weights = [Fraction(1)] if trial.weights is None else trial.weights
        mine = Fraction(losses[0], trial.ticks)
        taken = self.best is None
        if not taken:
            variance = Fraction(0)
            for units, weight in zip(strata, weights, strict=True):
                d = [Fraction(b - c, trial.den)
                     for c, b, i in zip(counts, self.best, trial.items, strict=True)
                     if i.unit in units and i.side in trial.feedback]  # fmt: skip
                n, middle = len(d), sum(d) / len(d)
                if n == 1 and trial.weights is None:
                    variance = inf
                    continue
                spread = d[0] ** 2 if n == 1 else sum((x - middle) ** 2 for x in d) / (n - 1)
                variance += weight**2 * spread / n
            gain = self.released - mine
            taken = gain > 0 and gain**2 > variance
        if taken:
            self.best, self.released = counts, mine
            if trial.weights is None:
                n = sum(i.side in trial.feedback for i in trial.items)
                self.released = to_grid(mine, Fraction(1, n))
        return [self.released * trial.ticks], [taken]


# --- submitters ----------------------------------------------------------------------------------


@dataclass
class Hints:
    """`candidate(j)`, `ties`: signs by prompt; `word(prompt, t)`: two words; `reference`: losses.

    `static`: the sign of A less B per number; `reused`: prompts that may be flipped.
    """

    candidate: object
    ties: dict
    word: object
    reference: list
    static: list
    reused: list


class Voter:
    static_first = True

    def __init__(self, trial, hints):
        self.trial, self.hints = trial, hints
        # A vote per item: what a released number says is about the items under it.
        self.votes = [Fraction(0)] * len(trial.items)
        self.number_of = {u: n for n, units in enumerate(trial.numbers) for u in units}

    def add(self, weights, parts):
        for j, item in enumerate(self.trial.items):
            self.votes[j] += weights[self.number_of[item.unit]] * parts[item.prompt]

    def routed(self):
        """Counts, and whether every item goes to A."""
        to_a = [
            v > 0 or (v == 0 and self.hints.ties[i.prompt] > 0)
            for v, i in zip(self.votes, self.trial.items, strict=True)
        ]
        counts = [i.a if g else i.b for g, i in zip(to_a, self.trial.items, strict=True)]
        return counts, to_a

    def final(self):
        return self.routed()


class Vote(Voter):
    def __init__(self, trial, hints, kind):
        super().__init__(trial, hints)
        self.kind = kind

    def propose(self, t):
        signs = self.hints.candidate(t - 1)
        return self.trial.routed(signs), signs

    def react(self, t, signs, released, seen, overall):
        weights = []
        for r, s, ref in zip(released, seen, self.hints.reference, strict=True):
            weight = ref - 2 * Fraction(r) if s else None
            if weight is None:
                weight = 0
            elif self.kind == "sign":
                weight = (weight > 0) - (weight < 0)
            elif self.kind == "majority":
                weight = int(weight >= 0)
            weights.append(weight)
        self.add(weights, signs)


class Rounds(Voter):
    def __init__(self, trial, hints, length, share):
        super().__init__(trial, hints)
        self.length = length
        self.chance = int(share * WORD)
        self.kept = 1 - 2 * Fraction(self.chance, WORD)
        self.base = [Fraction(r) for r in hints.reference]
        self.centre = None

    def propose(self, t):
        items = self.trial.items
        if t % self.length == 0:
            counts, to_a = self.routed()
            # Equal prompts of one number are routed alike; of several numbers they need not be.
            self.centre = [1 if g else -1 for g in to_a]
            return counts, ([Fraction(g) for g in self.centre],) * 2
        if t < self.length:
            signs = self.hints.candidate(t - 1)
            x, mean = [signs[i.prompt] for i in items], [0] * len(items)
        else:
            x = [
                -g if self.hints.word(i.prompt, t)[0] < self.chance else g
                for g, i in zip(self.centre, items, strict=True)
            ]
            mean = [self.kept * g for g in self.centre]
        counts = [i.a if g > 0 else i.b for g, i in zip(x, items, strict=True)]
        return counts, (x, mean)

    def react(self, t, move, released, seen, overall):
        x, mean = move
        for j, item in enumerate(self.trial.items):
            n = self.number_of[item.unit]
            if seen[n]:
                self.votes[j] += (self.base[n] - 2 * Fraction(released[n])) * (x[j] - mean[j])
        if t % self.length == 0:
            for n, r in enumerate(released):
                if r is not None:
                    middle = self.hints.reference[n]
                    self.base[n] = self.kept * 2 * Fraction(r) + (1 - self.kept) * middle


class Keeper:
    def react(self, t, counts, released, seen, overall):
        if any(seen) and overall is not None and (self.best is None or overall < self.best):
            self.current, self.best = counts, overall


class Flip(Keeper):
    static_first = True

    def __init__(self, trial, hints, items):
        self.trial, self.hints, self.count = trial, hints, items
        self.current, self.best = hints.candidate(0), None

    def propose(self, t):
        signs = dict(self.current)
        if t > 1:
            prompts = sorted(self.hints.reused, key=lambda p: (self.hints.word(p, t)[0], p))
            for prompt in prompts[: self.count]:
                signs[prompt] = -signs[prompt]
        return self.trial.routed(signs), signs

    def final(self):
        return self.trial.routed(self.current), [
            self.current[i.prompt] > 0 for i in self.trial.items
        ]


class Development(Keeper):
    static_first = False

    def __init__(self, trial, hints, start, released, gain, change):
        self.trial, self.hints, self.gain, self.change = trial, hints, gain, change
        self.current, self.best = start, released

    def propose(self, t):
        trial, counts = self.trial, []
        for c, item in zip(self.current, trial.items, strict=True):
            touch, right = self.hints.word(item.prompt, t)
            if touch < self.change * WORD:
                held = [(x, i) for x, i in zip(self.current, trial.items, strict=True)
                        if i.side == "heldout"]  # fmt: skip
                held = [x for x, i in held if i.unit == item.unit] or [x for x, _ in held]
                level = Fraction(sum(held), trial.den * len(held))
                chance = min(Fraction(1), level + self.gain / self.change)
                c = trial.den if right < chance * WORD else 0
            counts.append(c)
        return counts, counts

    def final(self):
        return self.current, None


# --- the game ------------------------------------------------------------------------------------


@dataclass
class Account:
    mechanism: object
    standing: object = inf
    reused: object = 0
    heldout: object = 0
    answers: int = 0
    best: object = inf
    shown: object = inf
    error: object = 0
    entries: list = field(default_factory=list)

    def submit(self, trial, counts, number, finals):
        """What is released, what is answered, and the released overall (None: not all is there)."""
        public = None
        if trial.feedback == ("rest", "public"):
            losses, public = trial.losses(counts, ("rest",)), trial.losses(counts, ("public",))
        else:
            losses = trial.losses(counts, trial.feedback)
        told = self.mechanism.step(trial, counts, losses, public, number)
        released, answered = told
        overall = None if None in released else trial.overall(released)
        kind = self.mechanism.kind
        takes = kind == "own" or (
            any(answered) and overall is not None and (kind == "last" or overall < self.standing)
        )
        scores = trial.score(counts, trial.reused), trial.score(counts, ("heldout",))
        if takes:
            self.standing = inf if overall is None else overall
            self.reused, self.heldout = scores
        self.answers += any(answered)
        self.best = min(self.best, trial.overall(losses))
        if overall is not None:
            self.shown = min(self.shown, overall)
        if self.shown != inf:
            self.error = max(self.error, abs(self.best - self.shown))
        if finals and overall is not None and (kind == "own" or any(answered)):
            private = trial.score(counts, ("private",))
            self.entries.append((overall, number, private, *scores))
            self.entries = sorted(self.entries)[:finals]
        return released, answered, overall


def row(accounts, finals):
    for one in accounts:
        one.private = None
        if finals:
            entry = max(one.entries, key=lambda e: e[2], default=None)
            one.standing, one.private, one.reused, one.heldout = (
                (inf, 0, 0, 0) if entry is None else (1 - entry[2], entry[2], entry[3], entry[4])
            )
    best = min(accounts, key=lambda one: one.standing)
    return {
        "standing": best.standing, "reused": best.reused, "heldout": best.heldout,
        "private": best.private, "answers": sum(one.answers for one in accounts),
        "error": max(one.error for one in accounts),
    }  # fmt: skip


def play(
    trial, submitter, hints, mechanism_of, budget, *, history, wait=1, best=False, accounts=1,
    finals=0, aware=True,
):  # fmt: skip
    """One budget from the start; `history`: best scores of genuine models and the largest gap."""
    desks = [Account(mechanism_of(a)) for a in range(accounts)]
    best_reused, best_heldout, gap = history
    pending = []
    for t in range(1, budget):
        counts, move = submitter.propose(t)
        released, answered, overall = desks[(t - 1) % accounts].submit(trial, counts, t, finals)
        seen = answered if aware else [r is not None for r in released]
        pending.append((t, move, released, seen, overall))
        if t % wait == 0:
            if best:
                shown = [one for one in pending if one[4] is not None]
                pending = [min(shown, key=lambda one: (one[4], one[0]))] if shown else []
            for one in pending:
                submitter.react(*one)
            pending = []
        best_reused = max(best_reused, trial.score(counts, trial.reused))
        best_heldout = max(best_heldout, trial.score(counts, ("heldout",)))
        gap = max(gap, abs(best_reused - best_heldout))
    if budget <= wait and submitter.static_first:
        number_of = {u: n for n, units in enumerate(trial.numbers) for u in units}
        to_a = []
        for item in trial.items:
            better = hints.static[number_of[item.unit]]
            to_a.append(better > 0 or (better == 0 and hints.ties[item.prompt] > 0))
        counts = [i.a if g else i.b for g, i in zip(to_a, trial.items, strict=True)]
    else:
        counts, to_a = submitter.final()
    desks[(budget - 1) % accounts].submit(trial, counts, budget, finals)
    sides = {"reused": trial.reused, "heldout": ("heldout",)}
    sums = {
        name: [trial.unit_sums(counts, u, side) for u in range(trial.units)]
        for name, side in sides.items()
    }
    past = {"best_reused": best_reused, "best_heldout": best_heldout, "gap": gap}
    return {"counts": sums, "to_a": to_a, "team": row(desks, finals), **past}
