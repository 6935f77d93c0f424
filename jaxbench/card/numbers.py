"""Numbers as JSON has them."""

import math


def plain(value: float) -> float | None:
    """A plain float, None where it is undefined."""
    number = float(value)
    return number if math.isfinite(number) else None
