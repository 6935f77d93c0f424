"""What submitters there are and which parameters they take: declarations, no arithmetic.

Source: option table and spec of the mechanisms (attack constants, adaptive flips). A submitter
decides what is submitted, and what the final router is made of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from jaxbench.errors import unknown
from jaxbench.options.mechanism import Parameter


@dataclass(frozen=True)
class SubmitterSpec:
    """A submitter as users name it.

    - `parameters`: `NAME:X` gives the first one.
    - `fresh`: it draws its submissions as it goes, so that no published bank can hold them.
    - `decodes`: it makes something of released numbers that depends on the mechanism.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    fresh: bool = False
    decodes: bool = True


LINEAR = "linear"

# In the order of the option table; the first is the default.
SUBMITTERS: tuple[SubmitterSpec, ...] = (
    SubmitterSpec(LINEAR, "random routers, and a vote that weighs each by its released score"),
    SubmitterSpec("sign", "random routers, and a vote with the sign of each one's weight"),
    SubmitterSpec(
        "majority", "random routers, and a majority of those no worse than the mean endpoint"
    ),
    SubmitterSpec(
        "static", "the publicly stronger endpoint for every released number", decodes=False
    ),
    SubmitterSpec(
        "flip", "the best accepted router with some prompts flipped, kept where it is accepted",
        (Parameter("items", "whole", "prompts that are flipped at a time", least=1, default=1),),
        fresh=True,
    ),
    SubmitterSpec(
        "rounds", "random routers around the final router of the round before",
        (
            Parameter("length", "whole", "submissions of a round", least=2, default=64),
            Parameter("share", "share", "chance that a prompt's route differs from that router's",
                      least=Fraction(0), most=Fraction(1, 2), open_least=True,
                      default=Fraction(1, 8)),
        ),
        fresh=True,
    ),
    SubmitterSpec(
        "development", "ordinary work: changes that are kept where the released score rises",
        (
            Parameter("gain", "size", "expected true gain of a submission", least=Fraction(0),
                      most=Fraction(1), open_least=True, default=Fraction(1, 1000)),
            Parameter("change", "share", "part of the prompts whose answers a submission touches",
                      least=Fraction(0), most=Fraction(1), open_least=True,
                      default=Fraction(1, 20)),
        ),
        fresh=True,
    ),
)  # fmt: skip
SUBMITTER_BY_NAME: Mapping[str, SubmitterSpec] = {spec.name: spec for spec in SUBMITTERS}


def submitter_of(name: str) -> SubmitterSpec:
    """The submitter of that name.

    **Errors:** `BadRequest` with the nearest name.
    """
    if name not in SUBMITTER_BY_NAME:
        raise unknown("value of submitter", name, SUBMITTER_BY_NAME)
    return SUBMITTER_BY_NAME[name]
