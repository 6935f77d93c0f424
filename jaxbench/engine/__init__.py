"""The engine: plans, runs and times the kernel."""

from jaxbench.engine.profiles import whole_profiles as whole_profiles
from jaxbench.engine.run import ChunkOutcome as ChunkOutcome
from jaxbench.engine.run import prepare as prepare
from jaxbench.engine.run import run_attacks as run_attacks
from jaxbench.engine.study import MOST_UNITS as MOST_UNITS
from jaxbench.engine.study import Condition as Condition
from jaxbench.engine.study import Study as Study
from jaxbench.engine.timing import Stopwatch as Stopwatch
