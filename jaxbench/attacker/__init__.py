"""The attacker's side: endpoint rules, routers, decoders.

Nothing here can hold an item score, a label or a split: this package imports nothing of jaxbench
but `jaxbench.errors`, and its functions take released numbers, prompt hashes and names.
"""

from jaxbench.attacker.endpoints import FRONTIER_CUT as FRONTIER_CUT
from jaxbench.attacker.endpoints import Endpoints as Endpoints
from jaxbench.attacker.endpoints import choose_endpoints as choose_endpoints
from jaxbench.attacker.public import PublicProfiles as PublicProfiles
