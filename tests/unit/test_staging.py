"""Folders that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal._staging import check_destination, staged
from shoal.errors import OutputError


def test_a_folder_appears_when_all_is_written(tmp_path: Path) -> None:
    with staged(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("a")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out" / "a.txt").read_text() == "a"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, SystemExit])
def test_nothing_is_left_when_something_goes_wrong(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), staged(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("a")
        raise failure
    assert list(tmp_path.iterdir()) == []


def test_a_system_error_is_told_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no space left"), staged(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_destination_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(OutputError, match="already exists"):
            check_destination(tmp_path / name)


def test_a_destination_that_appears_meanwhile_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputError), staged(tmp_path / "out"):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("theirs")
    assert (tmp_path / "out" / "theirs").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
