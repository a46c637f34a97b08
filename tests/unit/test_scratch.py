from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal import writing
from shoal.errors import OutputError
from shoal.writing import Scratch

OWNER = """
    import time
    from shoal.writing import Scratch
    scratch = Scratch()
    (scratch.path / "personal").write_text("data")
    print(scratch.path, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_scratch_folder_is_private_and_goes() -> None:
    scratch = Scratch()
    assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
    (scratch.path / "spill").mkdir()
    scratch.remove()
    assert not scratch.path.exists()


def test_a_folder_in_use_is_left_alone() -> None:
    ours = Scratch()
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
    Scratch().remove()
    assert not left.exists()


def test_folders_that_others_make_meanwhile_are_not_taken_for_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    def make_and_remove(_: int) -> None:
        for _ in range(40):
            Scratch().remove()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make_and_remove, range(8)))
    assert not caplog.records


def test_a_folder_that_its_owner_removes_meanwhile_is_not_said_to_be_abandoned(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = Scratch()
    lock = writing._lock

    def owner_goes_first(folder: Path, *, wait: bool) -> int | None:
        if wait:
            return lock(folder, wait=True)
        opened = os.open(folder, os.O_RDONLY)
        own.remove()
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return opened

    monkeypatch.setattr(writing, "_lock", owner_goes_first)
    Scratch().remove()
    assert not caplog.records


def test_a_folder_that_nobody_locked_goes_when_it_is_old(temporary: Path) -> None:
    young, old = (temporary / f"shoal-scratch-{digit * 16}.new" for digit in "01")
    young.mkdir()
    old.mkdir()
    os.utime(old, (0, 0))
    Scratch().remove()
    assert young.exists()
    assert not old.exists()


def test_other_folders_are_left_alone(temporary: Path) -> None:
    (temporary / "shoal-release").mkdir()
    (temporary / "shoal-scratch-notes").mkdir()
    Scratch().remove()
    assert sorted(path.name for path in temporary.iterdir()) == ["shoal-release", "shoal-scratch-notes"]


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_place_for_temporary_files_that_cannot_be_used_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with pytest.raises(OutputError, match="TMPDIR"):
        Scratch()
