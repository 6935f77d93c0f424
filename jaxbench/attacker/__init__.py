"""The attacker's side: endpoint rules, routers, decoders.

Nothing here can hold an item score, a label or a split: this package imports nothing of jaxbench
but `jaxbench.errors` and `jaxbench.counters`, and its functions take released numbers, prompt
hashes and names.
"""

from jaxbench.attacker.endpoints import Endpoints as Endpoints
from jaxbench.attacker.endpoints import choose_endpoints as choose_endpoints
from jaxbench.attacker.public import PublicProfiles as PublicProfiles
from jaxbench.attacker.routers import FreshBank as FreshBank
from jaxbench.attacker.routers import SharedBank as SharedBank
from jaxbench.attacker.rules import ENDPOINT_RULES as ENDPOINT_RULES
