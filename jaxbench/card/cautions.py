"""What a reader of a card should know before trusting the ranking, in plain sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxbench.engine import MOST_UNITS
from jaxbench.errors import some

# First place that so few items decide is said to hang on them.
FEW_ITEMS = 3


def cautions(card: Mapping[str, Any]) -> list[str]:
    """The warnings of a card, from its other entries (see `card.card`)."""
    return [*_of_shape(card), *_of_tasks(card), *_of_ranking(card)]


def _of_shape(card: Mapping[str, Any]) -> list[str]:
    shape = card["shape"]
    found = []
    if shape["models"] == 1:
        found.append("1 model: there is nothing to compare it with, and no attack on it")
    idle = shape["solved_by_all"] + shape["solved_by_none"]
    if 2 * idle > shape["items"]:
        found.append(
            f"{idle:,} of {shape['items']:,} items are solved by every model or by none and "
            "decide nothing"
        )
    if n := shape["prompts_in_several_tasks"]:
        found.append(
            f"{_number(n, 'prompt')} in several tasks: an attack refuses that; shared_prompts=drop "
            "leaves their items out"
        )
    if shape["on_grid"]:
        found.append(
            "scores have no common denominator and stand on a grid of 1e-6: ties may be missed"
        )
    return found


def _of_tasks(card: Mapping[str, Any]) -> list[str]:
    tasks: Sequence[Mapping[str, Any]] = card["tasks"]
    found = []
    if single := [task["task"] for task in tasks if task["items"] == 1]:
        found.append(
            f"{_number(len(single), 'task')} of one item ({some(single)}): an attack cannot split "
            "that; min_task_items pools small tasks"
        )
    if len(tasks) == 1:
        found.append("1 task only: no model can be ahead on one task and behind on another")
    if len(tasks) > MOST_UNITS:
        found.append(
            f"{len(tasks):,} tasks: an attack takes at most {MOST_UNITS}; min_task_items pools "
            "small ones"
        )
    return found


def _of_ranking(card: Mapping[str, Any]) -> list[str]:
    models, pairs = card["models"], card["pairs"]
    if len(models) < 2:
        return []
    found = []
    first = [model["model"] for model in models if model["rank"] == 1]
    place = card["first_place"]
    if len(first) == len(models):
        found.append(f"all {len(models)} models have the same score")
    elif len(first) > 1:
        found.append(f"first place is shared by {len(first)} models: {some(first)}")
    elif place["deciding_items"] <= FEW_ITEMS:
        found.append(
            f"first place hangs on {_number(place['deciding_items'], 'item')}: without "
            f"{'it' if place['deciding_items'] == 1 else 'them'} {place['rival']!r} is level with "
            f"{first[0]!r}, or above"
        )
    if not pairs["separable"]:
        found.append(
            f"none of {_number(pairs['tested'], 'pair')} of models can be told apart at level "
            f"{card['level']:g}"
        )
    if rough := pairs["tests"].get("sign_flip_normal"):
        found.append(
            f"{rough:,} of {_number(pairs['tested'], 'pair')} are tested by a normal "
            "approximation: scores are too fine for exact sums"
        )
    if card["frontier"]["size"] == 1:
        found.append(
            f"1 model is on the frontier of all items ({card['frontier']['models'][0]!r} is "
            "nowhere behind): endpoints=top5 finds two models only where a split has two"
        )
    return found


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
