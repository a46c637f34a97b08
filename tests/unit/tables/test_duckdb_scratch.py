from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from shoal.tables import _duckdb
from shoal.tables._duckdb import Scratch

OWNER = """
    import time
    from shoal.tables._duckdb import Scratch
    scratch = Scratch()
    (scratch.path / "personal").write_text("data")
    print(scratch.path, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _duckdb._remove_abandoned.cache_clear()
    return tmp_path


def test_a_scratch_folder_is_private_and_goes() -> None:
    scratch = Scratch()
    assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
    (scratch.path / "spill").mkdir()
    scratch.remove()
    assert not scratch.path.exists()


def test_a_folder_in_use_is_left_alone() -> None:
    ours = Scratch()
    _duckdb._remove_abandoned.cache_clear()
    other = Scratch()
    assert ours.path.exists()
    ours.remove()
    other.remove()


def test_the_folder_of_a_process_that_was_killed_goes_with_the_next(temporary: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    Scratch().remove()
    assert (left / "personal").exists()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (left / "personal").exists()
    _duckdb._remove_abandoned.cache_clear()
    Scratch().remove()
    assert not left.exists()


def test_other_folders_are_left_alone(temporary: Path) -> None:
    (temporary / "shoal-release").mkdir()
    (temporary / "other").mkdir()
    (temporary / "other" / "owner.lock").touch()
    Scratch().remove()
    assert sorted(path.name for path in temporary.iterdir()) == ["other", "shoal-release"]
