"""Padded shapes."""

from jaxbench.shapes import bucket


def test_buckets_are_few_and_waste_little():
    sizes = [bucket(n) for n in range(1, 5000)]
    assert all(b >= n for n, b in enumerate(sizes, start=1))
    assert all(b <= max(8, 1.25 * n) for n, b in enumerate(sizes, start=1) if n > 32)
    assert len(set(sizes)) < 80
