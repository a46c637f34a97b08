"""Files of statistics packages: Stata, SPSS and SAS, with their value labels as values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal.errors import MissingExtraError
from shoal.tables._table import Source, Table
from shoal.tables.formats._cells import table_of
from shoal.tables.formats._format import FileFormat, Format, Options, existing, opening, table_in_memory

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_LONGEST_LABEL = 60  # of a file, in SPSS


class _Statistics(FileFormat):
    """A file that pyreadstat reads: labels become values, values that are declared missing are missing."""

    uploaded: ClassVar[bool] = False
    #: the functions of pyreadstat by ending
    readers: ClassVar[dict[str, str]]
    writer: ClassVar[str]
    #: how it shows days, where columns can be told
    day_format: ClassVar[str | None] = None
    #: the words of its language, which cannot be names
    reserved: ClassVar[re.Pattern[str]] = re.compile("(?!)")

    def __init__(self, book: Codebook | None = None) -> None:
        self._book = book or Codebook()

    def open(self, path: Path, options: Options) -> Table:
        pyreadstat = _pyreadstat(self.title)
        with opening(path, f"one of the {self.title}", pyreadstat.ReadstatError, OSError, ValueError):
            read = getattr(pyreadstat, self.readers[path.suffix.lower()])
            frame, described = read(str(path), **self._labels(path))
        labelled = sum(1 for name in described.variable_value_labels if name in frame.columns)
        told = f"{path.name}: the value labels of {labelled} column{'' if labelled == 1 else 's'} are read as values"
        rows = table_of(list(frame.columns), (frame[name].tolist() for name in frame.columns))
        source = Source(kind=self.name, name=path.name, path=path, first_row=1)
        titles = {name: title for name, title in described.column_names_to_labels.items() if title}
        return table_in_memory(rows, source, notes=(told,) if labelled else (), titles=titles)

    def _labels(self, path: Path) -> dict[str, Any]:
        return {"apply_value_formats": True, "formats_as_category": False}

    def unfit(self, table: Table) -> Iterable[str]:
        for name in table.columns:
            if _NAME.fullmatch(name) is None:
                yield f"column `{name}`: names in {self.title} consist of at most 32 letters, digits and underscores"
            elif self.reserved.fullmatch(name):
                yield f"column `{name}`: this word cannot be a name in {self.title}"

    def save(self, table: Table, path: Path) -> None:
        rows = table.to_arrow()
        frame = rows.to_pandas()
        titles = {name: self._book.titles[name] for name in frame.columns if name in self._book.titles}
        options = self._with_codes(frame) | ({"column_labels": titles} if titles else {})
        if empty := self._days_without_values(rows):  # else they would be texts
            frame[empty] = math.nan
            options["variable_format"] = dict.fromkeys(empty, self.day_format)
        if self._book.description:
            options["file_label"] = self._book.description[:_LONGEST_LABEL]
        getattr(_pyreadstat(self.title), self.writer)(frame, str(path), **options)

    def _days_without_values(self, rows: pa.Table) -> list[str]:
        days = [field.name for field in rows.schema if self.day_format and pa.types.is_date(field.type)]
        return [name for name in days if rows[name].null_count == len(rows)]

    def with_description(self, description: str, labels: Mapping[str, Sequence[str]]) -> Format:
        if self._book.labels or self._book.titles:  # those of a file, which go before declared ones
            return type(self)(replace(self._book, description=description))
        codes: dict[str, dict[Code, str]] = {
            name: {float(code): label for code, label in enumerate(values, start=1)} for name, values in labels.items()
        }
        return type(self)(Codebook(labels=codes, description=description, declared=True))

    def _with_codes(self, frame: Any) -> dict[str, Any]:
        """Put codes into the frame and return how the file is told of them; nothing where it cannot hold them."""
        return {}

    def codebook(self, path: Path) -> Codebook:
        """Return the codes, labels and titles of a file's columns."""
        pyreadstat = _pyreadstat(self.title)
        with opening(path, f"one of the {self.title}", pyreadstat.ReadstatError, OSError, ValueError):
            _, told = getattr(pyreadstat, self.readers[path.suffix.lower()])(str(path), metadataonly=True)
        titles = {name: title for name, title in told.column_names_to_labels.items() if title}
        return Codebook(labels=told.variable_value_labels, titles=titles)


