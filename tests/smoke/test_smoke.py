"""The whole way, quickly: one release per method, and the program on the bundled example."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from golden.artefacts import release
from golden.cases import CASES
from shoal import methods

EXAMPLE = Path(__file__).parents[2] / "examples" / "hospital"
#: the first golden case of every method
FIRST = {case.method.name: name for name, case in reversed(CASES.items())}


def test_there_is_a_case_of_every_method() -> None:
    assert {*FIRST} == {*methods.names()}


@pytest.mark.slow
@pytest.mark.parametrize("method", methods.names())
def test_a_release_is_written_and_verifies(method: str, tmp_path: Path) -> None:
    case = CASES[FIRST[method]]
    made, _ = release(case, tmp_path)
    folder = made.write(tmp_path / "release")
    found = shoal.verify(folder)
    assert found.passed, str(found)
    assert len(shoal.Plan.load(folder / "plan.toml").models) == len(case.promises)
    (folder / "summary.txt").write_text("nothing is promised")
    assert not shoal.verify(folder).passed


def test_the_program_anonymizes_the_bundled_example_and_verifies_it(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    made = _shoal("anonymize", EXAMPLE / "discharges.csv", "--k", 5, "--output", folder)
    assert made.returncode == 0, made.stderr
    checked = _shoal("verify", folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _shoal(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "shoal", *map(str, arguments)], capture_output=True, text=True, check=False
    )
