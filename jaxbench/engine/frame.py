"""What a compiled program is made for: padded sizes and arithmetic, grown to hold what comes.

Programs are few because their shapes only grow: a chunk that fits into the frame of an earlier one
runs in its program. No outcome depends on a frame.
"""

from dataclasses import dataclass, field

import numpy as np

from jaxbench.engine import plan
from jaxbench.shapes import bucket


@dataclass
class Frame:
    """Slots per unit and the arithmetic that is exact, for `candidates` in blocks of `block`."""

    candidates: int
    block: int
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    bounds: tuple[int, int, int] = (0, 0, 0)

    def grow(self, needed: np.ndarray, bounds: tuple[int, int, int]) -> None:
        """Make room for `needed` slots per unit, and for contrasts and weights within bounds.

        **Errors:** `BadRequest` where no arithmetic holds the votes.
        """
        if not len(self.sizes):
            self.sizes = np.array([bucket(int(n)) for n in needed])
        else:
            # What outgrew the first chunk will do so again: leave an eighth more.
            grown = [bucket(int(n) + int(n) // 8) for n in needed]
            self.sizes = np.where(needed > self.sizes, grown, self.sizes)
        first, second, third = map(max, self.bounds, bounds)
        self.bounds = first, second, third
        assert self.arithmetic

    @property
    def slots(self) -> int:
        """Slots in all."""
        return int(self.sizes.sum())

    @property
    def arithmetic(self) -> plan.Arithmetic:
        """The narrowest arithmetic that is exact."""
        contrast, total, weight = self.bounds
        return plan.choose_arithmetic(contrast, total, self.candidates, self.block, weight)
