"""Excel and other spreadsheets: one sheet is a table, its first row the names of the columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from shoal.errors import DataError, MissingExtraError, ParameterError
from shoal.tables._table import Source, Table
from shoal.tables.formats._cells import header_of, table_of, text_of, titles, told_of_titles
from shoal.tables.formats._format import FileFormat, Options, opening, staged

_ROWS = 1_048_576  # of a sheet, its header included
_LISTED = 8  # sheets that a note names


class Excel(FileFormat):
    """A sheet of an Excel or OpenDocument file; the first, or the one that ``table`` names."""

    name: ClassVar[str] = "excel"
    title: ClassVar[str] = "Excel files"
    options: ClassVar[tuple[str, ...]] = ("table",)
    endings: ClassVar[tuple[str, ...]] = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
    written: ClassVar[tuple[str, ...]] = (".xlsx",)

    def open(self, path: Path, options: Options) -> Table:
        """Read a sheet; blank rows are left out, and a column that mixes numbers and words is text."""
        try:
            import python_calamine
        except ImportError:
            raise MissingExtraError("the reader of Excel files", extra="files") from None
        with opening(path, "an Excel file", python_calamine.CalamineError, OSError, ValueError):
            book = python_calamine.CalamineWorkbook.from_path(str(path))
            names = book.sheet_names
        if not names:
            raise DataError(f"{path.name} has no sheets.")
        if options.table is not None and options.table not in names:
            raise ParameterError(f"{path.name} has no sheet `{options.table}`.", hint=f"one of {', '.join(names)}")
        with opening(path, "an Excel file", python_calamine.CalamineError, OSError, ValueError):
            rows = book.get_sheet_by_name(options.table or names[0]).to_python(skip_empty_area=True)
        filled = [row for row in rows if any(cell not in ("", None) for cell in row)]
        if len(filled) < 2:
            others = ", ".join(name for name in names if name != (options.table or names[0]))
            hint = f"choose one of its other sheets: {others}" if others else None
            raise DataError(f"the sheet that was read from {path.name} has no records.", hint=hint)
        first = [[text_of(cell) for cell in row] for row in filled[:1000]]
        above = titles(first)
        head = header_of(first[above:])
        before = above + head.present
        table = table_of(head.columns, zip(*filled[before:], strict=True))
        notes: tuple[str, ...] = ()
        if len(names) > 1 and options.table is None:
            others = ", ".join(names[1 : _LISTED + 1]) + ", ..." * (len(names) > _LISTED + 1)
            notes = (
                f"{path.name} holds {len(names)} sheets; the first was read. Choose another with `table`: {others}",
            )
        notes += tuple(f"{path.name}: {note}" for note in (*told_of_titles(above), *head.notes))
        source = Source(kind=self.name, name=path.name, path=path, first_row=before + 1)
        return staged(table, source, notes=notes)

    def unfit(self, table: Table) -> Iterable[str]:
        if table.count() >= _ROWS:
            yield f"a sheet of an Excel file holds at most {_ROWS - 1:,} records"

    def save(self, table: Table, path: Path) -> None:
        try:
            import openpyxl
        except ImportError:
            raise MissingExtraError("the writer of Excel files", extra="files") from None
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("data")
        sheet.append(list(table.columns))
        for batch in table.to_arrow().to_batches():
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.append([_plain(cell) for cell in row])
        with path.open("wb") as file:
            book.save(file)


def _plain(cell: object) -> object:
    # a text that starts like a formula would be run by the program that opens the sheet
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "@") and cell != "+" else cell
