"""What a sweep has finished, on disk: shards that are whole or not there, their plan, the lock.

The Parquet part is loaded on first use, so that `jaxbench status` answers without it.
"""

from typing import TYPE_CHECKING

from jaxbench.store.atomic import write_atomically as write_atomically
from jaxbench.store.lock import exclusive as exclusive
from jaxbench.store.lock import is_locked as is_locked
from jaxbench.store.plan import Group as Group
from jaxbench.store.plan import Plan as Plan
from jaxbench.store.plan import read_plan as read_plan
from jaxbench.store.plan import write_plan as write_plan
from jaxbench.store.shard import Shard as Shard
from jaxbench.store.shard import content_key as content_key
from jaxbench.store.shard import looks_whole as looks_whole

if TYPE_CHECKING:
    from jaxbench.store.store import Damaged as Damaged
    from jaxbench.store.store import Store as Store


def __getattr__(name: str) -> object:
    if name in ("Damaged", "Store"):
        from jaxbench.store import store

        return getattr(store, name)
    raise AttributeError(f"module 'jaxbench.store' has no attribute {name!r}")
