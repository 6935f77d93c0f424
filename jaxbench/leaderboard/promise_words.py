"""Words for what theory promises: the size of a run, numbers and privacy as people read them."""

from dataclasses import dataclass
from fractions import Fraction
from math import isinf

from jaxbench.leaderboard import theory
from jaxbench.options.mechanism import Chosen, spell

FAILURE = 1e-6
# A leaderboard error of 5 pp is more than what mostly separates the best models.
NEARLY_EMPTY = 0.05
# Where a name with a capital letter is not enough.
TITLES = {
    "shaky_ladder": "Shaky Ladder",
    "frontier_ladder": "Frontier Ladder",
    "parameter_free": "Parameter-free Ladder",
    "public_private": "Public and private part",
}


@dataclass(frozen=True)
class Size:
    """The size of a run, as formulas need it.

    - `items`: independent reused items behind a released number; `budget`: submissions.
    - `sensitivity`: the largest total weight of one prompt group in a released mean (None: 1 /
      items, as in a plain mean of items with prompts of their own).
    - `numbers`: released numbers that a mechanism acts on; `on`, `state`: the options.
    - `confidence`: of bounds.
    """

    items: int
    budget: int
    sensitivity: float | None = None
    numbers: int = 1
    on: str = "overall"
    state: str = "team"
    confidence: float = 0.95

    @property
    def delta(self) -> float:
        """The sensitivity."""
        return 1.0 / self.items if self.sensitivity is None else self.sensitivity

    @property
    def words(self) -> str:
        """Submissions and items."""
        return f"{counted(self.budget, 'submission')} and {counted(self.items, 'item')}"


def private(privacy: str, what: str) -> str:
    """How much differential privacy there is; the accounting is all that is claimed."""
    return f"differential privacy of {what}: {privacy}; nothing else follows from it"


def composed(each: float, count: int) -> str:
    """The eps of so many releases, and with a chance of failure where that is less."""
    basic = theory.composed(each, count)
    advanced = theory.composed_advanced(each, count, FAILURE)
    second = f", or {digits(advanced)} at delta {FAILURE:g}" if advanced < basic else ""
    return f"eps {digits(basic)}{second}"


def worth(bound: float) -> str:
    """What a bound on the leaderboard error is good for."""
    if bound >= 1.0:
        return "empty, as no error is above 1, so trust the simulation"
    if bound >= NEARLY_EMPTY:
        return "nearly empty at this size, so trust the simulation"
    return "worth having; the simulation says how much of it is used up"


def title(chosen: Chosen) -> str:
    """A mechanism's name and sizes: `Ladder, step 0.01`."""
    words = TITLES.get(chosen.name) or chosen.name.replace("_", " ").capitalize()
    sizes = [(name, value) for name, value in chosen.values if isinstance(value, Fraction)]
    return ", ".join([words, *(f"{name} {spell(value)}" for name, value in sizes)])


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things, in the singular where it is one."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def digits(value: float) -> str:
    """Three digits that count, without an exponent where a person would write none."""
    if isinf(value):
        return "more than 1e300"
    if value >= 999.5:
        return f"{value:,.0f}" if value < 1e7 else f"{value:.0e}"
    return f"{value:.3g}"


def size_of(chosen: Chosen, name: str) -> Fraction:
    """A parameter that is an exact fraction."""
    value = chosen[name]
    assert isinstance(value, Fraction)
    return value


def whole_of(chosen: Chosen, name: str) -> int:
    """A parameter that is a whole number."""
    value = chosen[name]
    assert isinstance(value, int)
    return value
