"""Synthetic worlds: leaderboards drawn from a response model, whose truth is known."""

from jaxbench.synthetic.world import World as World
from jaxbench.synthetic.world import blank as blank
from jaxbench.synthetic.world import draw_worlds as draw_worlds
from jaxbench.synthetic.world import world as world
