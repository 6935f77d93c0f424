"""Items as the kernel sees them: one contiguous, padded block of slots per unit."""

from collections.abc import Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Int


class Layout(eqx.Module):
    """Which item sits in which slot, for several sets of active items at once.

    `items[l, s]` is the item of slot s in layout l, or -1 for padding. Unit u has `sizes[u]` slots,
    in the order of the coordinates. Only active items get a slot: an item on which the endpoints
    agree adds nothing to any score, whatever its sign.
    """

    items: Int[np.ndarray, "layouts slots"]
    sizes: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        unit_of_item: Int[np.ndarray, " items"],
        order: Sequence[int],
        active: Bool[np.ndarray, "layouts items"],
        sizes: Sequence[int],
    ) -> "Layout":
        """Lay out the active items.

        **Arguments:** `order`: every unit once, those of a coordinate together; `sizes`: slots of
        every unit, which hold its active items in any layout.
        """
        blocks = []
        for unit in order:
            members = np.flatnonzero(unit_of_item == unit)
            held = active[:, members]
            block = np.full((len(active), sizes[unit]), -1, dtype=np.int64)
            row, place = np.nonzero(held)
            slot = np.arange(len(row)) - np.searchsorted(row, row)
            block[row, slot] = members[place]
            blocks.append(block)
        return cls(items=np.concatenate(blocks, axis=1), sizes=tuple(sizes))

    def gather(self, values: np.ndarray, layouts: Int[np.ndarray, " rows"]) -> np.ndarray:
        """Values per row and item as values per row and slot, zero in the padding."""
        items = self.items[layouts]
        taken = np.take_along_axis(values, np.maximum(items, 0), axis=1)
        return np.where(items >= 0, taken, values.dtype.type(0))
