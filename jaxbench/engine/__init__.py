"""The engine: plans, runs and times the kernel."""

from jaxbench.engine.run import ConditionOutcome as ConditionOutcome
from jaxbench.engine.run import run_attack as run_attack
from jaxbench.engine.timing import Stopwatch as Stopwatch
