"""Runs of the program that are disturbed: stopped, or cut off from what they write to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"


@dataclass(frozen=True)
class Done:
    code: int
    output: str
    errors: str
    seconds: float


Disturbed = Callable[..., Done]


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let what killed programs leave behind be found by nobody else: the next one would say that it removed it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("t")))


@pytest.fixture(scope="session")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disturbed]:
    """Return a function that runs ``shoal`` and sends it a signal after a while."""
    place = tmp_path_factory.mktemp("disturbed")
    warm = subprocess.Popen(
        [sys.executable, str(Path(__file__).parents[1] / "cli" / "warm.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    assert warm.stdin is not None
    assert warm.stdout is not None

    def run(*arguments: object, cwd: Path, signal: int | None = None, after: float = 0.0, output: str = "") -> Done:
        said, errors = place / "output", place / "errors"
        said.write_bytes(b"")
        errors.write_bytes(b"")
        request = {"arguments": [str(each) for each in arguments], "folder": str(cwd), "errors": str(errors)}
        began = time.monotonic()
        request |= {"output": output or str(said)} | ({} if signal is None else {"signal": signal, "after": after})
        warm.stdin.write(json.dumps(request) + "\n")
        warm.stdin.flush()
        code = int(warm.stdout.readline())
        return Done(code, said.read_text(), errors.read_text(), time.monotonic() - began - after)

    yield run
    warm.stdin.close()
    warm.wait()


@pytest.fixture(scope="session")
def hospital() -> Path:
    return HOSPITAL
