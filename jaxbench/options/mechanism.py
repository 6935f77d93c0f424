"""What mechanisms there are and which parameters they take: declarations, no arithmetic.

Source: spec of the mechanisms; names and parameters: option table. A mechanism stands between what
a submission truly scores and what the leaderboard releases. Sizes (steps, noise) are fractions of
the score, never percentage points.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

# Decimals of a size at most: what a float prints as has fewer unless it is tiny.
PLACES = 30


@dataclass(frozen=True)
class Parameter:
    """A parameter of a mechanism (or of a submitter).

    - `kind`: `size` (an exact fraction of the score), `share` (the same, of items, or a chance),
      `whole` (a whole number), `word` (one of `words`), `flag` (true or false).
    - `least`, `most`: the allowed range, ends included unless `open_least`, `open_most`. None: no
      bound.
    - `default`: None means that a value has to be given, unless `optional`.
    - `spread`: the size of a noise, which need not be a whole number of ticks.
    """

    name: str
    kind: str
    meaning: str
    least: Fraction | int | None = None
    most: Fraction | int | None = None
    open_least: bool = False
    open_most: bool = False
    default: object = None
    optional: bool = False
    words: tuple[str, ...] = ()
    spread: bool = False


@dataclass(frozen=True)
class MechanismSpec:
    """A mechanism as users name it.

    - `parameters`: in the order of the option table; `NAME:X` gives the first one.
    - `state`: it remembers earlier submissions, so that `state=team|global` means something.
    - `places`: the values of `on` that it can take; the first is the default. Empty: it acts on
      every released number alike, whatever their number.
    - `noisy`: what it releases is random.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    state: bool = False
    global_state: bool = False
    places: tuple[str, ...] = ()
    noisy: bool = False

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name."""
        return next(p for p in self.parameters if p.name == name)


@dataclass(frozen=True)
class Chosen:
    """A mechanism (or a submitter) with a value for every parameter, in the declared order.

    Printed as columns show it: `gaussian(sd=0.01,draw=fresh)`.
    """

    name: str
    values: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        if not self.values:
            return self.name
        inside = ",".join(f"{name}={spell(value)}" for name, value in self.values)
        return f"{self.name}({inside})"

    def __getitem__(self, name: str) -> object:
        return dict(self.values)[name]

    def as_option(self) -> object:
        """The value of the option that gives it again."""
        if not self.values:
            return self.name
        return {"name": self.name} | {
            name: str(spell(value)) if isinstance(value, Fraction) else value
            for name, value in self.values
            if value is not None
        }


def spell(value: object) -> str:
    """A value as columns and messages show it: an exact fraction as a decimal where it ends."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    if not isinstance(value, Fraction):
        return str(value)
    for places in range(PLACES + 1):
        scaled = value * 10**places
        if scaled.denominator == 1:
            whole, part = divmod(abs(scaled.numerator), 10**places)
            sign = "-" if value < 0 else ""
            return f"{sign}{whole}.{part:0{places}d}" if places else f"{sign}{whole}"
    return str(value)


def _size(name: str, meaning: str, **bounds: object) -> Parameter:
    settings: dict = {"least": Fraction(0), "most": Fraction(1)} | bounds
    return Parameter(name, "size", meaning, **settings)


_DRAW = Parameter(
    "draw", "word", "new noise for every release, or the same for the same submission",
    default="fresh", words=("fresh", "persistent"),
)  # fmt: skip
_STEP = _size("step", "grid and least improvement", default=None)

