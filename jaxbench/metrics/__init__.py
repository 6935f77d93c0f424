"""What a trial is worth, and summaries over trials."""

from jaxbench.metrics.summary import bank_spread as bank_spread
from jaxbench.metrics.summary import budget_means as budget_means
from jaxbench.metrics.summary import first_significant_budget as first_significant_budget
from jaxbench.metrics.summary import summarise as summarise
from jaxbench.metrics.table import FINAL_ROUTER as FINAL_ROUTER
from jaxbench.metrics.table import trial_table as trial_table
from jaxbench.metrics.trial import GenuineScores as GenuineScores
from jaxbench.metrics.trial import RouterScores as RouterScores
from jaxbench.metrics.trial import TrialMetrics as TrialMetrics
from jaxbench.metrics.trial import genuine_history as genuine_history
from jaxbench.metrics.trial import trial_metrics as trial_metrics
