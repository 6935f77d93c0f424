"""`memory=2GB`: amounts of memory."""

import pytest

from jaxbench.errors import BadRequest
from jaxbench.options.parse import memory


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2GB", 2_000_000_000),
        ("2GiB", 2 * 1024**3),
        ("2gib", 2 * 1024**3),
        ("500MB", 500_000_000),
        ("500 MB", 500_000_000),
        (" 64kB ", 64_000),
        ("64KiB", 65_536),
        ("1TB", 10**12),
        ("1TiB", 2**40),
        ("1.5GB", 1_500_000_000),
        ("0.1GiB", 107_374_182),
        ("12B", 12),
        ("123456789", 123_456_789),
        (123_456_789, 123_456_789),
        (1, 1),
    ],
)
def test_amounts(value, expected):
    found = memory("memory", value)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize(
    "value",
    ["", "GB", "2G", "2Gi", "2 G B", "2GBs", "2PB", "-2GB", "0", "0GB", "0.2B", "1.5", "1e9", 2e9,
     True, None, [2], "2,5GB", "1_000", "inf", "nan", "9" * 30, "1/2GB", "٣GB", 0, -5, "0x10",
     "2GB\n3"],
)  # fmt: skip
def test_others_are_refused_with_an_example(value):
    with pytest.raises(BadRequest, match=r"memory=.*: expected .*2GB.*2GiB.*500MB") as refusal:
        memory("memory", value)
    assert "\n" not in str(refusal.value)
