"""Folders that appear whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shoal import stopping, writing
from shoal.errors import OutputError
from shoal.writing import check_destination, check_file, file_stem, replacing, staged, write_file


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


def test_names_that_are_almost_or_much_too_long(tmp_path: Path) -> None:
    with staged(tmp_path / ("n" * 250)) as folder:
        (folder / "a").touch()
    write_file(tmp_path / ("f" * 250), b"content")
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(OutputError, match="too long"):
        check_destination(tmp_path / ("n" * 300))
    with pytest.raises(OutputError, match="too long"):
        write_file(tmp_path / ("n" * 300), b"content")


KILLED = """
import os, signal, sys
from pathlib import Path
from shoal.writing import staged
with staged(Path(sys.argv[1])) as folder:
    (folder / "personal").write_text("data")
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_what_a_killed_run_left_is_named_and_removed_by_the_next_but_never_that_of_a_live_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, "-c", KILLED]
    runs = [
        subprocess.Popen([*command, str(tmp_path / name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("dead", "live")
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    runs[0].kill()
    runs[0].communicate()
    (tmp_path / ".mine.partial").mkdir()
    with staged(tmp_path / "next") as folder:
        (folder / "a").touch()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert [name[:5] for name in left] == [".live", ".mine", "next"]
    assert "left behind by a run that was killed" in caplog.text
    assert ".dead." in caplog.text
    runs[1].communicate("go on\n")
    assert (tmp_path / "live" / "personal").exists()


def test_a_folder_whose_name_the_disk_does_not_confirm_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = writing.sync

    def sync(path: Path) -> None:
        if path == tmp_path:
            raise OSError(5, "Input/output error")
        real(path)

    monkeypatch.setattr(writing, "sync", sync)
    with pytest.raises(OutputError, match="input/output error"), staged(tmp_path / "out") as folder:
        (folder / "a").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_or_not_and_never_over_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "a", b"first", private=True)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError, match="already exists"):
        write_file(tmp_path / "a", b"second")
    with pytest.raises(OutputError, match="already exists"), replacing(tmp_path / "b") as temporary:
        temporary.write_bytes(b"ours")
        (tmp_path / "b").write_bytes(b"theirs")
    write_file(tmp_path / "a", b"third", overwrite=True)
    monkeypatch.setattr(stopping._process, "written", ["`release` is complete"])
    with pytest.raises(OutputError, match="a already exists; `release` is complete"):
        check_file(tmp_path / "a")
    with pytest.raises(OutputError, match="full; `release` is complete"), replacing(tmp_path / "c"):
        raise OSError(28, "The disk is full")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"third", "b": b"theirs"}


@pytest.mark.slow
def test_many_runs_that_begin_together_do_not_remove_each_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from shoal.writing import staged\n"
        "for number in range(40):\n"
        "    with staged(Path(sys.argv[1]) / f'{sys.argv[2]}-{number}') as folder: (folder / 'a').touch()"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(each)], stderr=subprocess.PIPE, text=True)
        for each in range(4)
    ]
    assert [run.communicate()[1].count("Error") for run in runs] == [0, 0, 0, 0]
    assert len(list(tmp_path.glob("*-*/a"))) == 160


@pytest.mark.parametrize(
    ("names", "stem"),
    [
        (["Größe"], "grosse"),
        (["a/b", "n,o 'q'"], "a-b-n-o-q"),
        (["../..", "İD"], "id"),
        (["価格"], ""),
        (["x" * 100], "x" * 60),
    ],
)
def test_names_of_columns_become_names_of_files(names: list[str], stem: str) -> None:
    assert file_stem(*names) == stem


def test_what_many_killed_runs_left_behind_is_told_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        (tmp_path / f".dead.{number:016x}.partial").mkdir()
    with staged(tmp_path / "next"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["next"]
    (told,) = caplog.messages
    assert told.endswith(" and 4 more, left behind by runs that were killed.")
