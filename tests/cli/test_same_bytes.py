"""The same table under the same plan gives the same release, however busy the machine is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Run

#: a small part of the default's effort, so that the search is cut short in a table that is quick to release
EFFORT = 0.02


@pytest.fixture
def busy() -> Iterator[None]:
    """Keep every processor busy with twice as many processes."""
    endless = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(endless) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for each in processes:
        each.kill()
        each.wait()


@pytest.fixture(scope="module", params=["specialize", "subtree"])
def alone(request: pytest.FixtureRequest, shoal: Run, hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release that was made before the machine became busy, in a folder with its method's name."""
    folder = tmp_path_factory.mktemp("alone") / request.param
    release(shoal, hospital, folder)
    return folder


def release(shoal: Run, hospital: Path, folder: Path) -> None:
    limit = ("--option", f"effort={EFFORT}")
    table = hospital / "discharges.csv"
    done = shoal("anonymize", table, "--k", 5, "--method", folder.name, *limit, "--csv", "--output", folder)
    assert done.returncode == 0, done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files, without the time of the certificate."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: re.sub(rb'"created": "[^"]*"', b"", content) for name, content in files.items()}


@pytest.mark.usefixtures("busy")
def test_a_busy_machine_makes_the_same_release(shoal: Run, hospital: Path, alone: Path, tmp_path: Path) -> None:
    release(shoal, hospital, tmp_path / alone.name)
    assert contents(tmp_path / alone.name) == contents(alone)
