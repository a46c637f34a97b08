"""Feather and Arrow files, and lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from shoal.tables._table import Source, Table
from shoal.tables.formats._format import FileFormat, Options, opening, staged


class Feather(FileFormat):
    """A Feather file, which is an Arrow file."""

    name: ClassVar[str] = "feather"
    title: ClassVar[str] = "Feather files"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow", ".ipc")
    written: ClassVar[tuple[str, ...]] = endings

    def open(self, path: Path, options: Options) -> Table:
        """Read a file."""
        from pyarrow import feather

        with opening(path, "a Feather file", pa.ArrowException, OSError):
            rows = feather.read_table(path)
        return staged(rows, Source(kind=self.name, name=path.name, path=path, first_row=1))

    def save(self, table: Table, path: Path) -> None:
        """Write a file."""
        from pyarrow import feather

        feather.write_feather(table.to_arrow(), str(path))


class JsonLines(FileFormat):
    """One JSON object per line; its keys are the columns."""

    name: ClassVar[str] = "json-lines"
    title: ClassVar[str] = "files of JSON lines"
    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    written: ClassVar[tuple[str, ...]] = endings

    def open(self, path: Path, options: Options) -> Table:
        """Read a file; a key that holds text in one line and a number in another is refused."""
        import pyarrow.json

        with opening(path, "a file of JSON lines whose keys hold one type each", pa.ArrowException, OSError):
            rows = pyarrow.json.read_json(path)
        return staged(rows, Source(kind=self.name, name=path.name, path=path, first_row=1))

    def save(self, table: Table, path: Path) -> None:
        """Write a line per record; days as in ISO 8601."""
        with path.open("w", encoding="utf-8") as file:
            for batch in table.to_arrow().to_batches():
                for row in batch.to_pylist():
                    file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
