"""The options of `jaxbench describe`, and the checked request."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction

from jaxbench.errors import BadRequest
from jaxbench.options import parse
from jaxbench.options.attack import JOB_OPTIONS
from jaxbench.options.option import Option, check_name
from jaxbench.options.protocol import Protocol
from jaxbench.options.reading import SOURCE
from jaxbench.options.table import KNOWN
from jaxbench.options.together import LARGEST

# Rules whose overall is a weighted mean of item scores, so that items can be compared in pairs.
SCORING = ("item_mean", "equal_task", "equal_category")
CORRECTIONS = ("holm", "none")

DESCRIBE = (
    *SOURCE,
    Option("scoring", "card (`item_mean`), `item_mean`", "",
           ", ".join(f"`{rule}`" for rule in SCORING), "what the overall score is the mean of"),
    Option("min_task_items", "card (1), 1", "", "integer >= 1",
           "tasks with fewer items are pooled into `other`"),
    Option("level", "0.95", "", "exact fraction in (0, 1)",
           "confidence of intervals and tests: models are told apart where p < 1 - level"),
    Option("power", "0.8", "", "exact fraction in [1/2, 1)",
           "chance to find a difference as large as the minimum detectable one"),
    Option("correction", "`holm`", "", ", ".join(f"`{word}`" for word in CORRECTIONS),
           "p-values adjusted for the number of pairs, or taken one by one"),
    Option("resamples", "2000", "", "integer >= 1",
           "bootstrap resamples of prompts, where scores are not plain shares"),
    Option("seed", "0", "", "integer >= 0", "seed of the bootstrap"),
    Option("out", "`runs/describe-DATE-TIME`", "", "a folder", "the run directory"),
    Option("overwrite", "false", "", "true, false",
           "replace the results of another run in `out`"),
)  # fmt: skip


@dataclass(frozen=True)
class DescribeRequest:
    """Every option of a description with its value; fields bear the option names."""

    scoring: str
    min_task_items: int
    level: Fraction
    power: Fraction
    correction: str
    resamples: int
    seed: int

    @property
    def alpha(self) -> float:
        """The chance of error, `1 - level`, rounded once."""
        return float(1 - self.level)

    def as_options(self) -> dict[str, object]:
        """Plain option values that resolve to this request again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: _plain(value) if isinstance(value, Fraction) else value
            for name, value in values.items()
        }


def resolve_describe(given: Mapping[str, object], protocol: Protocol) -> DescribeRequest:
    """Check the options that were given and fill in the others.

    **Arguments:** `given`: option names to values (None: not given); `protocol`: the published
    protocol of the benchmark, or the defaults.

    **Errors:** `BadRequest` naming the option, what was found and what was expected.
    """
    for name in given:
        check_name(name, DESCRIBE)
        if name in JOB_OPTIONS:
            raise BadRequest(f"{name} is an option of the command line, not of the description")
    asked = {name: value for name, value in given.items() if value is not None}
    request = DescribeRequest(
        scoring=_scoring(asked.get("scoring", protocol.scoring)),
        min_task_items=parse.integer(
            "min_task_items", asked.get("min_task_items", protocol.min_task_items), 1
        ),
        level=parse.fraction("level", asked.get("level", "0.95")),
        power=parse.fraction("power", asked.get("power", "0.8")),
        correction=parse.choice(
            "correction", asked.get("correction", "holm"), CORRECTIONS, CORRECTIONS
        ),
        resamples=parse.integer("resamples", asked.get("resamples", 2000), 1),
        seed=parse.integer("seed", asked.get("seed", 0), 0),
    )
    for name in ("resamples", "seed"):
        if getattr(request, name) > LARGEST[name]:
            raise BadRequest(f"{name}={getattr(request, name)}: expected at most {LARGEST[name]:,}")
    if request.power < Fraction(1, 2):
        raise BadRequest(
            f"power={parse.show(asked['power'])}: expected an exact fraction from 1/2 to 1, such "
            "as 0.8"
        )
    for name in ("level", "power"):
        # Nearer to 0 or 1 there is no quantile to speak of.
        if not 1e-9 <= getattr(request, name) <= 1 - 1e-9:
            raise BadRequest(
                f"{name}={parse.show(asked[name])}: expected a fraction at least 1e-9 away from 0 "
                "and 1"
            )
    return request


def _scoring(value: object) -> str:
    rule = parse.choice("scoring", value, KNOWN["scoring"], KNOWN["scoring"])
    if rule not in SCORING:
        raise BadRequest(
            f"scoring={rule}: no paired test of items is defined there; choose one of "
            f"{', '.join(SCORING)}"
        )
    return rule


def _plain(value: Fraction) -> float | str:
    """A decimal where it is one, else p/q."""
    return float(value) if Fraction(str(float(value))) == value else str(value)
