"""Files of statistics packages: Stata, SPSS and SAS, with their value labels as values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import MissingExtraError
from shoal.tables._table import Source, Table
from shoal.tables.formats._cells import table_of
from shoal.tables.formats._format import FileFormat, Options, opening, staged

__all__ = ["Sas", "Spss", "Stata"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


class _Statistics(FileFormat):
    """A file that pyreadstat reads: labels become values, values that are declared missing are missing."""

    uploaded: ClassVar[bool] = False
    #: the functions of pyreadstat by ending
    readers: ClassVar[dict[str, str]]
    writer: ClassVar[str]

    def open(self, path: Path, options: Options) -> Table:
        """Read a file."""
        pyreadstat = _pyreadstat(self.title)
        with opening(path, f"one of the {self.title}", pyreadstat.ReadstatError, OSError, ValueError):
            read = getattr(pyreadstat, self.readers[path.suffix.lower()])
            frame, described = read(str(path), **self._labels(path))
        labelled = sum(1 for name in described.variable_value_labels if name in frame.columns)
        told = f"{path.name}: the value labels of {labelled} column{'' if labelled == 1 else 's'} are read as values"
        rows = table_of(list(frame.columns), (frame[name].tolist() for name in frame.columns))
        source = Source(kind=self.name, name=path.name, path=path, first_row=1)
        return staged(rows, source, notes=(told,) if labelled else ())

    def _labels(self, path: Path) -> dict[str, Any]:
        return {"apply_value_formats": True, "formats_as_category": False}

    def unfit(self, table: Table) -> Iterable[str]:
        """Return which names the format does not know."""
        for name in table.columns:
            if _NAME.fullmatch(name) is None:
                yield f"column `{name}`: names in {self.title} are at most 32 letters, digits and underscores"

    def save(self, table: Table, path: Path) -> None:
        """Write a file."""
        getattr(_pyreadstat(self.title), self.writer)(table.to_pandas(), str(path))


class Stata(_Statistics):
    """A Stata file."""

    name: ClassVar[str] = "stata"
    title: ClassVar[str] = "Stata files"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    written: ClassVar[tuple[str, ...]] = endings
    readers: ClassVar[dict[str, str]] = {".dta": "read_dta"}
    writer: ClassVar[str] = "write_dta"


class Spss(_Statistics):
    """An SPSS file."""

    name: ClassVar[str] = "spss"
    title: ClassVar[str] = "SPSS files"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav", ".por")
    written: ClassVar[tuple[str, ...]] = (".sav",)
    readers: ClassVar[dict[str, str]] = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"}
    writer: ClassVar[str] = "write_sav"


class Sas(_Statistics):
    """A SAS file; its value labels lie in a catalogue of their own, which is not read."""

    name: ClassVar[str] = "sas"
    title: ClassVar[str] = "SAS files"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat", ".xpt")
    written: ClassVar[tuple[str, ...]] = (".xpt",)
    readers: ClassVar[dict[str, str]] = {".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}
    writer: ClassVar[str] = "write_xport"

    def _labels(self, path: Path) -> dict[str, Any]:
        return {}


def _pyreadstat(title: str) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError(f"the reader of {title}", extra="files") from None
    return pyreadstat
