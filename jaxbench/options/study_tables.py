"""Tables of a study beside its summary: names alone, which a directory is known by."""

# What `table` in a study names.
TABLES = ("policies", "mechanisms", "submitters")
# Files that a study may leave beside its summary: `NAME.csv`.
TABLE_FILES = ("contraction", "false_winners", *TABLES)
