"""Which choices go together: what the others switch off, and what excludes each other."""

from collections.abc import Mapping

from jaxbench.errors import BadRequest
from jaxbench.options.chain import SCHEDULES
from jaxbench.options.interface_words import RANKED, is_one_number, kind_of
from jaxbench.options.mechanism import MechanismSpec
from jaxbench.options.mechanism_names import names, spec_of
from jaxbench.options.request import AttackRequest
from jaxbench.options.submitter import LINEAR, submitter_of

# Options that another choice switches off: option -> (the choice, its value that needs the option).
NEEDS = {
    "split_seed_base": ("split", "hash"),
    "routing_seed": ("routers", "hash"),
    "tie_seed": ("routers", "hash"),
    "banks": ("routers", "hash"),
}
# A seed has 64 bits; the others are about what one machine holds in memory, or computes in a day.
LARGEST = {
    "trials": 10**8,
    "budgets": 2**20,
    "seed": 2**64 - 1,
    "banks": 10**4,
    "resamples": 10**5,
}


def check_together(request: AttackRequest, asked: Mapping[str, object]) -> None:
    """Refuse options that the other choices switch off, and choices that exclude each other.

    **Arguments:** `asked`: the options that the user gave.

    **Errors:** `BadRequest` naming the options, their values and what would go together.
    """
    for name in asked:
        if why := why_idle(name, request):
            raise BadRequest(f"{name} means nothing {why}")
    _check_simulator(request)
    _check_submitter(request)
    _check_mechanism(request)
    _check_places(request)
    for name, largest in LARGEST.items():
        value = getattr(request, name)
        value = value[-1] if isinstance(value, tuple) else value
        if value > largest:
            raise BadRequest(f"{name}={value}: expected at most {largest:,}")


def why_idle(name: str, request: AttackRequest) -> str | None:
    """Why an option means nothing beside the other choices, or None where it does."""
    if name in NEEDS:
        choice, value = NEEDS[name]
        found = getattr(request, choice)
        return None if found == value else f"under {choice}={found}; it needs {choice}={value}"
    if name == "group_seed" and "groups" not in map(kind_of, request.interface):
        return "without interface=groups:D"
    if name == "extra_overall" and all(map(is_one_number, request.interface)):
        return f"under interface={request.interface[0]}, which releases one number"
    if name == "seed" and not _draws(request) and request.preset == "published":
        return (
            "under routers=hash and split=hash; use routing_seed and split_seed_base, or "
            "preset=simulation"
        )
    return _why_idle_beside_mechanism(name, request)


def specs(request: AttackRequest) -> list[MechanismSpec]:
    """The declarations of the mechanisms of a request, in their order."""
    return [spec_of(part.name) for part in request.mechanism]


def places(chain: list[MechanismSpec]) -> tuple[str, ...]:
    """The values of `on` that a chain can take, its default first; () where `on` is idle."""
    return next((spec.places for spec in chain if spec.places), ())


def _why_idle_beside_mechanism(name: str, request: AttackRequest) -> str | None:
    chain = specs(request)
    if name == "decoder":
        if not submitter_of(request.submitter.name).decodes:
            return f"under submitter={request.submitter.name}, which decodes nothing"
        if not chain and "top" not in map(kind_of, request.interface):
            return "under mechanism=none; only interface=top:K withholds something without one"
    if name == "state" and not any(spec.state for spec in chain):
        return _without("remembers what it released", [n for n in names() if spec_of(n).state])
    if name == "on" and not places(chain):
        return _without("acts in one place", [n for n in names() if spec_of(n).places])
    if name == "clip" and not any(spec.noisy for spec in chain):
        return _without("adds noise", [n for n in names() if spec_of(n).noisy])
    return None


def _without(what: str, known: list[str]) -> str:
    return f"without a mechanism that {what}: {', '.join(known)}"


def _draws(request: AttackRequest) -> bool:
    """Whether anything is drawn from `seed`."""
    hashed = request.routers == request.split == "hash" and request.reused_items is None
    return not hashed or any(spec.noisy for spec in specs(request))


def _check_simulator(request: AttackRequest) -> None:
    if request.simulator != "reduced":
        return
    if request.routers != "prng":
        raise BadRequest(
            f"simulator=reduced with routers={request.routers}: it draws routers afresh in every "
            "trial; use routers=prng (the default of preset=simulation), or simulator=full"
        )
    for other, found in (
        ("mechanism", [str(part) for part in request.mechanism]),
        ("submitter", [n for n in [request.submitter.name] if n != LINEAR]),
        ("interface", [word for word in request.interface if kind_of(word) in RANKED]),
    ):
        if found:
            raise BadRequest(
                f"simulator=reduced with {other}={found[0]}: its law is that of the weighted vote "
                "on true numbers of every submission; use simulator=full"
            )


def _check_submitter(request: AttackRequest) -> None:
    name = request.submitter.name
    if submitter_of(name).fresh and request.routers != "prng":
        raise BadRequest(
            f"submitter={name} with routers={request.routers}: it draws submissions as it goes, "
            "which no bank holds; use routers=prng (the default of preset=simulation)"
        )


def _check_mechanism(request: AttackRequest) -> None:
    chain = specs(request)
    if request.extra_overall and chain:
        raise BadRequest(
            f"extra_overall together with a mechanism ({chain[0].name}): not built; use one of them"
        )
    on_numbers = [spec.name for spec in chain if spec.name not in SCHEDULES]
    if on_numbers and request.scoring == "mean_win_rate":
        raise BadRequest(
            f"mechanism={on_numbers[0]} with scoring=mean_win_rate: a win rate depends on the "
            "other rows and is no number of one submission; use another scoring, or only "
            f"{', '.join(SCHEDULES)}"
        )
    if request.state == "global":
        for spec in chain:
            if spec.state and not spec.global_state:
                able = [n for n in names() if spec_of(n).global_state]
                raise BadRequest(
                    f"state=global with mechanism={spec.name}: it is defined on the submissions of "
                    "one team and cannot start from the genuine rows; use state=team, or one of "
                    f"{', '.join(able)}"
                )


def _check_places(request: AttackRequest) -> None:
    chain = specs(request)
    able = places(chain)
    if not able:
        return
    spec = next(spec for spec in chain if spec.places)
    if request.on not in able:
        raise BadRequest(
            f"on={request.on} with mechanism={spec.name}: expected on={' or '.join(able)}"
        )
    if request.on == "overall":
        return
    remedy = "on=overall" if "overall" in able else "another mechanism, such as ladder"
    if request.scoring == "chance_normalised":
        raise BadRequest(
            f"on={request.on} (mechanism={spec.name}) with scoring=chance_normalised: the overall "
            f"is no weighted mean of the released numbers; use {remedy}"
        )
    for word in request.interface:
        if is_one_number(word):
            raise BadRequest(
                f"on={request.on} (mechanism={spec.name}) with interface={word}, which releases "
                f"one number; use {remedy}"
            )