class _Labelled(_Statistics):
    """Files that hold codes together with their labels."""

    def like(self, original: Path) -> Format:
        """Return a writer that gives columns the codes, labels and titles of another such file."""
        file_format = next((each() for each in (Stata, Spss) if original.suffix.lower() in each.readers), None)
        if file_format is None:
            return super().like(original)
        return type(self)(file_format.codebook(existing(original)))

    def _collect_codes(self, frame: Any, *, texts: bool) -> dict[str, Coded]:
        columns = {name: [value if isinstance(value, str) else None for value in frame[name]] for name in frame.columns}
        coded = {name: self._book.encode_labels(name, values, texts=texts) for name, values in columns.items()}
        return {name: each for name, each in coded.items() if each is not None}


class Stata(_Labelled):
    """A Stata file."""

    name: ClassVar[str] = "stata"
    title: ClassVar[str] = "Stata files"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    written: ClassVar[tuple[str, ...]] = endings
    readers: ClassVar[dict[str, str]] = {".dta": "read_dta"}
    writer: ClassVar[str] = "write_dta"
    day_format: ClassVar[str] = "%td"
    reserved: ClassVar[re.Pattern[str]] = re.compile("byte|double|float|if|in|int|long|using|with|str[0-9]*|strL")

    def _with_codes(self, frame: Any) -> dict[str, Any]:
        # Stata labels numbers only, and has missing values of several kinds: .a is one
        codes = self._collect_codes(frame, texts=False)
        for name, each in codes.items():
            frame[name] = frame[name].astype(object)
            frame[name] = ["a" if code is not None and code == each.star else code for code in each.values]
        starred = {name: ["a"] for name, each in codes.items() if each.star is not None}
        labels = {
            name: {"a" if code == each.star else code: label for code, label in each.labels.items()}
            for name, each in codes.items()
        }
        return {"variable_value_labels": labels} | ({"missing_user_values": starred} if starred else {})


class Spss(_Labelled):
    """An SPSS file."""

    name: ClassVar[str] = "spss"
    title: ClassVar[str] = "SPSS files"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav", ".por")
    written: ClassVar[tuple[str, ...]] = (".sav",)
    readers: ClassVar[dict[str, str]] = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"}
    writer: ClassVar[str] = "write_sav"
    day_format: ClassVar[str] = "DATE11"
    reserved: ClassVar[re.Pattern[str]] = re.compile("all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with", re.IGNORECASE)

    def _with_codes(self, frame: Any) -> dict[str, Any]:
        codes = self._collect_codes(frame, texts=True)
        for name, each in codes.items():
            frame[name] = each.values
        starred = {name: [each.star] for name, each in codes.items() if each.star is not None}
        return {
            "variable_value_labels": {name: each.labels for name, each in codes.items()},
            "missing_ranges": starred,
        }


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


Code = float | str
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebook:
    """What a file says of its columns."""

    #: The label of every code, by column.
    labels: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    #: What columns are called at length.
    titles: Mapping[str, str] = field(default_factory=dict)
    #: What the file holds, in a line.
    description: str = ""
    #: Whether the labels were declared rather than read off a file: all of them are then written.
    declared: bool = False

    def encode_labels(self, name: str, values: Sequence[str | None], *, texts: bool) -> Coded | None:
        """Return released labels as the codes that they had; None where one is no label of the file.

        A ``*`` gets a code of its own, which is missing. Labels that were not released are not written: the labels of
        a file may list the values that its records had.

        Parameters
        ----------
        texts
            Whether codes may be texts; some packages label only numbers.
        """
        known = self.labels.get(name, {})
        codes = {label: code for code, label in known.items()}
        shown = {value for value in values if value is not None}
        ambiguous = len(codes) < len(known)
        if ambiguous or not shown <= {*codes, ANY} or not (shown & {*codes} or (self.declared and codes)):
            return None
        numbers = [code for code in known if not isinstance(code, str)]
        if len(numbers) < len(known) and (numbers or not texts):
            return None
        star: Code | None = None
        if ANY in shown and ANY not in codes:
            star = math.floor(max(numbers)) + 1 if numbers else ANY
            codes[ANY] = star
        labels = {codes[label]: label for label in sorted({*codes} if self.declared else shown)}
        # a column without a value is one of numbers, too
        encoded = [None if value is None else codes[value] for value in values] if shown else [math.nan] * len(values)
        return Coded(values=encoded, labels=labels, star=star)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A column as codes, the labels of those that are there, and the code that stands for any of them."""

    values: list[Any]
    labels: dict[Code, str]
    star: Code | None
