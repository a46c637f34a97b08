"""Run the program as a person does: as a process, judged by its output and exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "hospital"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def shoal() -> Run:
    """Return a function that runs ``shoal`` with arguments."""

    def run(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "shoal", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env={**os.environ, **environment},
        )

    return run


@pytest.fixture(scope="session")
def hospital() -> Path:
    """Return the folder of the bundled example."""
    return EXAMPLE


@pytest.fixture(scope="session")
def release(shoal: Run, hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a 5-anonymous release of the bundled example; do not change it."""
    folder = tmp_path_factory.mktemp("cli") / "release"
    done = shoal("anonymize", hospital / "discharges.csv", "--k", 5, "--output", folder, "--csv")
    assert done.returncode == 0, done.stderr
    return folder
