"""The code of the page that verifies releases, run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2] / "verifier"
#: Whether Node and the libraries of the page are there.
CAN_RUN = shutil.which("node") is not None and (ROOT / "node_modules").is_dir()
REASON = "needs Node, and `npm ci` in `verifier`"
_BATCH = 400


def verdicts(folders: Sequence[Path]) -> dict[Path, dict[str, Any]]:
    """Return what the page says of release folders."""
    found = {}
    for start in range(0, len(folders), _BATCH):
        batch = [str(folder) for folder in folders[start : start + _BATCH]]
        told = subprocess.run(["node", "cli.js", *batch], cwd=ROOT, capture_output=True, text=True, check=True)
        found |= {Path(each["folder"]): each for each in map(json.loads, told.stdout.splitlines())}
    return found
