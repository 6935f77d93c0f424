"""Conditions: what differs between the rows of a run's tables, and what each asks of the engine."""

from dataclasses import dataclass
from functools import cached_property

from jaxbench.leaderboard import Interface
from jaxbench.leaderboard.mechanisms.schedule import (
    effective_budget,
    refreshed_budget,
    visible_before,
)
from jaxbench.options import AttackRequest
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import NO_MECHANISM, spec_of
from jaxbench.options.submitter import LINEAR

# Rules about when a submission counts or is seen: they act on budgets, not on numbers.
ON_BUDGETS = ("cap", "delay", "refresh")


@dataclass(frozen=True)
class Condition:
    """An endpoint rule under an interface, and everything between a score and its release.

    `precision` None is exact, `reused_items` None is all of them. The fields from `extra_overall`
    on are those of the request.
    """

    rule: str
    interface: str
    precision: int | None = None
    reused_items: int | None = None
    extra_overall: bool = False
    mechanism: tuple[Chosen, ...] = ()
    state: str = "team"
    on: str = "overall"
    clip: bool = False
    decoder: str = "aware"
    submitter: Chosen = Chosen(LINEAR)

    @classmethod
    def of(cls, request: AttackRequest, rule: str, interface: str) -> "Condition":
        """A condition of a request."""
        return cls(
            rule, interface, request.precision, request.reused_items, request.extra_overall,
            request.mechanism, request.state, request.on, request.clip, request.decoder,
            request.submitter,
        )  # fmt: skip

    @property
    def mechanism_name(self) -> str:
        """The mechanism as columns show it."""
        return "+".join(map(str, self.mechanism)) or NO_MECHANISM

    @cached_property
    def parsed(self) -> Interface:
        """The interface that is asked for."""
        return Interface.parse(self.interface)

    @cached_property
    def acting(self) -> Interface:
        """The interface whose numbers the mechanism acts on."""
        one_number = self.parsed.ranked or (self.places and self.on == "overall")
        return Interface("aggregate") if one_number else self.parsed

    @property
    def places(self) -> tuple[str, ...]:
        """The values of `on` that the mechanism can take."""
        return next((s.places for s in map(_spec, self.mechanism) if s.places), ())

    @cached_property
    def on_numbers(self) -> tuple[Chosen, ...]:
        """The parts of the mechanism that act on what is released about one submission."""
        return tuple(part for part in self.mechanism if part.name not in ON_BUDGETS)

    @property
    def channelled(self) -> bool:
        """Whether anything stands between the numbers of a submission and its submitter."""
        return bool(self.on_numbers) or self.parsed.ranked

    def part(self, name: str) -> Chosen | None:
        """The part of the mechanism with that name."""
        return next((part for part in self.mechanism if part.name == name), None)

    def effective(self, budget: int) -> int:
        """The submissions that count at a budget: what a cap lets pass, since the last refresh."""
        if self.submitter.name == "static":
            return 1
        cap, refresh = self.part("cap"), self.part("refresh")
        if cap is not None:
            budget = effective_budget(budget, **dict(cap.values))  # type: ignore[arg-type]
        if refresh is not None:
            budget = refreshed_budget(budget, _whole(refresh, "every"))
        return budget

    @property
    def batch(self) -> int:
        """Submissions whose releases appear together."""
        delay = self.part("delay")
        return 1 if delay is None else _whole(delay, "batch")

    def decoded(self, budget: int) -> int:
        """The budget whose votes the final router of a budget is made of."""
        return 1 + visible_before(budget, self.batch)


def _whole(part: Chosen, name: str) -> int:
    value = part[name]
    assert isinstance(value, int)
    return value


def _spec(part: Chosen):
    return spec_of(part.name)
