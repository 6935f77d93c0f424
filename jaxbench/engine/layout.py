"""Items as the kernel sees them: one contiguous, padded block of slots per coordinate."""

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Int


class Layout(eqx.Module):
    """Which item sits in which slot.

    `items[s]` is the item of slot s, or -1 for padding. Block c has `sizes[c]` slots. Items on
    which the endpoints agree in every trial take no slot: whatever their sign, they add nothing
    to any score.
    """

    items: Int[np.ndarray, " slots"]
    sizes: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(
        cls, coordinate: Int[np.ndarray, " items"], active: Bool[np.ndarray, " items"], blocks: int
    ) -> "Layout":
        """Lay out the `active` items by `coordinate`, each block padded to its bucket."""
        parts, sizes = [], []
        for block in range(blocks):
            members = np.flatnonzero((coordinate == block) & active)
            size = bucket(len(members))
            parts.append(np.full(size, -1, dtype=np.int64))
            parts[-1][: len(members)] = members
            sizes.append(size)
        return cls(items=np.concatenate(parts), sizes=tuple(sizes))

    def gather(self, values: np.ndarray, fill: object = 0) -> np.ndarray:
        """Values per item (last axis) as values per slot, `fill` in the padding."""
        return np.where(self.items >= 0, values[..., self.items], values.dtype.type(fill))


def bucket(size: int, smallest: int = 8) -> int:
    """The padded size: eight steps to every doubling, so that few shapes are ever compiled."""
    if size <= smallest:
        return smallest
    step = max(smallest, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step
