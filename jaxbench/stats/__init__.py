"""Statistics shared by every study: written once, knowing nothing of what they are used for."""

from jaxbench.stats.bootstrap import basic_lower_bound as basic_lower_bound
from jaxbench.stats.bootstrap import means as means
from jaxbench.stats.bootstrap import percentile_interval as percentile_interval
from jaxbench.stats.bootstrap import resampled_means as resampled_means
