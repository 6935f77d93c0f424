"""A benchmark's card on the terminal."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Models that are shown, cells of a line, and of a name in a sentence.
MOST_ROWS = 20
PROMPTS = {"text": "their text", "document": "the document", "item": "the item"}
WIDTH, IN_TEXT = 80, 30
# Below this a p-value is only known to be small.
TINY = 1e-12
HEADINGS = ("rank", "model", "score, pp", "less\nfirst", "p to\nfirst", "ranks", "mde,\npp")


def card_text(card: Mapping[str, Any]) -> str:
    """The card as plain text, 80 columns wide; `card`: the object of `card.json`."""
    text = io.StringIO()
    print_card(Console(file=text, width=WIDTH, force_terminal=False), card)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def print_card(console: Console, card: Mapping[str, Any]) -> None:
    """Shape, models by tiers, what first place hangs on, and warnings.

    **Arguments:** `card`: the object of `card.json`.
    """
    for line in _head(card):
        _say(console, line)
    console.print(_table(card))
    shown, models = min(MOST_ROWS, len(card["models"])), len(card["models"])
    if shown < models:
        _say(console, f"and {models - shown:,} more in summary.csv")
    for line in (*_resolution(card), _first_place(card), *_frontier(card)):
        _say(console, line)
    for warning in card["warnings"]:
        _say(console, f"warning: {warning}")
    for note in card["provenance"]:
        if note.startswith("note: "):
            _say(console, note)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, emoji=False)


def _head(card: Mapping[str, Any]) -> list[str]:
    shape = card["shape"]
    counts = [_number(shape[thing + "s"], thing) for thing in ("model", "item", "task")]
    if shape["categories"] is not None:
        counts.append(
            f"{shape['categories']:,} categor{'y' if shape['categories'] == 1 else 'ies'}"
        )
    of = shape["denominator"]
    scores = "0 or 1" if of == 1 else f"multiples of 1/{of:,}"
    runs = ""
    if shape["repeats"] is not None:
        fewest, most = shape["repeats"]
        each = f"{fewest} to {most} runs" if fewest < most else _number(most, "run")
        runs = f", {each} each"
    prompts = _number(shape["prompts"], "prompt")
    if shape["prompts_told_by"] is not None:
        prompts += f", told apart by {PROMPTS[shape['prompts_told_by']]}"
    if shape["shared_prompts"]:
        prompts += (
            f", {shape['shared_prompts']:,} of them on {shape['shared_prompt_items']:,} items"
        )
    return [
        f"{_cut(card['benchmark'], 40)}: {', '.join(counts)}",
        f"scores {scores}{runs}; overall {card['scoring']}",
        f"{prompts}; solved by all models: {_number(shape['solved_by_all'], 'item')}, by none: "
        f"{shape['solved_by_none']:,}",
    ]


def _table(card: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in HEADINGS:
        left = heading == "model"
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    models = card["models"][:MOST_ROWS]
    rows = [_cells(model) for model in models]
    # Names take what the numbers leave.
    heads = [max(map(len, heading.splitlines())) for heading in HEADINGS]
    others = sum(
        max(heads[c], *(len(row[c]) for row in rows)) + 1 for c in range(len(HEADINGS)) if c != 1
    )
    tier = 0
    for model, row in zip(models, rows, strict=True):
        if len(card["tiers"]) > 1 and model["tier"] != tier:
            tier = model["tier"]
            size = _number(len(card["tiers"][tier - 1]), "model")
            table.add_row("", f"[bold]tier {tier}: {size}[/bold]")
        # As it is: neither markup nor :smile: in a name means anything.
        name = Text(_cut(row[1], WIDTH - others - 1))
        table.add_row(row[0], name, *row[2:])
    return table


def _cells(model: Mapping[str, Any]) -> list[str]:
    score, low, high = (model[f"score_pp{end}"] for end in ("", "_low", "_high"))
    first = model["p_first"] is None
    return [
        f"{model['rank']}{'=' if model['tied'] else ''}",
        model["model"],
        f"{score:.1f} [{low:.1f}, {high:.1f}]",
        "" if first else f"{model['difference_pp'] + 0.0:.1f}",
        _p(model["p_first_adjusted"]),
        f"{model['rank_low']}-{model['rank_high']}",
        "" if model["mde_pp"] is None else f"{model['mde_pp']:.1f}",
    ]


def _resolution(card: Mapping[str, Any]) -> list[str]:
    pairs, near = card["pairs"], card["adjacent"]
    if not pairs["tested"]:
        return []
    corrected = card["correction"] != "none"

    def told(part: Mapping[str, Any], of: int) -> str:
        plain = f" ({part['separable_unadjusted']:,} uncorrected)" if corrected else ""
        return f"{part['separable']:,} of {of:,}{plain}"

    tests = ", ".join(pairs["tests"])
    lines = [
        f"told apart (level {card['level']:g}, {tests}, correction {card['correction']}): pairs "
        f"{told(pairs, pairs['tested'])}; neighbours {told(near, near['pairs'])}"
    ]
    if near["mde_pp"] is not None:
        lines.append(
            f"mde: smallest difference found with power {card['power']:g}, uncorrected; median "
            f"of neighbours {near['mde_pp']:.1f} pp"
        )
    return lines


def _first_place(card: Mapping[str, Any]) -> str:
    place = card["first_place"]
    first = _names(place["models"])
    if place["deciding_items"] is None:
        return f"first place: {first}, the only model"
    if place["deciding_items"] == 0:
        return f"first place: shared by {first}"
    return (
        f"first place: {first}; {_cut(place['rival'], IN_TEXT)} is level without "
        f"{_number(place['deciding_items'], 'item')} ({100 * place['share']:.1f} %)"
    )


def _frontier(card: Mapping[str, Any]) -> list[str]:
    frontier = card["frontier"]
    lines = [f"frontier: {_number(frontier['size'], 'model')}: {_names(frontier['models'])}"]
    if frontier["endpoints"] is None:
        return lines
    rules: dict[tuple[str, ...] | None, list[str]] = {}
    for rule, pair in frontier["endpoints"].items():
        rules.setdefault(None if pair is None else tuple(sorted(pair)), []).append(rule)
    found = "; ".join(
        f"{', '.join(names)}: {'none' if pair is None else _names(pair, ' + ')}"
        for pair, names in rules.items()
    )
    return [*lines, f"endpoints: {found}"]


def _names(names: Sequence[str], between: str = ", ", most: int = 3) -> str:
    shown = between.join(_cut(name, IN_TEXT) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _cut(name: str, cells: int) -> str:
    """A name on one line, with an ellipsis where it is too wide."""
    name = "".join(c if c.isprintable() else "�" for c in name)
    return name if cell_len(name) <= cells else set_cell_size(name, cells - 1).rstrip() + "…"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    if value < TINY:
        return f"<{TINY:.0e}"
    if value >= 0.0995:
        return f"{value:.2f}"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}".replace("e-0", "e-")


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
