"""Finished points on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.comparison import Point
from shoal.comparison._store import PointStore
from shoal.errors import OutputError

POINT = Point(
    number=3,
    method="generalize",
    promises="k = 5",
    plan="text",
    key="abc",
    seconds=1.5,
    records=10,
    risk={"average": 0.1, "inference": None},
    utility={"queries": 0.2},
)


def test_a_point_is_found_again_under_its_new_number(tmp_path: Path) -> None:
    PointStore(tmp_path / "new" / "folder").keep(POINT)
    asked = Point(number=7, method="generalize", promises="k = 5", plan="text", key="abc")
    found = PointStore(tmp_path / "new" / "folder").find(asked)
    assert found is not None
    assert found == Point(**{**POINT.to_json(), "number": 7})


def test_other_keys_and_damaged_files_count_as_nothing(tmp_path: Path) -> None:
    store = PointStore(tmp_path)
    store.keep(POINT)
    assert store.find(Point(**{**POINT.to_json(), "key": "other"})) is None
    for text in ("", "{", "[]", '{"format": 99}', '{"format": 1}'):
        (tmp_path / "abc.json").write_text(text)
        assert store.find(POINT) is None


def test_a_file_under_the_wrong_name_is_not_trusted(tmp_path: Path) -> None:
    store = PointStore(tmp_path)
    store.keep(POINT)
    (tmp_path / "abc.json").rename(tmp_path / "other.json")
    assert store.find(Point(**{**POINT.to_json(), "key": "other"})) is None


def test_no_folder_remembers_nothing() -> None:
    store = PointStore(None)
    store.keep(POINT)
    assert store.find(POINT) is None


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be created"):
        PointStore(tmp_path / "file")


def test_no_draft_is_left_behind(tmp_path: Path) -> None:
    PointStore(tmp_path).keep(POINT)
    assert [path.name for path in tmp_path.iterdir()] == ["abc.json"]
