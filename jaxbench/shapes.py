"""Padded shapes: few enough that a program is compiled once for many sizes."""


def bucket(size: int, smallest: int = 8) -> int:
    """The padded size: eight steps to every doubling, so at most an eighth is padding."""
    if size <= smallest:
        return smallest
    step = max(smallest, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step
