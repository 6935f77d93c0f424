"""The engine: plans, runs and times the kernel."""

from jaxbench.engine.cell import Cell as Cell
from jaxbench.engine.digest import events_digest as events_digest
from jaxbench.engine.evaluator import MOST_UNITS as MOST_UNITS
from jaxbench.engine.evaluator import Condition as Condition
from jaxbench.engine.evaluator import Evaluator as Evaluator
from jaxbench.engine.profiles import whole_profiles as whole_profiles
from jaxbench.engine.run import ChunkOutcome as ChunkOutcome
from jaxbench.engine.run import Runner as Runner
from jaxbench.engine.run import Work as Work
from jaxbench.engine.run import chunked as chunked
from jaxbench.engine.run import run_cell as run_cell
from jaxbench.engine.timing import Stopwatch as Stopwatch
