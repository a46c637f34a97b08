"""Excel and other spreadsheets: one sheet is a table, its first row the names of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import DataError, MissingExtraError, OutputError, ParameterError
from shoal.tables._table import Source, Table
from shoal.tables.formats._cells import table_of, text_of
from shoal.tables.formats._format import FileFormat, Format, Options, opening, table_in_memory
from shoal.tables.formats._formulas import is_formula
from shoal.tables.formats._layout import notes_below, read_header, told_of_notes

_ROWS = 1_048_576  # of a sheet, its header included
_LISTED = 8  # sheets that a note names
# rows at the end of a sheet that may be notes, with records above them; and rows that show what a sheet holds
_TAIL, _LOOKED_AT = 100, 200
_CELLS = 2  # of a line of a page of text
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Excel(FileFormat):
    """A sheet of an Excel or OpenDocument file; the first, or the one that ``table`` names."""

    name: ClassVar[str] = "excel"
    title: ClassVar[str] = "Excel files"
    options: ClassVar[tuple[str, ...]] = ("table",)
    endings: ClassVar[tuple[str, ...]] = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
    written: ClassVar[tuple[str, ...]] = (".xlsx",)

    def __init__(self, description: str = "") -> None:
        self._description = description

    def with_description(self, description: str, labels: Mapping[str, Sequence[str]]) -> Format:
        return type(self)(description)

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
            chosen, filled = _sheet(book, [options.table] if options.table is not None else names)
        others = [name for name in names if name != chosen]
        if len(filled) < 2:
            hint = f"choose one of its other sheets: {', '.join(others)}" if others else None
            raise DataError(f"the sheet that was read from {path.name} has no records.", hint=hint)
        head, before = read_header([[text_of(cell) for cell in row] for row in filled[:1000]])
        below = notes_below([[text_of(cell) for cell in row] for row in filled[before:][-_TAIL:]])
        records = filled[before : len(filled) - below]
        if not records:
            raise DataError(f"the sheet that was read from {path.name} has no records.")
        table = table_of(head.columns, zip(*records, strict=True))
        notes: tuple[str, ...] = ()
        if len(names) > 1 and options.table is None:
            listed = ", ".join(others[:_LISTED]) + ", ..." * (len(others) > _LISTED)
            which = "the first" if chosen == names[0] else f"`{chosen}`, the first with a table,"
            notes = (f"{path.name} holds {len(names)} sheets; {which} was read. Choose another with `table`: {listed}",)
        notes += tuple(f"{path.name}: {note}" for note in (*head.notes, *told_of_notes(below)))
        source = Source(kind=self.name, name=path.name, path=path, first_row=before + 1)
        return table_in_memory(table, source, notes=notes, titles=head.titles)

    def unfit(self, table: Table) -> Iterable[str]:
        for name in table.columns:
            if _CONTROL.search(name):
                yield f"column `{name}`: names in Excel files cannot hold control characters"
        if table.count() >= _ROWS:
            yield f"a sheet of an Excel file holds at most {_ROWS - 1:,} records"

    def save(self, table: Table, path: Path) -> None:
        try:
            import openpyxl
            from openpyxl.cell import WriteOnlyCell
            from openpyxl.utils.exceptions import IllegalCharacterError
            from openpyxl.worksheet._writer import WorksheetWriter
        except ImportError:
            raise MissingExtraError("the writer of Excel files", extra="files") from None
        book = openpyxl.Workbook(write_only=True)
        book.properties.description = self._description or None
        sheet = book.create_sheet("data")

        class Beside(WorksheetWriter):  # type: ignore[misc]
            """Writes the sheet beside the file, in a folder that is removed whatever happens."""

            def __init__(self) -> None:
                super().__init__(sheet, out=str(path.with_name("sheet")))
                self.write_top()

            def cleanup(self) -> None:
                Path(self.out).unlink()

        sheet._writer = Beside()

        def cell(value: object) -> object:
            if not isinstance(value, str) or not is_formula(value):
                return value
            written = WriteOnlyCell(sheet, value=value)
            # a text, also after somebody has edited it: as spreadsheet programs store what is typed after an apostrophe
            written.data_type, written.quotePrefix = "s", True
            return written

        sheet.append([cell(name) for name in table.columns])
        try:
            for batch in table.to_arrow().to_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    sheet.append([cell(value) for value in row])
        except IllegalCharacterError:
            raise OutputError(
                "Excel files cannot hold control characters, and some texts of the table have them.",
                hint="write another format, such as `parquet`",
            ) from None
        with path.open("wb") as file:
            book.save(file)


def _sheet(book: Any, names: Sequence[str]) -> tuple[str, list[list[object]]]:
    """Return the first sheet that holds a table, by its name, with its rows that are not blank; else the first."""
    first: tuple[str, list[list[object]]] | None = None
    for name in names:
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
        filled = [row for row in rows if any(cell not in ("", None) for cell in row)]
        first = first or (name, filled)
        if len(filled) > 1 and not _is_page(filled[:_LOOKED_AT]):
            return name, filled
    assert first is not None  # noqa: S101 - a file without sheets was refused
    return first


def _is_page(rows: Sequence[Sequence[object]]) -> bool:
    """Return whether rows are nothing but words in a column or two, as on a page that explains a file."""
    return len(rows[0]) <= _CELLS and all(isinstance(cell, str) for row in rows for cell in row)
