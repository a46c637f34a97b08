"""The folder of a series: what is recorded stays, and whatever is not as it was recorded is refused."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.unit.series.conftest import crowd_of, table_of

import shoal
from shoal import writing
from shoal.errors import LedgerError, ParameterError


def _make(study: shoal.Series, number: int) -> shoal.Release:
    return shoal.anonymize(
        table_of(crowd_of(number)), k=2, series=study, method=shoal.methods.Specialize(suppression_limit=1)
    )


@pytest.fixture
def two(study: shoal.Series, tmp_path: Path) -> shoal.Series:
    for number in (10, 16):
        _make(study, number).write(tmp_path / f"r{number}")
    return study


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_release_is_restored_byte_for_byte(two: shoal.Series, tmp_path: Path) -> None:
    two.restore(2, tmp_path / "again")
    assert _files(tmp_path / "again") == _files(tmp_path / "r16")
    with pytest.raises(ParameterError, match="has no release 3"):
        two.restore(3, tmp_path / "third")


def test_releases_cut_off_at_the_end_are_noticed(two: shoal.Series) -> None:
    shutil.rmtree(two.folder / "0002")
    with pytest.raises(LedgerError, match="cut short"):
        shoal.Series.open(two.folder)


def test_a_missing_release_is_noticed(two: shoal.Series) -> None:
    shutil.rmtree(two.folder / "0001")
    with pytest.raises(LedgerError, match="release 1 is missing"):
        shoal.Series.open(two.folder)


def test_an_older_copy_is_refused_where_the_head_was_written_down(two: shoal.Series, tmp_path: Path) -> None:
    shutil.copytree(two.folder, tmp_path / "copy")
    _make(two, 20).write(tmp_path / "r20")
    head = two.head
    shoal.Series.open(two.folder, expect=head)
    with pytest.raises(LedgerError, match="older copy"):
        shoal.Series.open(tmp_path / "copy", expect=head)


def test_changed_entries_rows_and_secrets_are_refused(two: shoal.Series, tmp_path: Path) -> None:
    for name, change in {
        "entry": ("0001/entry.json", lambda content: content.replace(b'"newcomers": 10', b'"newcomers": 11')),
        "secret": ("secret.key", lambda content: bytes(reversed(content))),
        "description": ("series.json", lambda content: content.replace(b'"id"', b'"no"')),
        "head": ("head", lambda content: content.replace(b"2:", b"1:")),
        "rows": ("0002/rows.parquet", lambda content: content[:-1] + b"x"),
    }.items():
        copy = tmp_path / name
        shutil.copytree(two.folder, copy)
        place = copy / change[0]
        place.write_bytes(change[1](place.read_bytes()))
        with pytest.raises(LedgerError):
            _make(shoal.Series(copy), 20)


def test_entries_of_another_series_are_refused(two: shoal.Series, tmp_path: Path) -> None:
    other = shoal.Series.create(tmp_path / "other", key="id")
    _make(other, 10).write(tmp_path / "other-release")
    shutil.rmtree(two.folder / "0001")
    shutil.copytree(other.folder / "0001", two.folder / "0001")
    with pytest.raises(LedgerError, match="another secret"):
        shoal.Series.open(two.folder)


def test_of_two_releases_made_at_once_the_second_is_refused(study: shoal.Series, tmp_path: Path) -> None:
    one, other = _make(study, 10), _make(study, 12)
    one.write(tmp_path / "one")
    with pytest.raises(LedgerError, match="recorded meanwhile"):
        other.write(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert len(study.entries) == 1


def test_a_release_is_recorded_before_it_appears(
    study: shoal.Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = _make(study, 10)
    flush = writing._flush

    def fail(path: Path) -> None:
        if path.name.startswith(".release."):
            raise OSError(5, "Input/output error")
        flush(path)

    monkeypatch.setattr(writing, "_flush", fail)
    with pytest.raises(shoal.ShoalError):
        release.write(tmp_path / "release")
    monkeypatch.undo()
    assert not (tmp_path / "release").exists()
    assert len(study.entries) == 1
    study.restore(1, tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed


def _kill(folder: Path, output: Path, step: int) -> None:
    """Write a release, and end this process without warning at one of its calls that change the disk."""
    calls = 0
    for name in ("fsync", "rename", "mkdir", "replace"):
        plain = getattr(os, name)

        def counting(*arguments: object, plain: object = plain, **more: object) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*arguments, **more)  # type: ignore[operator]

        setattr(os, name, counting)
    _make(shoal.Series(folder), 14).write(output)


def _rounds(two: shoal.Series, tmp_path: Path, steps: list[int]) -> set[str]:
    seen = set()
    for step in steps:
        copy, output = tmp_path / f"copy{step}", tmp_path / f"out{step}"
        shutil.copytree(two.folder, copy)
        process = multiprocessing.get_context("fork").Process(target=_kill, args=(copy, output, step))
        process.start()
        process.join()
        opened = shoal.Series.open(copy)
        recorded = len(opened.entries) - len(two.entries)
        assert recorded in (0, 1)
        assert not (output.exists() and not recorded), "a release appeared that was not recorded"
        assert opened.entries[:2] == two.entries
        if recorded:
            opened.restore(3, tmp_path / f"again{step}")
            if output.exists():
                assert _files(output) == _files(tmp_path / f"again{step}")
        seen.add(("nothing", "recorded", "appeared")[recorded + output.exists()])
        shutil.rmtree(copy)
    return seen


@pytest.mark.deep
def test_kill_9_at_any_moment_loses_nothing(two: shoal.Series, tmp_path: Path) -> None:
    assert _rounds(two, tmp_path, list(range(1, 201))) == {"nothing", "recorded", "appeared"}


def test_kill_9_at_some_moments_loses_nothing(two: shoal.Series, tmp_path: Path) -> None:
    assert "nothing" in _rounds(two, tmp_path, [1, 9, 17, 25])
