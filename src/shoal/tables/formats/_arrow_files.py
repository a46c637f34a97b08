"""Files that Arrow knows: Parquet, also a folder of it, Feather, and lines of JSON."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from shoal.errors import DataError, ParameterError
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import check_names, quiet
from shoal.tables._expressions import text_literal as literal
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import FileFormat, Format, Options, opening, table_in_memory

_FILE_STRIDE = 1 << 40  # rows; no Parquet file has more
DEEPEST = 50  # levels of JSON inside JSON
_LINES = 1 << 20  # bytes that are looked through at a time
_ESCAPE = re.compile(rb"\\.")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_ROW_OF_FILES = f"file_index::BIGINT * {_FILE_STRIDE} + file_row_number"


class Parquet(FileFormat):
    """A Parquet file, or a folder of them."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet files"
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    written: ClassVar[tuple[str, ...]] = endings

    def __init__(self, description: str = "") -> None:
        self._description = description

    def with_description(self, description: str, labels: Mapping[str, Sequence[str]]) -> Format:
        return type(self)(description)

    def takes(self, source: object) -> bool:
        return super().takes(source) or (isinstance(source, str | Path) and Path(source).is_dir())

    def open(self, path: Path, options: Options) -> Table:
        # the folder `.` has no name of its own
        path = path if path.name.strip(".") else path.resolve()
        files = sorted(map(str, _parts(path))) if path.is_dir() else [str(path)]
        if not files:
            raise DataError(
                f"{path.name or path} is a folder without Parquet files.",
                hint="pass one file or a folder of Parquet files",
            )
        # DuckDB renames columns that are there twice: the names are read off the file itself
        check_names(_names(path, files), path.name)
        engine = options.engine or DuckDBEngine()
        records = _scan(files, partitioned=_is_partitioned(path, files))
        with quiet(path.name):
            # folders of a partition are columns, too
            names = engine.columns(records)
            check_names(names, path.name)
            expression = engine.read_stored(records, names, row=_ROW_OF_FILES)
        source = Source(kind=self.name, name=path.name, path=path, first_row=1 if len(files) == 1 else None)
        return Table(expression=expression, engine=engine, source=source)

    def save(self, table: Table, path: Path) -> None:
        if self._description:
            rows = table.to_arrow()
            parquet.write_table(rows.replace_schema_metadata({"description": self._description}), path)
        else:
            table.engine.write_parquet(table.visible, path)


class ParquetFolder(Parquet):
    """A folder of Parquet files, written side by side by Spark."""

    name: ClassVar[str] = "parquet-folder"
    title: ClassVar[str] = "folders of Parquet files"
    endings: ClassVar[tuple[str, ...]] = ()
    written: ClassVar[tuple[str, ...]] = ()

    def takes(self, source: object) -> bool:
        return False

    def save(self, table: Table, path: Path) -> None:
        from shoal.tables._spark import SparkEngine

        if not isinstance(table.engine, SparkEngine):
            raise ParameterError(
                "the format `parquet-folder` works only for tables on Spark.", hint="write one `parquet` file"
            )
        table.engine.frame(table.visible).write.parquet(path.absolute().as_uri())


class Feather(FileFormat):
    """A Feather file, which is an Arrow file."""

    name: ClassVar[str] = "feather"
    title: ClassVar[str] = "Feather files"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow", ".ipc")
    written: ClassVar[tuple[str, ...]] = endings

    def open(self, path: Path, options: Options) -> Table:
        from pyarrow import feather

        with opening(path, "a Feather file", pa.ArrowException, OSError):
            rows = feather.read_table(path)
        return table_in_memory(rows, Source(kind=self.name, name=path.name, path=path, first_row=1))

    def save(self, table: Table, path: Path) -> None:
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

        _check_nesting(path)
        with opening(path, "a file of JSON lines whose keys hold one type each", pa.ArrowException, OSError):
            rows = pyarrow.json.read_json(path)
        try:
            rows.validate(full=True)
        except pa.ArrowInvalid:
            raise DataError(f"{path.name} is not UTF-8 text.", hint="save it as UTF-8") from None
        return table_in_memory(rows, Source(kind=self.name, name=path.name, path=path, first_row=1))

    def save(self, table: Table, path: Path) -> None:
        """Write a line per record; days as in ISO 8601."""
        with path.open("w", encoding="utf-8") as file:
            for batch in table.to_arrow().to_batches():
                for row in batch.to_pylist():
                    file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


def _check_nesting(path: Path) -> None:
    """Refuse values inside values of many levels, on which Arrow's reader ends the process.

    A string holds no line break, so every line begins outside of one; an object may go over many lines.
    """
    damaged = DataError(f"{path.name} is not a file of JSON lines, or it is damaged.")
    depth = 0
    with opening(path, "a file of JSON lines", OSError), path.open("rb") as file:
        while lines := file.readlines(_LINES):
            chunk = b"".join(lines)
            if b"\\" in chunk:
                chunk = _ESCAPE.sub(b"", chunk)
            outside = chunk.split(b'"')
            if len(outside) % 2 == 0 or b"\n" in b"".join(outside[1::2]):
                raise damaged
            brackets = np.frombuffer(b"".join(outside[::2]).translate(None, _NO_BRACKETS), dtype=np.uint8)
            steps = np.where((brackets == ord("{")) | (brackets == ord("[")), 1, -1)
            levels = depth + np.cumsum(steps)
            if levels.min(initial=0) < 0:
                raise damaged
            if levels.max(initial=0) > DEEPEST:
                raise DataError(
                    f"{path.name}: values are nested more than {DEEPEST} levels deep.",
                    hint="write one object with plain values per line",
                )
            depth = int(levels[-1]) if len(levels) else depth


def _names(path: Path, files: list[str]) -> list[str]:
    """Return the names of the columns, which must be the same in all files."""
    with opening(path, "a Parquet file", pa.ArrowException, OSError, UnicodeDecodeError):
        names = [parquet.read_schema(file).names for file in files]
    other = [Path(file).name for file, own in zip(files, names, strict=True) if set(own) != set(names[0])]
    if other:
        raise DataError(
            f"{path.name or path}: not all Parquet files have the same columns; "
            f"those of {Path(files[0]).name} and {other[0]} differ.",
            hint="pass one file, or a folder whose files are parts of one table",
        )
    return list(names[0])


def _parts(folder: Path) -> Iterator[Path]:
    """Return the Parquet files of a folder, and of its partitions: folders such as ``year=2024``."""
    for path in folder.iterdir():
        if path.suffix == ".parquet" and path.is_file():
            yield path
        elif "=" in path.name and path.is_dir():
            yield from _parts(path)


def _is_partitioned(path: Path, files: list[str]) -> bool:
    """Return whether the names of folders inside `path` hold values; those above it are none of the table's."""
    return path.is_dir() and any(Path(file).parent != path for file in files)


def _scan(files: list[str], *, partitioned: bool) -> str:
    """Return the records of some Parquet files as DuckDB reads them."""
    listed = ", ".join(literal(glob.escape(file)) for file in files)
    hive = "hive_types_autocast = false" if partitioned else "hive_partitioning = false"
    return f"read_parquet([{listed}], {hive})"
