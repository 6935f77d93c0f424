"""Outcome snapshots that come with the package, and the scripts that built them."""
