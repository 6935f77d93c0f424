"""Print the lowest versions pyproject.toml admits, as constraints for `pip install -c`."""

import re
import tomllib
from pathlib import Path

pyproject = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
for requirement in pyproject["project"]["dependencies"]:
    name, lowest = re.match(r"([\w-]+)>=([\w.]+)", requirement).groups()
    print(f"{name}=={lowest}")
