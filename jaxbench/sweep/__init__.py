"""Sweeps: many conditions, in shards that survive whatever stops them."""

from jaxbench.sweep.cells import CellPlan as CellPlan
from jaxbench.sweep.cells import SweepPlan as SweepPlan
from jaxbench.sweep.resolve import plan_cells as plan_cells
from jaxbench.sweep.run import run_cells as run_cells
from jaxbench.sweep.summary import summarise as summarise
