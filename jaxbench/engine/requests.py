"""The request for a benchmark: its own published protocol, or simulation where it has none."""

from collections.abc import Mapping

from jaxbench.benchmark import Benchmark
from jaxbench.options import AttackRequest, Protocol, resolve


def request_for(benchmark: Benchmark | None, options: Mapping[str, object]) -> AttackRequest:
    """Check options of an attack and fill in the others.

    **Arguments:** `benchmark`: None for one without a protocol of its own.

    **Errors:** `BadRequest` naming the option, what was found and what was expected.
    """
    if benchmark is None or benchmark.protocol is None:
        return resolve(options, Protocol(), preset="simulation")
    return resolve(options, benchmark.protocol)
