"""A sequence of submissions through a chain of mechanisms: fractions and loops (rules 2 to 18).

Losses are fractions of the score, a list per submission, and None where nothing is released. Every
part takes what the part before releases as its losses; a number is visible, and a submission's
own, where it is so behind every part. Nothing here knows items, models or the engine.

Parts are (name, values), and names are those of the options; `Rank`s and the like are the last
part, named as interfaces are, with the genuine rows in `values["pool"]`.
"""

from fractions import Fraction
from math import log10
from typing import NamedTuple

from .boards import bucket, rank, steps_outward, wilson
from .mechanisms import to_grid

Row = list  # of Fraction or None, a loss per number
Part = tuple[str, dict]
# The submission that the board shows a team by; of a chain the last of these.
TEAM_ROWS = ("own", "last", "best")
TEAM_ROW = {"ladder": "last", "frontier_ladder": "best", "visibility": "best", "top": "best"}


class Told(NamedTuple):
    """What is released of one submission: numbers, where they are its own, what places it."""

    released: Row
    own: list[bool]
    place: Fraction | None = None

    @property
    def whole(self) -> bool:
        return None not in self.released


class Numbers(NamedTuple):
    """What the numbers are: items behind each, and what each weighs in the overall."""

    items: list[int]
    weights: list[Fraction]

    def overall(self, losses: Row) -> Fraction:
        return sum((w * x for w, x in zip(self.weights, losses, strict=True)), Fraction(0))


def team_row(parts: list[Part]) -> str:
    """`own`: by its latest submission, `last`: its last accepted one, `best`: its best of these."""
    return max((TEAM_ROW.get(name, "own") for name, _ in parts), key=TEAM_ROWS.index, default="own")


def walk(
    parts: list[Part], rows: list[Row], numbers: Numbers, *, on: str, board: list[Row] | None = None
) -> list[Told]:
    """Submissions of one team in their order; `board`: genuine rows that a memory starts from."""
    told = [Told(list(row), [True] * len(row)) for row in rows]
    for part in parts:
        found = _one(part, [t.released for t in told], numbers, on, board)
        told = [
            Told(
                [y if x is not None else None for x, y in zip(t.released, f.released, strict=True)],
                [a and b for a, b in zip(t.own, f.own, strict=True)],
                f.place,
            )
            for t, f in zip(told, found, strict=True)
        ]
        if board is not None and part[0] == "rounding":
            board = [t.released for t in _one(part, board, numbers, on, None)]
    return told


def _one(part: Part, rows: list[Row], numbers: Numbers, on: str, board) -> list[Told]:
    name, values = part
    if name == "rounding":
        return [_all([_round(x, values) for x in row]) for row in rows]
    if name == "ladder":
        if on == "gate":
            return _gate(rows, numbers, _grids(values, numbers), values["step"], board)
        return _ladders(rows, _grids(values, numbers), values["step"], board)
    if name == "frontier_ladder":
        return _frontier(rows, values["step"], board)
    if name == "visibility":
        return [_all(row) for row in rows] if values["to"] == "submitter" else _best(rows)
    return _placed(name, [row[0] for row in rows], values, numbers)


def _all(row: Row, place: Fraction | None = None) -> Told:
    return Told(row, [True] * len(row), place)


def _round(loss, values: dict):
    if loss is None:
        return None
    step = values["step"]
    if values.get("mode", "even") == "floor":
        return 1 - (1 - loss) // step * step  # of the score
    return to_grid(loss, step)


def _grids(values: dict, numbers: Numbers) -> list[Fraction]:
    """What an accepted loss is rounded to, of every number."""
    kind = values.get("round", "true")
    if kind == "julia":
        return [Fraction(1, 10 ** round(log10(n))) for n in numbers.items]
    return [values["step"] if kind == "true" else Fraction(0)] * len(numbers.items)


def _ladders(rows: list[Row], grids: list[Fraction], step: Fraction, board) -> list[Told]:
    """A Ladder for every number, rule 6."""
    best: Row = [None] * len(grids)
    if board is not None:
        best = [to_grid(min(row[n] for row in board), h) for n, h in enumerate(grids)]
    told = []
    for row in rows:
        own = [
            x is not None and (b is None or x < b - step) for x, b in zip(row, best, strict=True)
        ]
        best = [
            to_grid(x, h) if mine else b
            for x, b, mine, h in zip(row, best, own, grids, strict=True)
        ]
        told.append(Told(best, own))
    return told


def _gate(rows, numbers: Numbers, grids, step, board) -> list[Told]:
    """The Ladder on the overall, which lets a whole profile through or none of it."""

    def on_grid(row: Row) -> Row:
        return [to_grid(x, h) for x, h in zip(row, grids, strict=True)]

    shown: Row = [None] * len(grids)
    if board is not None:
        shown = on_grid(min(board, key=numbers.overall))
    told = []
    for row in rows:
        mine = None not in row and (
            None in shown or numbers.overall(row) < numbers.overall(shown) - step
        )
        shown = on_grid(row) if mine else shown
        told.append(Told(shown, [mine] * len(grids)))
    return told


def _frontier(rows: list[Row], step: Fraction, board) -> list[Told]:
    """Rule 9: a profile that no earlier one dominates."""
    members = [[to_grid(x, step) for x in row] for row in board or []]
    told = []
    for row in rows:
        mine = None not in row and not any(
            all(f <= x + step for f, x in zip(member, row, strict=True)) for member in members
        )
        if mine:
            members.append([to_grid(x, step) for x in row])
        told.append(Told(members[-1] if mine else [None] * len(row), [mine] * len(row)))
    return told


def _best(rows: list[Row]) -> list[Told]:
    """The smallest loss so far of every number, which is all that anybody sees (rule 18)."""
    best: Row = [None] * (len(rows[0]) if rows else 0)
    told = []
    for row in rows:
        own = [x is not None and (b is None or x < b) for x, b in zip(row, best, strict=True)]
        best = [x if mine else b for x, b, mine in zip(row, best, own, strict=True)]
        told.append(Told(best, own))
    return told


def _placed(kind: str, losses: list, values: dict, numbers: Numbers) -> list[Told]:
    """One number, and a place or a range in its stead: rules 11, 12, 13 and 17."""
    pool = values["pool"]
    if kind == "top":
        board, told = list(pool), []
        for loss in losses:
            mine = 1 + sum(entry <= loss for entry in board) <= values["size"]
            if mine:
                board.append(loss)
            told.append(Told([loss if mine else None], [mine]))
        return told
    if kind == "rank":
        found, entries = [], list(pool)
        for loss in losses:
            found += rank(entries, [loss])
            if values["everyone"]:
                entries.append(loss)
        # A better loss stands before a worse one of the same rank.
        return [_all([Fraction(r)], loss) for r, loss in zip(found, losses, strict=True)]
    if kind == "bucket":
        return [_all([Fraction(b)]) for b in bucket(pool, losses, values["size"])]

    n = numbers.items[0]
    ends = [wilson(int(loss * n), n) for loss in losses]
    if kind == "interval_rank":
        theirs = [wilson(int(loss * n), n)[1] for loss in pool]
        return [_all([Fraction(1 + sum(high < low for high in theirs))]) for low, _ in ends]
    # Both ends on the grid are released; in their middle, in half steps, rows are compared.
    return [_all([Fraction(sum(steps_outward(*e, values["width"])))]) for e in ends]
