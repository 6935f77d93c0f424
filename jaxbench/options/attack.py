"""From what a user asked for to a complete, checked request."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from jaxbench.errors import BadRequest, nearest
from jaxbench.options import parse
from jaxbench.options.protocol import Protocol
from jaxbench.options.table import ATTACK, BUILT, KNOWN, built_options

# Options of the job around the attack, not of the attack itself.
JOB_OPTIONS = ("benchmark", "path", "out", "overwrite")


@dataclass(frozen=True)
class AttackRequest:
    """Every option of an attack with its value; fields bear the option names."""

    preset: str
    trials: int
    budgets: tuple[int, ...]
    split: str
    split_seed_base: int
    holdout_fraction: Fraction
    scoring: str
    interface: tuple[str, ...]
    endpoints: tuple[str, ...]
    routers: str
    routing_seed: str
    tie_seed: str
    banks: int
    resamples: int
    bootstrap_seed: int
    save_trials: bool

    def bank_seed(self, bank: int) -> str:
        """The routing seed of a bank; bank 0 is the one whose rows are reported."""
        return self.routing_seed if bank == 0 else f"{self.routing_seed}-bank{bank}"


def check_name(name: str) -> None:
    """Refuse an option that does not exist, or is not built yet.

    **Errors:** `BadRequest` with the nearest option that is.
    """
    for option in ATTACK:
        if option.name == name:
            if option.built:
                return
            raise BadRequest(f"option {name} is not built yet")
    raise BadRequest(f"unknown option {name!r}; {nearest(name, [o.name for o in built_options()])}")


def resolve(given: Mapping[str, object], protocol: Protocol) -> AttackRequest:
    """Check the options that were given and fill in the others from preset and protocol.

    **Arguments:** `given`: option names to values (None: not given); `protocol`: the published
    protocol of the benchmark, or the defaults.

    **Errors:** `BadRequest` naming the option, what was found and what was expected.
    """
    for name in given:
        check_name(name)
        if name in JOB_OPTIONS:
            raise BadRequest(f"{name} is an option of the command line, not of the attack")
    asked = {name: value for name, value in given.items() if value is not None}

    def word(name: str, default: str) -> str:
        return parse.choice(name, asked.get(name, default), KNOWN[name], BUILT[name])

    def words(name: str, default: str) -> tuple[str, ...]:
        return parse.choices(name, asked.get(name, default), KNOWN[name], BUILT[name])

    def number(name: str, default: int, least: int | None = None) -> int:
        return parse.integer(name, asked.get(name, default), least)

    return AttackRequest(
        preset=word("preset", "published"),
        trials=number("trials", protocol.trials, 1),
        budgets=parse.budgets("budgets", asked.get("budgets", protocol.budgets)),
        split=word("split", "hash"),
        split_seed_base=number("split_seed_base", protocol.split_seed_base),
        holdout_fraction=parse.fraction(
            "holdout_fraction", asked.get("holdout_fraction", protocol.holdout_fraction)
        ),
        scoring=word("scoring", protocol.scoring),
        interface=words("interface", "task"),
        endpoints=words("endpoints", protocol.endpoints),
        routers=word("routers", "hash"),
        routing_seed=parse.text("routing_seed", asked.get("routing_seed", protocol.routing_seed)),
        tie_seed=parse.text("tie_seed", asked.get("tie_seed", protocol.tie_seed)),
        banks=number("banks", 1, 1),
        resamples=number("resamples", 2000, 1),
        bootstrap_seed=number("bootstrap_seed", 2026081900, 0),
        save_trials=parse.boolean("save_trials", asked.get("save_trials", True)),
    )
