"""The evaluator's side: interfaces, the public board, and scores of submissions."""

from jaxbench.leaderboard.board import Board as Board
from jaxbench.leaderboard.board import tally as tally
from jaxbench.leaderboard.interface import Interface as Interface
from jaxbench.leaderboard.interface import Release as Release
from jaxbench.leaderboard.interface import needs_categories as needs_categories
from jaxbench.leaderboard.interface import release as release
from jaxbench.leaderboard.interface import task_parts as task_parts
from jaxbench.leaderboard.interface import task_scores as task_scores
