"""Where jaxbench keeps what takes long to make or has to be downloaded."""

import os
from pathlib import Path

import platformdirs

CACHE = "JAXBENCH_CACHE"


def cache_directory() -> Path:
    """`JAXBENCH_CACHE`, or the user's cache directory."""
    chosen = os.environ.get(CACHE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("jaxbench"))
