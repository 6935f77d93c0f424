"""How much mechanisms slow the weighted vote, beside what others measured and what theory says.

    python benchmarks/slow_downs.py [--trials 200] [--seed 0] [--only WORD] [--out TABLE.md]

A minute or two on two cores.

Two models differ on all n items, and each is right on a random half of them, so that a random
router is right on every item with chance 1/2. A submitter sends k routers, weighs each by 1/2 less
its released loss (0 where the release is not its own), and takes the weighted vote. It is right on
an item with chance Phi(sqrt(k/n) / sqrt(slow-down)), which gives the slow-down in budget.

Steps are whole items. The other measurements are those of the specification: standard error 5 %
where the slow-down is below 20 and a factor of 1.5 above. Status 1 if a row is more than three
standard errors of both from it; of fifty rows two or three are more than two.
"""

import argparse
import sys
from math import exp, hypot, inf, isinf, log, sqrt
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flips import FLIPS, flip_errors
from machine import describe
from voting import LARGE, SMALL, Routers, Row, rows

from jaxbench.leaderboard import theory

# Items times submissions times trials that are held at a time.
TOGETHER = 2**24
# Trials with a hundred items for one with a thousand: a table of equal errors.
MORE = 25
# Standard errors of both measurements that may lie between them.
LIMIT = 3.0
# Of the published shares of wrong items, whose error is not known: that of twenty trials where
# nothing is learnt of a hundred items.
FLIP_ERROR = 0.011


def right_votes(chosen: list[Row], trials: int, seed: int) -> np.ndarray:
    """The share of items on which the vote is right, `(rows, trials)`; all rows of one size."""
    n, k = chosen[0].size
    together = max(1, min(trials, TOGETHER // (n * k)))

    @jax.jit
    def some(key):
        words = jax.random.bits(key, (together, k, -(-n // 32)), jnp.uint32)
        places = jnp.arange(32, dtype=jnp.uint32).reshape(1, 1, 1, 32)
        bits = (words[..., None] >> places) & 1
        right = bits.reshape(together, k, -1)[..., :n].astype(jnp.float32)
        wrong = (float(n) - right.sum(axis=2)).astype(jnp.float64).T[:, :, None]
        routers = Routers(right, wrong)
        keys = [jax.random.fold_in(key, i + 1) for i in range(len(chosen))]
        weights = [row.weigh(routers, own) for row, own in zip(chosen, keys, strict=True)]
        votes = jnp.einsum("rtk,tkn->rtn", jnp.stack(weights).astype(jnp.float32), 2 * right - 1)
        return jnp.mean(jnp.where(votes == 0, 0.5, jnp.where(votes > 0, 1.0, 0.0)), axis=2)

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), -(-trials // together))
        return np.concatenate([np.asarray(some(key)) for key in keys], axis=1)


class Found(NamedTuple):
    """A slow-down and its standard error."""

    slow_down: float
    error: float


def slow_down(size: tuple[int, int], right: np.ndarray) -> Found:
    """From the share of right votes in every trial; infinite if it is no more than 1/2."""
    n, k = size
    rate, error = float(right.mean()), float(right.std(ddof=1) / sqrt(len(right)))
    found = theory.slow_down_of(n, k, rate)
    if isinf(found):
        return Found(inf, inf)
    z = sqrt(k / n / found)
    return Found(found, found * 2 * error / (z * exp(-z * z / 2) / sqrt(2 * np.pi)))


def apart(row: Row, found: Found) -> float:
    """How far both measurements are apart, in standard errors of both; 0 within the last digit.

    No information is taken for a slow-down of 1000 at least.
    """
    if isinf(row.published):
        return 0.0 if found.slow_down > 1000 else inf
    if isinf(found.slow_down):
        return inf
    theirs = 0.05 if row.published < 20 else log(1.5)
    digits = f"{row.published:g}".partition(".")[2]
    last = 0.5 * 10.0 ** -len(digits) / row.published
    away = max(0.0, abs(log(found.slow_down / row.published)) - last)
    return away / hypot(theirs, found.error / found.slow_down)


def votes_table(trials: int, seed: int, only: str) -> tuple[list[str], int]:
    """The table of slow-downs, and how many rows are out."""
    lines = ["| mechanism | n, k | formula | published | here | standard error | apart |",
             "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    out = 0
    for size, runs in ((LARGE, trials), (SMALL, MORE * trials)):
        chosen = [row for row in rows() if row.size == size and only in row.name]
        if not chosen:
            continue
        for row, right in zip(chosen, right_votes(chosen, runs, seed), strict=True):
            found = slow_down(size, right)
            away = apart(row, found)
            out += away > LIMIT
            formula = "-" if row.formula is None else f"{row.formula:.3g}"
            cells = [row.name, f"{size[0]}, {size[1]}", formula, _shown(row.published),
                     _shown(found.slow_down), _shown(found.error), _apart(away)]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return (lines if len(lines) > 2 else []), out


def flips_table(trials: int, seed: int, only: str) -> tuple[list[str], int]:
    """The table of adaptive flips: shares of wrong items, and how many rows are out."""
    lines = ["| rule, items flipped at a time | n | published | here | standard error | apart |",
             "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    out = 0
    for flip in FLIPS:
        for n, published in flip.published.items() if only in flip.name else ():
            errors = flip_errors(flip, n, trials, seed)
            error = float(errors.std(ddof=1) / sqrt(trials))
            away = abs(float(errors.mean()) - published) / hypot(FLIP_ERROR, error)
            out += away > LIMIT
            cells = [flip.name, f"{n}", f"{published:.3f}", f"{errors.mean():.3f}",
                     f"{error:.3f}", _apart(away)]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return (lines if len(lines) > 2 else []), out


def main(argv: list[str] | None = None) -> int:
    """Print the tables; 1 if a row is out."""
    parser = argparse.ArgumentParser(description="slow-downs of the weighted vote")
    parser.add_argument("--trials", type=int, default=200, help="with a thousand items")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="rows with this word in their name")
    parser.add_argument("--out", type=Path, help="a file for the tables")
    asked = parser.parse_args(argv)
    votes, out = votes_table(asked.trials, asked.seed, asked.only)
    flips, more = flips_table(max(2, asked.trials // 10), asked.seed, asked.only)
    if not votes and not flips:
        parser.error(f"--only {asked.only}: no row has this word")
    text = "\n\n".join("\n".join(lines) for lines in (votes, flips) if lines)
    print(text)
    if asked.out:
        made = describe()
        assert isinstance(made["versions"], dict)
        versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
        asked.out.write_text(
            f"# Slow-downs of the weighted vote\n\n`python benchmarks/slow_downs.py --trials "
            f"{asked.trials} --seed {asked.seed}` on {made['device']}, {versions}. "
            "`apart`: in standard errors of both.\n\n" + text + "\n",
            encoding="utf-8",
        )
    return 1 if out or more else 0


def _apart(away: float) -> str:
    return f"{away:.1f}" if away <= LIMIT else f"{away:.1f} OUT"


def _shown(value: float) -> str:
    return "no information" if isinf(value) else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
