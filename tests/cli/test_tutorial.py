"""The tutorial shows what its commands print today."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def steps(text: str) -> list[tuple[str, str | None]]:
    """Return every shell block with the text block that follows it, if one does before the next shell block."""
    found: list[tuple[str, str | None]] = []
    for language, content in BLOCK.findall(text):
        if language == "sh":
            found.append((content, None))
        elif found and found[-1][1] is None:
            found[-1] = (found[-1][0], content)
    return found


@pytest.mark.slow
def test_every_command_of_the_tutorial_prints_what_the_tutorial_shows(tmp_path: Path, shoal: Run) -> None:
    hospital = tmp_path / "examples" / "hospital"
    shutil.copytree(ROOT / "examples" / "hospital", hospital, ignore=shutil.ignore_patterns("release*"))
    shown = steps((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    assert sum(expected is not None for _, expected in shown) >= 6
    for commands, expected in shown:
        if commands.startswith("cd "):
            continue
        printed = []
        for command in commands.splitlines():
            if command.startswith("shoal "):
                finished = shoal(*shlex.split(command)[1:], cwd=hospital)
            else:
                finished = subprocess.run(
                    ["sh", "-c", command], cwd=hospital, capture_output=True, text=True, check=False
                )
            assert finished.returncode == (1 if command == "shoal verify forged" else 0), finished.stderr
            printed.append(finished.stdout)
        if expected is not None:
            assert "".join(printed).rstrip() == expected.rstrip()


@pytest.mark.slow
def test_the_python_tour_ends_with_a_verified_release(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, ROOT / "examples" / "hospital" / "tour.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "k-anonymity k = 5: holds" in finished.stdout
    assert "FAIL" not in finished.stdout
    assert not any(tmp_path.iterdir())
