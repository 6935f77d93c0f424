"""Tables: columns by role, long and wide tables, the native pair, lists of items."""
