"""The card of a benchmark: what `jaxbench describe` says about it."""

from jaxbench.card.card import Card as Card
from jaxbench.card.card import make_card as make_card
