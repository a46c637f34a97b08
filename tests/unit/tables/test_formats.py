"""A format is one class and one line: reading, writing, messages and uploads follow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

from shoal.errors import DataError, OutputError, ParameterError
from shoal.tables import Source, Table, read, readable, uploadable, write
from shoal.tables.formats import FORMATS, FileFormat, Options
from shoal.tables.formats._format import opening, table_in_memory

ROWS = pa.table({"age": [34, 61], "city": ["Bonn", None]})


class _Lists(FileFormat):
    name: ClassVar[str] = "lists"
    title: ClassVar[str] = "lists"
    endings: ClassVar[tuple[str, ...]] = (".lists",)
    written: ClassVar[tuple[str, ...]] = (".lists",)

    def open(self, path: Path, options: Options) -> Table:
        with opening(path, "a file of lists", ValueError):
            rows = pa.table(json.loads(path.read_text()))
        return table_in_memory(rows, Source(kind=self.name, name=path.name, path=path, first_row=1))

    def save(self, table: Table, path: Path) -> None:
        path.write_text(json.dumps(table.to_arrow().to_pydict()))

    def unfit(self, table: Table) -> Iterable[str]:
        return [f"column `{name}`: lists have no names with spaces" for name in table.columns if " " in name]


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(FORMATS, "lists", _Lists())
    return


def test_it_is_read_and_written_by_the_ending(tmp_path: Path) -> None:
    write(read(ROWS), tmp_path / "a.lists")
    found = read(tmp_path / "a.lists")
    assert found.source.kind == "lists"
    assert found.to_arrow().to_pydict() == ROWS.to_pydict()


def test_messages_and_uploads_know_it(tmp_path: Path) -> None:
    assert ".lists" in uploadable()
    assert ".lists" in readable(uploaded=True)
    (tmp_path / "a.doc").write_text("")
    with pytest.raises(DataError, match=r"`\.doc` is not supported") as raised:
        read(tmp_path / "a.doc")
    assert ".lists" in str(raised.value.hint)
    with pytest.raises(ParameterError, match="`delimiter` of `read` applies only to CSV files"):
        read(tmp_path / "a.lists", delimiter=";")


def test_what_it_cannot_hold_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as raised:
        write(read(pa.table({"first name": [1], "last name": [2]})), tmp_path / "a.lists")
    assert len(raised.value.problems) == 2
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a.lists").write_text("{")
    with pytest.raises(DataError, match=r"a\.lists is not a file of lists, or it is damaged"):
        read(tmp_path / "a.lists")


def test_database_files_are_not_taken_from_anyone() -> None:
    assert not {".duckdb", ".ddb", ".db"} & set(uploadable())


@pytest.mark.parametrize("name", ["duckdb", "frame"])
def test_what_cannot_be_written_is_not_offered(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="must be one of csv, parquet") as raised:
        write(read(ROWS), tmp_path / "a", format=name)
    assert "duckdb," not in str(raised.value)
