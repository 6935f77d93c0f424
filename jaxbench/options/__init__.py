"""Options: names, values, defaults and checks. Nothing here imports jax."""

from jaxbench.options.attack import resolve as resolve
from jaxbench.options.option import check_name as check_name
from jaxbench.options.protocol import Protocol as Protocol
from jaxbench.options.reading import ReadOptions as ReadOptions
from jaxbench.options.request import AttackRequest as AttackRequest
from jaxbench.options.world import WORLD as WORLD
from jaxbench.options.world import WorldSpec as WorldSpec
