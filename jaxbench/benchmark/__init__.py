"""What a study runs on: outcomes, splits, scoring rules."""

from jaxbench.benchmark.anonymous import anonymous as anonymous
from jaxbench.benchmark.container import FINAL_ROUTER as FINAL_ROUTER
from jaxbench.benchmark.container import Benchmark as Benchmark
from jaxbench.benchmark.pool import pool_small_tasks as pool_small_tasks
