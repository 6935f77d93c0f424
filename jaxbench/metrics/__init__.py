"""What a trial is worth, and summaries over trials."""

from jaxbench.metrics.ranking import PoolValues as PoolValues
from jaxbench.metrics.ranking import by_score as by_score
from jaxbench.metrics.ranking import by_win_rate as by_win_rate
from jaxbench.metrics.ranking import half_wins as half_wins
from jaxbench.metrics.summary import METRICS as METRICS
from jaxbench.metrics.summary import Part as Part
from jaxbench.metrics.summary import Summary as Summary
from jaxbench.metrics.summary import bank_spread as bank_spread
from jaxbench.metrics.table import trial_table as trial_table
from jaxbench.metrics.trial import GenuineScores as GenuineScores
from jaxbench.metrics.trial import RouterScores as RouterScores
from jaxbench.metrics.trial import TrialMetrics as TrialMetrics
from jaxbench.metrics.trial import genuine_history as genuine_history
from jaxbench.metrics.trial import trial_metrics as trial_metrics
from jaxbench.metrics.variance import CrossedVariance as CrossedVariance
