"""Benchmarks without the names of models and items."""

import hashlib
import re
from dataclasses import replace

from jaxbench.benchmark.container import Benchmark

# What the provenance of such a benchmark says.
NAMELESS = "the names of models and items are replaced"


def anonymous(benchmark: Benchmark) -> Benchmark:
    """The same outcomes under names that say nothing: `model 07`, `item 0123`.

    Only names change: models and items keep their places, so ties are decided and prompts are
    drawn as under the true names, and every number stays what it was. Numbers are dealt in the
    order of hashes that depend on all outcomes, so they do not follow the alphabet, and nobody
    without the outcomes can deal them again. Tasks and categories keep their names. Sentences of
    the provenance that hold a name are left out.
    """
    salt = benchmark.digest()
    names = (*benchmark.models, *benchmark.items)
    # A short name or a number stands in sentences that do not name anybody; quoted, it does.
    spelled = {repr(n) if len(n) < 3 or n.isdecimal() else n for n in names}
    # Sentences quote names, and a quoted name has its odd characters escaped.
    spelled |= {repr(name) for name in names}
    named = re.compile(r"(?<!\w)(" + "|".join(map(re.escape, sorted(spelled))) + r")(?!\w)")
    said = tuple(note for note in benchmark.provenance if not named.search(note))
    if len(said) < len(benchmark.provenance):
        said = (*said, f"{len(benchmark.provenance) - len(said)} notes that hold names left out")
    return replace(
        benchmark,
        # A file of one model may bear its name.
        name="benchmark" if benchmark.name in names else benchmark.name,
        provenance=(*said, NAMELESS),
        models=_dealt("model", benchmark.models, salt),
        items=_dealt("item", benchmark.items, salt),
    )


def _dealt(kind: str, names: tuple[str, ...], salt: str) -> tuple[str, ...]:
    digests = [hashlib.sha256(f"{salt}|{kind}|{name}".encode()).hexdigest() for name in names]
    number = {digest: n for n, digest in enumerate(sorted(digests), start=1)}
    width = len(str(len(names)))
    return tuple(f"{kind} {number[digest]:0{width}}" for digest in digests)
