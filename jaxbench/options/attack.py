"""From what a user asked for to a complete, checked request."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction

from jaxbench.errors import BadRequest
from jaxbench.options import parse
from jaxbench.options.option import check_name
from jaxbench.options.protocol import Protocol
from jaxbench.options.reading import SOURCE_NAMES
from jaxbench.options.table import ATTACK, BUILT, KNOWN, RUNNING

# Options of the job around the attack, not of the attack itself.
JOB_OPTIONS = (*SOURCE_NAMES, "out", "overwrite", *(option.name for option in RUNNING))


@dataclass(frozen=True)
class AttackRequest:
    """Every option of an attack with its value; fields bear the option names.

    `precision` is None for exact scores, `reused_items` for all of them. `endpoints_given` says
    whether the user chose the endpoint rules (see `endpoint_rules`). `simulator` is `full`, or
    `reduced`: for scores of 0 and 1 of items with prompts of their own, fresh routers, and released
    numbers that are exact and weigh their items alike.
    """

    preset: str
    trials: int
    budgets: tuple[int, ...]
    seed: int
    split: str
    split_seed_base: int
    holdout_fraction: Fraction
    min_task_items: int
    reused_items: int | None
    scoring: str
    precision: int | None
    interface: tuple[str, ...]
    group_seed: str
    endpoints: tuple[str, ...]
    endpoint_view: str
    routers: str
    routing_seed: str
    tie_seed: str
    banks: int
    simulator: str
    resamples: int
    bootstrap_seed: int
    save_trials: bool
    endpoints_given: bool

    def bank_seed(self, bank: int) -> str:
        """The routing seed of a bank; bank 0 is the one whose rows are reported."""
        return self.routing_seed if bank == 0 else f"{self.routing_seed}-bank{bank}"

    def endpoint_rules(self, coordinates: int) -> tuple[str, ...]:
        """The endpoint rules where this many numbers are released.

        No frontier of one number has two models, so where a rule would see one number and the
        user did not choose, it is `public_top5`.
        """
        if coordinates == 1 and not self.endpoints_given:
            return ("public_top5",)
        return self.endpoints


SIMULATION = Protocol(trials=1000, budgets=(1, 2, 4, 8, 16, 32, 64, 128))
# Options that another choice switches off: option -> (the choice, its value that needs the option).
NEEDS = {
    "split_seed_base": ("split", "hash"),
    "routing_seed": ("routers", "hash"),
    "tie_seed": ("routers", "hash"),
    "banks": ("routers", "hash"),
}

# What no number means.
NONE = {"precision": "exact", "reused_items": "all"}
# A seed has 64 bits; the others are about what one machine holds in memory, or computes in a day.
LARGEST = {
    "trials": 10**8,
    "budgets": 2**20,
    "seed": 2**64 - 1,
    "banks": 10**4,
    "resamples": 10**5,
}


def resolve(
    given: Mapping[str, object], protocol: Protocol, *, preset: str = "published"
) -> AttackRequest:
    """Check the options that were given and fill in the others from preset and protocol.

    **Arguments:** `given`: option names to values (None: not given); `protocol`: the published
    protocol of the benchmark, or the defaults; `preset`: the preset where none is given.

    **Errors:** `BadRequest` naming the option, what was found and what was expected.
    """
    for name in given:
        check_name(name, ATTACK)
        if name in JOB_OPTIONS:
            raise BadRequest(f"{name} is an option of the command line, not of the attack")
    asked = {name: value for name, value in given.items() if value is not None}

    def word(name: str, default: str) -> str:
        return parse.choice(name, asked.get(name, default), KNOWN[name], BUILT[name])

    def words(name: str, default: str) -> tuple[str, ...]:
        return parse.choices(name, asked.get(name, default), KNOWN[name], BUILT[name])

    def number(name: str, default: int, least: int | None = None) -> int:
        return parse.integer(name, asked.get(name, default), least)

    preset = word("preset", preset)
    simulation = preset == "simulation"
    card = SIMULATION if simulation else protocol
    seed = number("seed", 0, 0)
    routers = word("routers", "prng" if simulation else "hash")
    request = AttackRequest(
        preset=preset,
        trials=number("trials", card.trials, 1),
        budgets=parse.budgets("budgets", asked.get("budgets", card.budgets)),
        seed=seed,
        split=word("split", routers if simulation else "hash"),
        split_seed_base=number("split_seed_base", card.split_seed_base),
        holdout_fraction=parse.fraction(
            "holdout_fraction", asked.get("holdout_fraction", card.holdout_fraction)
        ),
        min_task_items=number("min_task_items", card.min_task_items, 1),
        reused_items=parse.reused_items("reused_items", asked.get("reused_items", "all")),
        scoring=word("scoring", card.scoring),
        precision=parse.precision("precision", asked.get("precision", card.precision)),
        interface=words("interface", "task"),
        group_seed=parse.text("group_seed", asked.get("group_seed", "jaxbench")),
        endpoints=words("endpoints", card.endpoints),
        endpoint_view=word("endpoint_view", "released"),
        routers=routers,
        routing_seed=parse.text("routing_seed", asked.get("routing_seed", card.routing_seed)),
        tie_seed=parse.text("tie_seed", asked.get("tie_seed", card.tie_seed)),
        banks=number("banks", 1, 1),
        simulator=word("simulator", "full"),
        resamples=number("resamples", 2000, 1),
        bootstrap_seed=number("bootstrap_seed", seed if simulation else 2026081900, 0),
        save_trials=parse.boolean("save_trials", asked.get("save_trials", True)),
        endpoints_given="endpoints" in asked,
    )
    _check_idle(request, asked)
    return request


def as_options(request: AttackRequest) -> dict[str, object]:
    """A request as plain option values that resolve to it again."""
    values: dict[str, object] = {}
    for field in fields(request):
        name, value = field.name, getattr(request, field.name)
        if name == "endpoints_given" or _why_idle(name, request):
            continue
        if isinstance(value, tuple):
            values[name] = list(value)
        elif isinstance(value, bool | int | str):
            values[name] = value
        else:
            values[name] = NONE[name] if value is None else str(value)
    return values


def _why_idle(name: str, request: AttackRequest) -> str | None:
    """Why an option means nothing beside the other choices, or None where it does."""
    if name in NEEDS:
        choice, value = NEEDS[name]
        found = getattr(request, choice)
        return None if found == value else f"under {choice}={found}; it needs {choice}={value}"
    if name == "group_seed" and not any(i.startswith("groups") for i in request.interface):
        return "without interface=groups:D"
    hashed = request.routers == request.split == "hash" and request.reused_items is None
    if name == "seed" and hashed and request.preset == "published":
        return (
            "under routers=hash and split=hash; use routing_seed and split_seed_base, or "
            "preset=simulation"
        )
    return None


def _check_idle(request: AttackRequest, asked: Mapping[str, object]) -> None:
    """Refuse an option that the other choices switch off, and numbers that no counter holds."""
    for name in asked:
        if why := _why_idle(name, request):
            raise BadRequest(f"{name} means nothing {why}")
    if request.simulator == "reduced" and request.routers != "prng":
        raise BadRequest(
            f"simulator=reduced with routers={request.routers}: it draws routers afresh in every "
            "trial; use routers=prng (the default of preset=simulation), or simulator=full"
        )
    for name, largest in LARGEST.items():
        value = getattr(request, name)
        value = value[-1] if isinstance(value, tuple) else value
        if value > largest:
            raise BadRequest(f"{name}={value}: expected at most {largest:,}")
