"""Conditions: what differs between the rows of a run's tables, and what each asks of the engine."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from jaxbench.leaderboard import Interface
from jaxbench.leaderboard.mechanisms.schedule import (
    effective_budget,
    refreshed_budget,
    visible_before,
)
from jaxbench.options import AttackRequest
from jaxbench.options.mechanism import Chosen
from jaxbench.options.mechanism_names import NO_MECHANISM, spec_of
from jaxbench.options.submitter import LINEAR, submitter_of

# Rules about when a submission counts or is seen: they act on budgets, not on numbers.
ON_BUDGETS = ("cap", "delay", "refresh")
PLAIN = Chosen(LINEAR)
# What looks at single items, or at more sides of the split than two.
ONE_BY_ONE = frozenset({"parameter_free", "thresholdout", "public_private"})


class Side(NamedTuple):
    """Which reused items are scored: so many of them (None: all), the public share (None: all)."""

    size: int | None
    public: Fraction | None


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
    submitter: Chosen = PLAIN

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
        """Whether anything stands between the numbers of a submission and its submitter.

        Where submissions go one by one they all pass a channel, which may let everything through.
        """
        return self._withholds or self.sequenced

    @property
    def _withholds(self) -> bool:
        return bool(self.on_numbers) or self.parsed.ranked

    @property
    def side(self) -> "Side":
        """The reused items that scores are made of."""
        apart = self.part("public_private")
        share = None if apart is None else apart["public"]
        assert share is None or isinstance(share, Fraction)
        return Side(self.reused_items, share)

    @cached_property
    def channel_key(self) -> tuple | None:
        """What a channel depends on beside the trials: conditions that share it share the board."""
        if not self.channelled:
            return None
        ranked = self.parsed if self.parsed.ranked else None
        return (
            self.acting, ranked, self.precision, self.on_numbers, self.state, self.on, self.clip
        )  # fmt: skip

    def part(self, name: str) -> Chosen | None:
        """The part of the mechanism with that name."""
        return next((part for part in self.mechanism if part.name == name), None)

    @cached_property
    def sequenced(self) -> bool:
        """Whether submissions have to be taken one by one (`engine.sequence`).

        That is where one depends on those before, where a mechanism needs more of it than its
        score, and where what is released appears later.
        """
        cap, delay = self.part("cap"), self.part("delay")
        return (
            submitter_of(self.submitter.name).fresh
            or any(part.name in ONE_BY_ONE for part in self.mechanism)
            or any(dict(part.values).get("draw") == "persistent" for part in self.mechanism)
            or (delay is not None and delay["kind"] == "best")
            or (self._withholds and self.batch > 1)
            or (self._withholds and cap is not None and _whole(cap, "accounts") > 1)
        )

    def effective(self, budget: int) -> int:
        """The submissions that are scored at a budget, since the last refresh.

        A cap refuses some; where one of every batch is scored, the others count for nothing.
        """
        return self._counted(budget, since_refresh=True)

    def scored(self, budget: int) -> int:
        """The submissions that are scored at a budget, on whatever reused set."""
        return self._counted(budget, since_refresh=False)

    def _counted(self, budget: int, *, since_refresh: bool) -> int:
        if self.submitter.name == "static":
            return 1
        cap, refresh, delay = map(self.part, ("cap", "refresh", "delay"))
        if cap is not None:
            budget = effective_budget(budget, **dict(cap.values))  # type: ignore[arg-type]
        if refresh is not None and since_refresh:
            budget = refreshed_budget(budget, _whole(refresh, "every"))
        if delay is not None and delay["kind"] == "last":
            budget = 1 + (budget - 1) // _whole(delay, "batch")
        return budget

    @property
    def batch(self) -> int:
        """Submissions whose releases appear together."""
        delay = self.part("delay")
        return 1 if delay is None or delay["kind"] == "last" else _whole(delay, "batch")

    def told_of(self, budget: int) -> float:
        """The share of a budget's scored submissions of which a number appears at all.

        Where only the best of a batch is released it is one in every batch, the last one included.
        """
        delay = self.part("delay")
        if delay is None or delay["kind"] != "best":
            return 1.0
        effective = self.effective(budget)
        return -(-effective // self.batch) / effective

    def is_static(self, budget: int) -> bool:
        """Whether the final router of a budget is the static one: nothing came back before it."""
        return self.effective(budget) <= self.batch

    def decoded(self, budget: int) -> int:
        """The budget whose votes the final router of a budget is made of."""
        effective = self.effective(budget)
        return effective if self.sequenced else 1 + visible_before(effective, self.batch)


def budgets_run(conditions: Iterable[Condition], budgets: Iterable[int]) -> tuple[int, ...]:
    """The budgets at which routers are needed for some reported ones, the static router always."""
    budgets = tuple(budgets)
    needed = {f(k) for c in conditions for k in budgets for f in (c.effective, c.decoded)}
    return tuple(sorted({1, *needed}))


def _whole(part: Chosen, name: str) -> int:
    value = part[name]
    assert isinstance(value, int)
    return value


def _spec(part: Chosen):
    return spec_of(part.name)
