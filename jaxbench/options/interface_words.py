"""The words of `interface=`: which there are, and what they say without a benchmark."""

# They release one thing about the overall: a place among the rows, or a range around the score.
RANKED = ("rank", "top", "bucket", "interval", "interval_rank")
INTERFACES = (
    "task", "category", "aggregate", "groups:D", "rank", "rank:all", "top:K", "bucket:B",
    "interval:H", "interval_rank",
)  # fmt: skip


def kind_of(word: str) -> str:
    """`groups:3` is of kind `groups`."""
    return word.partition(":")[0]


def is_one_number(word: str) -> bool:
    """Whether one number is released, whatever the benchmark."""
    kind, _, rest = word.partition(":")
    return kind in ("aggregate", *RANKED) or (kind == "groups" and rest.split(":")[0] == "1")
