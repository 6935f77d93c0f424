"""What a study runs on: outcomes, splits, scoring rules."""

from jaxbench.benchmark.container import Benchmark as Benchmark
from jaxbench.benchmark.split import hash_splits as hash_splits
