"""Options: names, values, defaults and checks. Nothing here imports jax."""

from jaxbench.options.attack import AttackRequest as AttackRequest
from jaxbench.options.attack import check_name as check_name
from jaxbench.options.attack import resolve as resolve
from jaxbench.options.protocol import Protocol as Protocol
