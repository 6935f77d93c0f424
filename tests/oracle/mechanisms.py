"""Mechanisms in plain Python: whole numbers, fractions and loops, one sequence at a time.

Losses are in ticks. Source: spec of the mechanisms, rules 2 to 10.
"""

from fractions import Fraction
from math import comb, inf, log
from statistics import NormalDist

NOTHING = None


def to_grid(x, h):
    """[x]_h, halves to even; x may be a fraction."""
    if h == 0:
        return x
    quotient, rest = divmod(Fraction(x), h)
    if 2 * rest > h or (2 * rest == h and quotient % 2 == 1):
        quotient += 1
    return quotient * h


def truncated(losses, h, per_score):
    return [per_score - (per_score - loss) // h * h for loss in losses]


def ladder(losses, step, grid, best=inf):
    releases, accepted = [], []
    for loss in losses:
        accepted.append(loss < best - step)
        if accepted[-1]:
            best = to_grid(loss, grid)
        releases.append(best)
    return releases, accepted


def gate(profiles, weights, step, grid):
    """Weights and step are of the overall, whose unit is free."""
    best, shown, releases, accepted = inf, None, [], []
    for profile in profiles:
        overall = sum(w * x for w, x in zip(weights, profile, strict=True))
        accepted.append(overall < best - step)
        if accepted[-1]:
            shown = [to_grid(x, grid) for x in profile]
            best = sum(w * x for w, x in zip(weights, shown, strict=True))
        releases.append(shown)
    return releases, accepted


def shaky(losses, step, cap, thresholds, comparisons, releases, best=inf):
    """`thresholds` starts with G_0 and is one longer than the others."""
    shift, count, found, accepted = thresholds[0], 0, [], []
    for t, loss in enumerate(losses):
        accepted.append(count < cap and loss + comparisons[t] < best - step + shift)
        if accepted[-1]:
            best, shift, count = loss + releases[t], thresholds[t + 1], count + 1
        found.append(best)
    return found, accepted


def frontier(profiles, step, start=()):
    members, releases = [tuple(f) for f in start], []
    for profile in profiles:
        dominated = any(
            all(f <= r + step for f, r in zip(member, profile, strict=True)) for member in members
        )
        if dominated:
            releases.append(NOTHING)
            continue
        members.append(tuple(to_grid(r, step) for r in profile))
        releases.append(members[-1])
    return releases


def thresholdout(public, held, threshold, answers, thresholds, comparisons, releases):
    """`thresholds` starts with G_0; `answers` is infinite for no limit."""
    noisy, found, asked = threshold + thresholds[0], [], []
    for t, (a, h) in enumerate(zip(public, held, strict=True)):
        if answers < 1:
            found.append(NOTHING)
            asked.append(False)
            continue
        asked.append(abs(h - a) > noisy + comparisons[t])
        if not asked[-1]:
            found.append(a)
            continue
        found.append(h + releases[t])
        answers -= 1
        noisy = threshold + thresholds[t + 1]
    return found, asked


def counted_wrong(items, wrong, scored, level):
    """The smallest c for which at most c of the scored are wrong with chance `level` or more."""
    below = Fraction(0)
    for c in range(scored + 1):
        ways = comb(wrong, c) * comb(items - wrong, scored - c)
        below += Fraction(ways, comb(items, scored))
        if below >= level:
            return c
    raise AssertionError("a chance above 1")


def weighted_below(items, wrong, loss):
    """P(Beta(wrong, items - wrong) <= loss): of items - 1 uniforms, `wrong` at least lie below."""
    n = items - 1
    return sum(comb(n, c) * loss**c * (1 - loss) ** (n - c) for c in range(wrong, items))


def laplace(u, b):
    """Inverse of the cdf of Lap(b) at 1/2 + u, from the nearer tail."""
    size = -b * log(2 * (0.5 - abs(u)))
    return -size if u < 0 else size


def normal(u, sd):
    """Inverse of the cdf of N(0, sd^2) at 1/2 + u, from the nearer tail."""
    score = NormalDist().inv_cdf(0.5 - abs(u))
    return sd * (score if u < 0 else -score) if u else 0.0


def lowest(releases):
    """The smallest one so far."""
    return [min(releases[: t + 1]) for t in range(len(releases))]


def pruned_frontier(profiles, step, start=()):
    """The frontier with only those members that no newer one dominates."""
    members, releases = [tuple(f) for f in start], []
    for profile in profiles:
        reach = [r + step for r in profile]
        if any(all(map(int.__le__, f, reach)) for f in members):
            releases.append(NOTHING)
            continue
        new = tuple(to_grid(r, step) for r in profile)
        members = [f for f in members if not all(n <= x for n, x in zip(new, f, strict=True))]
        members.append(new)
        releases.append(new)
    return releases


def hypergeometric(items, wrong, scored):
    """The chance of every count of wrong ones among the scored."""
    ways = comb(items, scored)
    return [
        Fraction(comb(wrong, c) * comb(items - wrong, scored - c), ways) for c in range(scored + 1)
    ]
