"""Fail unless the wheel in a folder holds every file of the package, and its kernels.

``python tools/check_wheel.py dist``
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]


def missing(wheel: Path) -> list[str]:
    """Return what the sources have and the wheel has not."""
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = {line.removeprefix("src/") for line in listed.splitlines() if (ROOT / line).is_file()}
    found = set(ZipFile(wheel).namelist())
    kernels = [] if any("kernels/_native" in name for name in found) else ["shoal/kernels/_native"]
    return sorted(wanted - found) + kernels


def main() -> None:
    """Check the newest wheel."""
    wheel = max(Path(sys.argv[1]).glob("shoal-*.whl"), key=lambda path: path.stat().st_mtime)
    absent = missing(wheel)
    for name in absent:
        print(f"{wheel.name} lacks {name}", file=sys.stderr)
    if absent:
        raise SystemExit(1)
    print(f"{wheel.name}: {len(ZipFile(wheel).namelist())} files, {wheel.stat().st_size / 1e6:.1f} MB, complete")


if __name__ == "__main__":
    main()
