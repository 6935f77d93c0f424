"""A complete request for an attack."""

from dataclasses import dataclass
from fractions import Fraction

from jaxbench.options.mechanism import Chosen


@dataclass(frozen=True)
class AttackRequest:
    """Every option of an attack with its value; fields bear the option names.

    `precision` is None for exact scores, `reused_items` for all of them. `endpoints_given` says
    whether the user chose the endpoint rules (see `endpoint_rules`). `simulator` is `full`, or
    `reduced`: for scores of 0 and 1 of items with prompts of their own, fresh routers, and released
    numbers that are exact and weigh their items alike. `mechanism` is a chain in the order in which
    its parts act, () for none; `decoder`, `state`, `on` and `clip` are the defaults where the other
    choices switch them off.
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
    extra_overall: bool
    endpoints: tuple[str, ...]
    endpoint_view: str
    routers: str
    routing_seed: str
    tie_seed: str
    banks: int
    submitter: Chosen
    decoder: str
    mechanism: tuple[Chosen, ...]
    state: str
    on: str
    clip: bool
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
