"""Run the program as a person does: as a process, judged by its output and exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "hospital"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def shoal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return a function that runs ``shoal`` with arguments; with an environment of its own it starts Python anew."""
    output, errors = (tmp_path_factory.mktemp("program") / name for name in ("output", "errors"))
    warm = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("warm.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert warm.stdin is not None
    assert warm.stdout is not None

    def run(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "shoal", *map(str, arguments)]
        if environment:
            changed = {**os.environ, **environment}
            return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=changed)
        for path in (output, errors):
            path.write_bytes(b"")
        request = {"arguments": command[3:], "folder": str(cwd or Path.cwd()), "output": str(output)}
        warm.stdin.write(json.dumps(request | {"errors": str(errors)}) + "\n")
        warm.stdin.flush()
        code = int(warm.stdout.readline())
        return subprocess.CompletedProcess(command, code, output.read_text(), errors.read_text())

    yield run
    warm.stdin.close()
    warm.wait()


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
