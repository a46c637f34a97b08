"""Finished points on disk, and what identifies one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.comparison import Point
from shoal.comparison._compare import PointStore, input_fingerprint, point_key
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


def _plan(k: int, folder: Path) -> shoal.Plan:
    town = shoal.Attribute(name="town", role="quasi-identifier", hierarchy=shoal.schema.FromFile(path="towns.csv"))
    return shoal.Plan(schema=shoal.Schema(attributes=(town,), folder=folder), models=(shoal.KAnonymity(k),))


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, 3]})
    for name in ("x.parquet", "y.parquet"):
        pq.write_table(table, tmp_path / name)
    pq.write_table(pa.table({"a": [1, 2, 4]}), tmp_path / "z.parquet")
    x, y, z = (input_fingerprint(shoal.read(tmp_path / f"{name}.parquet")) for name in "xyz")
    assert x == y != z


def test_a_csv_file_is_known_by_how_it_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a;b\n1,5;2\n")
    first = shoal.read(tmp_path / "x.csv", delimiter=";", decimal=",")
    second = shoal.read(tmp_path / "x.csv", delimiter=";", decimal=".")
    assert input_fingerprint(first) != input_fingerprint(second)


def test_a_frame_is_known_by_its_records_whatever_its_chunks() -> None:
    whole = pa.table({"a": [1, None, 3], "b": ["x", "y", "z"]})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2)])
    other = pa.table({"a": [1, None, 3], "b": ["x", "y", "w"]})
    prints = [input_fingerprint(shoal.read(each)) for each in (whole, parts, other)]
    assert prints[0] == prints[1] != prints[2]


def test_a_point_depends_on_plan_input_settings_and_hierarchies(tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text("a;*\nb;*\n")
    plan = _plan(2, tmp_path)
    first = point_key(plan, "input", {"seed": 0})
    assert first == point_key(plan, "input", {"seed": 0})
    keys = {first, point_key(plan, "other", {"seed": 0}), point_key(plan, "input", {"seed": 1})}
    keys.add(point_key(_plan(3, tmp_path), "input", {"seed": 0}))
    (tmp_path / "towns.csv").write_text("a;north;*\nb;south;*\n")
    keys.add(point_key(plan, "input", {"seed": 0}))
    assert len(keys) == 5
