"""The description from Python: what `jaxbench.describe` runs and returns."""

from jaxbench.benchmark import Benchmark
from jaxbench.card import Card, make_card
from jaxbench.errors import BadRequest
from jaxbench.options import Protocol
from jaxbench.options.describe import DescribeRequest, resolve_describe


def describe(benchmark: Benchmark, **options: object) -> Card:
    """Say how finely a benchmark can rank its models, and what first place hangs on.

    **Arguments:**

    - `benchmark`: from `jaxbench.load` or `jaxbench.read`.
    - `options`: those of `jaxbench describe` (the table in the README), such as `level=0.99`.

    **Returns:** a `Card` with `.summary()` (one row per model, scores in pp), `.pairs()`,
    `.to_dict()` and `.warnings`.

    **Errors:** `BadRequest` for an unknown option or value, or a benchmark without the categories
    that the scoring rule needs. Sources: the paired test of McNemar (1947) and its form for any
    scores (Pitman 1937); Holm (1979) over all pairs; intervals of Wilson (1927); rank bounds after
    Mogstad, Romano, Shaikh and Wilhelm (2024); paired standard errors of Miller (2024).
    """
    if not isinstance(benchmark, Benchmark):
        raise BadRequest(
            f"describe takes a Benchmark from jaxbench.load or jaxbench.read, not {type(benchmark)}"
        )
    return make_card(benchmark, request_for(benchmark, options))


def request_for(benchmark: Benchmark, options: dict[str, object]) -> DescribeRequest:
    """The request for a benchmark: its own protocol's scoring, or the mean over items."""
    return resolve_describe(options, benchmark.protocol or Protocol())
