"""Boards that release ranks, intervals, the best only or at times only: one submission at a time.

Written from rules 7 and 11 to 18 of the mechanisms' specification, in whole numbers and fractions,
with the standard library only. Losses: lower is better.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from itertools import combinations

Z = 1.959963984540054


def rank(genuine: list, losses: list) -> list[int]:
    return [1 + sum(g < loss for g in genuine) for loss in losses]


def rank_all(genuine: list, losses: list) -> list[int]:
    pool, ranks = list(genuine), []
    for loss in losses:
        ranks.append(1 + sum(p < loss for p in pool))
        pool.append(loss)
    return ranks


def bucket(genuine: list, losses: list, buckets: int) -> list[int]:
    below = [sum(g < loss for g in genuine) for loss in losses]
    return [buckets * c // (len(genuine) + 1) for c in below]


def top_k(genuine: list, losses: list, k: int) -> list[tuple[int, int] | None]:
    """(loss, rank) where shown, else None; the board keeps everything that was shown."""
    board, seen = list(genuine), []
    for loss in losses:
        place = 1 + sum(entry <= loss for entry in board)
        if place <= k:
            board.append(loss)
        seen.append((loss, place) if place <= k else None)
    return seen


def steps_outward(low: float, high: float, grid: Fraction) -> tuple[int, int]:
    return math.floor(low / grid + 1e-9), math.ceil(high / grid - 1e-9)


def wilson(wrong: int, n: int) -> tuple[float, float]:
    p = wrong / n
    middle = p + Z * Z / (2 * n)
    reach = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return (middle - reach) / (1 + Z * Z / n), (middle + reach) / (1 + Z * Z / n)


def mean_interval(losses: list[Fraction]) -> tuple[float, float]:
    n = len(losses)
    if n < 2:
        return 0.0, 1.0
    mean = sum(losses, Fraction(0)) / n
    variance = sum(((x - mean) ** 2 for x in losses), Fraction(0)) / (n - 1)
    reach = Z * math.sqrt(variance / n)
    return max(0.0, float(mean) - reach), min(1.0, float(mean) + reach)


def interval_rank(genuine: list[tuple], mine: list[tuple]) -> list[int]:
    return [1 + sum(upper < low for _, upper in genuine) for low, _ in mine]


def half_even(x: Fraction) -> int:
    whole = math.floor(x)
    rest = x - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    return whole


def parameter_free(
    losses: list[list[Fraction]], divisor_n: bool = False
) -> tuple[list[Fraction], list[bool]]:
    """Released losses, rounded to 1/n, and what was accepted; item losses as fractions."""
    n = len(losses[0])
    best, released = [Fraction(0)] * n, None
    releases, accepted = [], []
    for row in losses:
        mean = sum(row, Fraction(0)) / n
        take = released is None
        if released is not None and (n > 1 or divisor_n) and mean < released:
            d = [x - y for x, y in zip(row, best, strict=True)]
            middle = sum(d, Fraction(0)) / n
            variance = sum((x - middle) ** 2 for x in d) / (n if divisor_n else n - 1)
            take = (released - mean) ** 2 > variance / n
        if take:
            released, best = Fraction(half_even(mean * n), n), row
        releases.append(released)
        accepted.append(take)
    return releases, accepted


def accepted_weighted(gain: Fraction, differences: list[list[Fraction]], weights: list[Fraction]):
    """The stratified rule: differences of item losses by task, weights of tasks."""
    variance = Fraction(0)
    for d, weight in zip(differences, weights, strict=True):
        n = len(d)
        middle = sum(d, Fraction(0)) / n
        within = d[0] ** 2 if n == 1 else sum((x - middle) ** 2 for x in d) / (n - 1)
        variance += weight**2 * within / n
    return gain > 0 and gain**2 > variance


def visible_before(budget: int, batch: int) -> int:
    """Of the submissions before the last, those whose release has appeared."""
    return sum(batch * math.ceil(Fraction(t, batch)) < budget for t in range(1, budget))


def batches(losses: list, batch: int, kind: str) -> list[tuple]:
    """(loss, index) of the one release of every whole batch."""
    found = []
    for start in range(0, len(losses) - batch + 1, batch):
        part = [(losses[i], i) for i in range(start, start + batch)]
        found.append(min(part) if kind == "best" else part[-1])
    return found


def scored(budget: int, total, per_period, periods, accounts: int) -> int:
    """Accounts in turn, each within its caps, until none has a submission left."""
    used = [0] * accounts
    done = 0
    while done < budget:
        free = [
            a
            for a in range(accounts)
            if (total is None or used[a] < total)
            and (per_period is None or periods is None or used[a] < per_period * periods)
        ]
        if not free:
            break
        used[free[0]] += 1
        done += 1
    return done


def on_present_set(budget: int, every: int) -> int:
    """Submissions counted since the reused set last changed, the last one included."""
    since = 0
    for _ in range(budget):
        since = 1 if since == every else since + 1
    return since


def final(public: list, private: list, finals: int) -> tuple[list[int], int]:
    entries = sorted(range(len(public)), key=lambda i: (public[i], i))[:finals]
    return entries, min(private[i] for i in entries)


def best_so_far(losses: list) -> list:
    return [min(losses[: t + 1]) for t in range(len(losses))]


def public_part(
    groups: list[tuple[str, str, list[int]]], share: Fraction, seed: int
) -> set[int] | None:
    """The public items of a reused side: its (task, prompt hash, items) in the order of the hash.

    Of all sets of groups that add up to the largest reachable number at or below the target, the
    first in the order that takes a group whenever it can. None where a part would be empty.
    """

    def key(group):
        task, prompt, _ = group
        return int(hashlib.sha256(f"{seed}|{task}|{prompt}".encode()).hexdigest(), 16), prompt

    ordered = sorted(groups, key=key)
    n = sum(len(items) for _, _, items in ordered)
    sizes = [len(items) for _, _, items in ordered]
    places = range(len(sizes))
    every = [c for r in range(len(sizes) + 1) for c in combinations(places, r)]
    target = half_even(share * n)
    reach = max(t for c in every if (t := sum(sizes[g] for g in c)) <= target)
    if not 0 < reach < n:
        return None
    fitting = [set(c) for c in every if sum(sizes[g] for g in c) == reach]
    # Taking earlier groups first.
    taken = max(fitting, key=lambda c: [g in c for g in places])
    return {i for g in taken for i in ordered[g][2]}
