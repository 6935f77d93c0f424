"""From what a reader found to a benchmark, check after check."""
