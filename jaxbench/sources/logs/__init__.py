"""Logs of evaluation tools, one reader per format."""
