"""From what a user asked for to a complete, checked request."""

from collections.abc import Mapping
from dataclasses import fields

from jaxbench.errors import BadRequest
from jaxbench.options import choosing, parse
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import NO_MECHANISM, spec_of
from jaxbench.options.option import check_name
from jaxbench.options.protocol import Protocol
from jaxbench.options.reading import SOURCE_NAMES
from jaxbench.options.request import AttackRequest
from jaxbench.options.submitter import LINEAR
from jaxbench.options.table import ATTACK, BUILT, KNOWN, RUNNING
from jaxbench.options.together import check_together, places, why_idle

# Options of the job around the attack, not of the attack itself.
JOB_OPTIONS = (*SOURCE_NAMES, "out", "overwrite", *(option.name for option in RUNNING))
SIMULATION = Protocol(trials=1000, budgets=(1, 2, 4, 8, 16, 32, 64, 128))
# What no number means.
NONE = {"precision": "exact", "reused_items": "all"}


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

    def flag(name: str, default: bool) -> bool:
        return parse.boolean(name, asked.get(name, default))

    preset = word("preset", preset)
    simulation = preset == "simulation"
    card = SIMULATION if simulation else protocol
    seed = number("seed", 0, 0)
    routers = word("routers", "prng" if simulation else "hash")
    mechanism = choosing.mechanism(asked.get("mechanism", NO_MECHANISM))
    able = places([spec_of(part.name) for part in mechanism])
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
        extra_overall=flag("extra_overall", False),
        endpoints=words("endpoints", card.endpoints),
        endpoint_view=word("endpoint_view", "released"),
        routers=routers,
        routing_seed=parse.text("routing_seed", asked.get("routing_seed", card.routing_seed)),
        tie_seed=parse.text("tie_seed", asked.get("tie_seed", card.tie_seed)),
        banks=number("banks", 1, 1),
        submitter=choosing.submitter(asked.get("submitter", LINEAR)),
        decoder=word("decoder", "aware"),
        mechanism=mechanism,
        state=word("state", "team"),
        on=word("on", able[0] if able else "overall"),
        clip=flag("clip", False),
        simulator=word("simulator", "full"),
        resamples=number("resamples", 2000, 1),
        bootstrap_seed=number("bootstrap_seed", seed if simulation else 2026081900, 0),
        save_trials=flag("save_trials", True),
        endpoints_given="endpoints" in asked,
    )
    check_together(request, asked)
    return request


def as_options(request: AttackRequest) -> dict[str, object]:
    """A request as plain option values that resolve to it again."""
    values: dict[str, object] = {}
    for field in fields(request):
        name, value = field.name, getattr(request, field.name)
        if name == "endpoints_given" or why_idle(name, request):
            continue
        if name == "mechanism":
            values[name] = choosing.as_option(value)
        elif isinstance(value, Chosen):
            values[name] = value.as_option()
        elif isinstance(value, tuple):
            values[name] = list(value)
        elif isinstance(value, bool | int | str):
            values[name] = value
        else:
            values[name] = NONE[name] if value is None else str(value)
    return values
