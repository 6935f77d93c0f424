"""The evaluator's side: the public board, and scores of submissions."""

from jaxbench.leaderboard.board import Board as Board
from jaxbench.leaderboard.board import tally as tally
from jaxbench.leaderboard.evaluate import candidate_contrasts as candidate_contrasts
from jaxbench.leaderboard.evaluate import router_contrasts as router_contrasts
