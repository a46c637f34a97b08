"""The whole way, quickly: one release per family of methods, and the program on the bundled example."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from golden.artefacts import release
from golden.cases import CASES

EXAMPLE = Path(__file__).parents[2] / "examples" / "hospital"
FAMILIES = (
    "generalize, cells",
    "bucketize, permuted",
    "anatomy, confidential",
    "slice",
    "mdav, promises",
    "swap, closeness",
    "truthful, fixed",
    "dp-microaggregation, partition, sets",
)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_release_is_written_and_verifies(name: str, tmp_path: Path) -> None:
    made, _ = release(CASES[name], tmp_path)
    folder = made.write(tmp_path / "release")
    found = shoal.verify(folder)
    assert found.passed, str(found)
    assert shoal.Plan.load(folder / "plan.toml").method.name == CASES[name].method.name


def test_the_program_anonymizes_the_bundled_example_and_verifies_it(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    made = _shoal("anonymize", EXAMPLE / "discharges.csv", "--k", 5, "--output", folder)
    assert made.returncode == 0, made.stderr
    checked = _shoal("verify", folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (folder / "summary.txt").write_text("nothing is promised")
    assert _shoal("verify", folder).returncode == 1


def _shoal(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "shoal", *map(str, arguments)], capture_output=True, text=True, check=False
    )
