"""Synthetic worlds: leaderboards drawn from a response model, whose truth is known."""

from jaxbench.synthetic.worlds import World as World
from jaxbench.synthetic.worlds import blank as blank
from jaxbench.synthetic.worlds import draw_worlds as draw_worlds
from jaxbench.synthetic.worlds import world as world
