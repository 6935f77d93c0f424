"""Studies at work: many conditions, in shards that survive whatever stops them."""

from jaxbench.studies.cells import CellPlan as CellPlan
from jaxbench.studies.cells import SweepPlan as SweepPlan
from jaxbench.studies.policies import Policies as Policies
from jaxbench.studies.policies import policies_of as policies_of
from jaxbench.studies.released import with_released as with_released
from jaxbench.studies.resolve import plan_cells as plan_cells
from jaxbench.studies.run import run_cells as run_cells
from jaxbench.studies.summary import summarise as summarise
from jaxbench.studies.tables import table_names as table_names
from jaxbench.studies.tables import tables as tables
from jaxbench.studies.tables import told as told