# Built-in mechanisms, in the order of the option table.
MECHANISMS: tuple[MechanismSpec, ...] = (
    MechanismSpec(
        "rounding", "every number rounded to a grid",
        (
            _size("step", "the grid", open_least=True),
            Parameter("mode", "word", "halves to even (of the loss), or down (of the score)",
                      default="even", words=("even", "floor")),
        ),
    ),
    MechanismSpec(
        "gaussian", "every number plus normal noise",
        (_size("sd", "standard deviation", open_least=True, spread=True), _DRAW), noisy=True,
    ),
    MechanismSpec(
        "laplace", "every number plus Laplace noise",
        (_size("scale", "scale b (variance 2 b^2)", open_least=True, spread=True), _DRAW),
        noisy=True,
    ),
    MechanismSpec(
        "subsample", "every submission scored on a fresh random part of the reused items",
        (Parameter("items", "whole", "reused items that are scored", least=1),), noisy=True,
    ),
    MechanismSpec(
        "bootstrap", "every submission scored with fresh random weights of the items", (),
        noisy=True,
    ),
    MechanismSpec(
        "ladder", "a number only where it beats the best one so far by a step, else that one",
        (
            _STEP,
            Parameter("round", "word", "what is released: rounded to the step, as it is, or as "
                      "Ladder.jl does", default="true", words=("true", "false", "julia")),
        ),
        state=True, global_state=True, places=("overall", "coordinates", "gate"),
    ),
    MechanismSpec(
        "parameter_free", "the Ladder whose step is the standard error of the improvement", (),
        state=True, places=("overall",),
    ),
    MechanismSpec(
        "shaky_ladder", "the Ladder with noisy comparisons and releases",
        (
            _STEP,
            _size("scale", "scale b of the noise", spread=True),
            Parameter("cap", "whole", "releases at most (default: ceil(1/step))", least=1,
                      optional=True),
            Parameter("monotone", "flag", "release the smallest one so far", default=False),
        ),
        state=True, global_state=True, places=("overall", "coordinates"), noisy=True,
    ),
    MechanismSpec(
        "frontier_ladder", "a profile only where no earlier one dominates it (provisional)",
        (_STEP,), state=True, global_state=True, places=("coordinates",),
    ),
    MechanismSpec(
        "thresholdout", "the score on a public part unless the rest differs by more than a "
        "noisy threshold",
        (
            _size("threshold", "largest difference that is let pass"),
            _size("scale", "scale of the noise", spread=True),
            Parameter("answers", "whole", "answers from the rest at most (default: no limit)",
                      least=1, optional=True),
            Parameter("noise", "word", "one of the three published rules", default="laplace",
                      words=("laplace", "science", "supplement")),
            Parameter("public", "share", "part of the reused items that may be seen",
                      least=Fraction(0), most=Fraction(1), open_least=True, open_most=True,
                      default=Fraction(1, 2)),
        ),
        state=True, places=("overall", "coordinates"), noisy=True,
    ),
    MechanismSpec(
        "delay", "releases appear in batches",
        (
            Parameter("batch", "whole", "submissions per batch", least=1),
            Parameter("kind", "word", "all of a batch, its best one, or the last one only",
                      default="each", words=("each", "best", "last")),
        ),
    ),
    MechanismSpec(
        "public_private", "feedback from a public part, final ranks from the rest",
        (
            Parameter("public", "share", "part of the reused items that is public",
                      least=Fraction(0), most=Fraction(1), open_least=True, open_most=True),
            Parameter("finals", "whole", "final entries of a team", least=1, most=64, default=2),
        ),
    ),
    MechanismSpec(
        "cap", "how many submissions a team has",
        (
            Parameter("total", "whole", "submissions in all", least=1, optional=True),
            Parameter("per_period", "whole", "submissions per period", least=1, optional=True),
            Parameter("periods", "whole", "periods", least=1, optional=True),
            Parameter("accounts", "whole", "accounts that work together", least=1, default=1),
        ),
    ),
    MechanismSpec(
        "visibility", "who sees a submission's own number; the board shows the team's best",
        (Parameter("to", "word", "nobody more than the board, or the submitter alone",
                   words=("everyone", "submitter")),),
    ),
    MechanismSpec(
        "refresh", "a new reused set after some submissions",
        (Parameter("every", "whole", "submissions per reused set", least=1),),
    ),
)  # fmt: skip
BY_NAME: Mapping[str, MechanismSpec] = {spec.name: spec for spec in MECHANISMS}
