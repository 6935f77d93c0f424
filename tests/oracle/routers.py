"""Router signs (section 4) and the decoder (section 5), which sees released numbers only."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import lcm

from .split import OracleBenchmark, OracleRefusal

# --- section 4: routers -------------------------------------------------------------------------


def keyed_sign(key_text: str, prompt_hash: str) -> int:
    key = hashlib.sha256(key_text.encode()).digest()
    byte = hashlib.blake2b(prompt_hash.encode(), key=key, digest_size=1).digest()[0]
    return 1 if byte & 1 else -1


def hash_sign(routing_seed: str, j: int, prompt_hash: str) -> int:
    return keyed_sign(f"probe|{routing_seed}|{j}", prompt_hash)


def tie_sign(tie_seed: str, prompt_hash: str) -> int:
    return keyed_sign(f"tie|{tie_seed}", prompt_hash)


def check_signs(bench: OracleBenchmark, row: list[int]) -> None:
    if len(row) != len(bench.items):
        raise OracleRefusal("a router needs one sign per item")
    sign_of_hash: dict[str, int] = {}
    for item, sign in zip(bench.items, row, strict=True):
        if sign not in (1, -1):
            raise OracleRefusal("a sign is +1 or -1")
        if sign_of_hash.setdefault(item.prompt_hash, sign) != sign:
            raise OracleRefusal(f"prompt hash {item.prompt_hash!r} is routed two ways")


# --- section 5: decoder (sees released numbers only) --------------------------------------------


def final_routers(
    budgets: list[int],
    tasks: list[str],
    public_a: dict[str, Fraction],
    public_b: dict[str, Fraction],
    released: list[dict[str, Fraction]],
    signs: list[list[int]],
    ties: list[int],
) -> dict[int, list[int]]:
    """Signs per item of the final router of every budget.

    `tasks` (the coordinate that the interface gives an item: its task, category, group or the one
    coordinate) and `ties` have one entry per item; `released[j]` is what is released of candidate
    j, one value per coordinate.
    Weights are 2 p_j - p_A - p_B (twice alpha) times the common denominator of all released
    numbers: integers of any size, so that a zero vote is an exact zero.
    """
    numbers = [value for row in [public_a, public_b, *released] for value in row.values()]
    common = lcm(*(value.denominator for value in numbers))
    votes = [0] * len(tasks)
    counted = 0
    routes = {}
    for k in sorted(set(budgets)):
        if k == 1:  # every coordinate to its publicly stronger endpoint
            lead = [public_a[task] - public_b[task] for task in tasks]
        else:
            for j in range(counted, k - 1):
                weight = {
                    task: int((2 * released[j][task] - public_a[task] - public_b[task]) * common)
                    for task in public_a
                }
                votes = [v + weight[t] * g for v, t, g in zip(votes, tasks, signs[j], strict=True)]
            counted = k - 1
            lead = votes
        routes[k] = [
            1 if value > 0 else -1 if value < 0 else tie
            for value, tie in zip(lead, ties, strict=True)
        ]
    return routes


def final_router(
    k: int,
    tasks: list[str],
    public_a: dict[str, Fraction],
    public_b: dict[str, Fraction],
    released: list[dict[str, Fraction]],
    signs: list[list[int]],
    ties: list[int],
) -> list[int]:
    """Signs per item for budget k, from released scores only (see `final_routers`)."""
    return final_routers([k], tasks, public_a, public_b, released, signs, ties)[k]
