"""Studies at work: many conditions, in shards that survive whatever stops them."""

from jaxbench.studies.cells import CellPlan as CellPlan
from jaxbench.studies.cells import SweepPlan as SweepPlan
from jaxbench.studies.resolve import plan_cells as plan_cells
from jaxbench.studies.run import run_cells as run_cells
from jaxbench.studies.summary import summarise as summarise
