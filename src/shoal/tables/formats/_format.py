"""The interface of formats: the sources they take, how they open and write them, and what they cannot hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, OutputError, ParameterError, Problems
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import ROW, check_names, quiet
from shoal.tables._table import Source, Table
from shoal.writing import replacing


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a source is to be read, as far as :func:`shoal.read` was told."""

    table: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    skip_bad_rows: bool | None = None
    #: what computes the table, where tables of one folder share it; nobody is asked for it
    engine: DuckDBEngine | None = None

    @property
    def given_names(self) -> list[str]:
        """The names of the options that were given."""
        names = [option.name for option in fields(self) if option.name != "engine"]
        return [name for name in names if getattr(self, name) is not None]


class Format(ABC):
    """A place where tables live: which sources and destinations it stands for, and how it reads and writes them.

    A file format is a :class:`FileFormat`. A new format is one file here, and its line in ``FORMATS``.
    """

    #: the word of ``format=``
    name: ClassVar[str]
    #: as messages call many of them: "CSV files"
    title: ClassVar[str]
    #: which of :class:`Options` its reader understands
    options: ClassVar[tuple[str, ...]] = ()
    writable: ClassVar[bool] = True

    @abstractmethod
    def takes(self, source: object) -> bool:
        """Return whether a source is read by this format."""

    @abstractmethod
    def read(self, source: Any, options: Options) -> Table:
        """Read a table from a source that it takes."""

    def suits(self, destination: str | Path) -> bool:
        """Return whether a destination shows by itself that this format is meant."""
        return False

    def like(self, original: Path) -> Format:
        """Return this format as it writes a table that came from another file: with that file's codes and labels."""
        raise ParameterError(
            f"`like` cannot be used to write {self.title} from `{original.suffix}`.",
            hint="codes and their labels can be carried over only from a Stata or SPSS file to a Stata or SPSS file",
        )

    def spreadsheet_safe(self) -> Format:
        """Return this format as it writes texts that spreadsheet programs would run as formulas: defused."""
        raise ParameterError(f"{self.title} need no `spreadsheet_safe`: programs run no text of theirs as a formula.")

    def with_description(self, description: str, labels: Mapping[str, Sequence[str]]) -> Format:
        """Return this format as it writes a table with a description inside the file, where it has room for one.

        ``labels`` are the declared values of columns, which statistics packages write as labelled codes 1, 2, ...
        """
        return self

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        """Write a table, completely or not at all."""
        raise ParameterError(f"{self.title} cannot be written.")


class FileFormat(Format):
    """A file format, told by the ending of a file's name."""

    #: the endings of files that it reads
    endings: ClassVar[tuple[str, ...]] = ()
    #: the endings of files that it writes
    written: ClassVar[tuple[str, ...]] = ()
    #: whether files are read with ``.gz`` after their ending too
    compressed: ClassVar[bool] = False
    #: whether a file that comes from anyone may be opened: nothing that it holds is run, nothing else is read
    uploaded: ClassVar[bool] = True

    @abstractmethod
    def open(self, path: Path, options: Options) -> Table:
        """Read a file that is there."""

    def save(self, table: Table, path: Path) -> None:
        """Write a file that is not there."""
        raise ParameterError(f"{self.title} cannot be written.")

    def unfit(self, table: Table) -> Iterable[str]:
        """Return what the format cannot hold of a table: names, types, numbers of records. Nothing is written then."""
        return ()

    @property
    def every_ending(self) -> tuple[str, ...]:
        """The endings of files that it reads, with ``.gz`` and without."""
        return (*self.endings, *(f"{ending}.gz" for ending in self.endings if self.compressed))

    @property
    def endings_text(self) -> str:
        """The endings, as messages list them."""
        return ", ".join(self.endings) + " (also .gz)" * self.compressed

    def takes(self, source: object) -> bool:
        return isinstance(source, str | Path) and ending(source) in self.every_ending and not Path(source).is_dir()

    def read(self, source: Any, options: Options) -> Table:
        return self.open(existing(Path(source)), options)

    def suits(self, destination: str | Path) -> bool:
        return Path(destination).suffix.lower() in self.written

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        """Write a file under a temporary name, flush it to the disk and rename it."""
        path = Path(destination)
        problems = Problems()
        for problem in self.unfit(table):
            problems.add(problem)
        problems.raise_as(OutputError, hint="write another format, such as `parquet`")
        with replacing(path, overwrite=overwrite) as temporary, quiet(path.name, error=OutputError):
            self.save(table, temporary)


def ending(path: str | Path) -> str:
    """Return the ending of a file's name, in lower case.

    Examples
    --------
    >>> ending("2024.Patients.CSV.gz"), ending("patients")
    ('.csv.gz', '')
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def existing(path: Path) -> Path:
    """Return the path of a file or folder, after checking that it is there."""
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    return path


@contextmanager
def opening(path: Path, what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn what a library raises on a file that it cannot read into one error of ours; ``what`` is "a Parquet file"."""
    try:
        yield
    except PermissionError:
        raise DataError(f"{path.name} cannot be read: permission denied.") from None
    except errors:
        raise DataError(f"{path.name} is not {what}, or it is damaged.") from None


def table_in_memory(
    rows: pa.Table, source: Source, notes: tuple[str, ...] = (), titles: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Return a table of records that are in memory, numbered in their order."""
    check_names(rows.column_names, source.name)
    rows = _cast_to_supported(rows)
    numbers = pa.array(np.arange(rows.num_rows, dtype=np.int64))
    engine = DuckDBEngine()
    with quiet(source.name):
        expression = engine.stage(rows.append_column(ROW, numbers))
    return Table(expression=expression, engine=engine, source=source, notes=notes, titles=titles)


def _cast_to_supported(rows: pa.Table) -> pa.Table:
    """Cast the types that the engine does not know but can hold, and say which it cannot."""
    problems = Problems()
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        elif pa.types.is_decimal256(column.type) or (pa.types.is_decimal(column.type) and column.type.scale < 0):
            problems.add(f"column `{name}`: the type {column.type} is not supported")
        columns.append(column)
    problems.raise_as(DataError, hint="cast it to a number with fewer digits, or to text")
    return pa.table(columns, names=rows.column_names)
