"""Print the lowest version of every dependency that pyproject.toml allows, as constraints for pip.

What only tests and documentation need is left out: nobody who uses Shoal installs it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
shipped = [name for name in extras if name not in ("check", "docs", "test")]
used = [*project["dependencies"], *(each for name in shipped for each in extras[name])]
for requirement in used:
    if found := re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", requirement):
        print(f"{found[1]}=={found[2]}")
