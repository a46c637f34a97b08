"""What `make demo` runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

HOSPITAL = Path(__file__).parents[3] / "examples" / "hospital"


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """A copy in a folder whose name holds a blank."""
    folder = tmp_path / "a copy" / "hospital"
    shutil.copytree(HOSPITAL, folder, ignore=shutil.ignore_patterns("release*"))
    return folder


def demo(hospital: Path, *, path: str | None = None) -> subprocess.CompletedProcess[str]:
    found = path or f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    scratch = hospital.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "PATH": found, "TMPDIR": str(scratch)}
    finished = subprocess.run(
        ["sh", hospital / "demo.sh"], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    assert not list(scratch.glob("shoal-demo.*"))
    return finished


@pytest.mark.slow
def test_the_demo_replaces_an_earlier_release_by_a_verified_one_and_says_where_it_is(hospital: Path) -> None:
    earlier = hospital / "release"
    schema = shoal.Schema(attributes=(shoal.Attribute(name="age", role="quasi-identifier"),))
    table = shoal.read(pa.table({"age": ["40", "40"]}), schema=schema)
    shoal.anonymize(table, shoal.KAnonymity(2)).write(earlier)
    finished = demo(hospital)
    assert finished.returncode == 0, finished.stderr
    assert "Verified: every promise" in finished.stdout
    assert f"The release:   {earlier / 'data.parquet'}" in finished.stdout
    for line in finished.stdout.splitlines()[-3:]:
        assert Path(line.partition(":")[2].strip()).is_file()
    assert pq.read_metadata(earlier / "data.parquet").num_rows > 9_000


def test_the_demo_never_replaces_a_folder_that_is_not_a_release(hospital: Path) -> None:
    (hospital / "release").mkdir()
    (hospital / "release" / "thesis.txt").write_text("mine")
    finished = demo(hospital)
    assert finished.returncode == 2
    assert "is not a release" in finished.stderr
    assert (hospital / "release" / "thesis.txt").read_text() == "mine"


def test_the_demo_says_so_when_shoal_is_not_installed(hospital: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "dirname", "mktemp", "rm"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    finished = demo(hospital, path=str(tools))
    assert finished.returncode == 2
    assert "no `shoal` command" in finished.stderr
