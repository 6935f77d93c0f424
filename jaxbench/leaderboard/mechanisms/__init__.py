"""Mechanisms: what a maintainer can put between a true score and its release."""

from jaxbench.leaderboard.mechanisms.base import Feedback as Feedback
from jaxbench.leaderboard.mechanisms.base import Mechanism as Mechanism
from jaxbench.leaderboard.mechanisms.base import Noise as Noise
from jaxbench.leaderboard.mechanisms.base import Submission as Submission
from jaxbench.leaderboard.mechanisms.base import run as run
