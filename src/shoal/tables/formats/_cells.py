"""Cells of text files, spreadsheets and statistics packages: the names above them, and the type of a column."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from shoal.errors import quoted
from shoal.tables._engine import LONGEST, is_blank

_VALUE = re.compile(r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?")
# so many of the values below a name are numbers or dates in a column of such
_MOST = 0.9
# a name that is longer than we take is cut to so many characters, if it is no longer than a question
_QUESTION, _SHOWN = 2000, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The names of columns, whether the file holds them, and what a person should know of them."""

    columns: tuple[str, ...]
    present: bool = True
    notes: tuple[str, ...] = ()
    #: What the file says of columns in a row of its own.
    titles: Mapping[str, str] = field(default_factory=dict)


def header_of(rows: Sequence[Sequence[str]]) -> Header:
    """Return the names of the columns of a file with these first rows.

    A first row with numbers or dates above columns of numbers or dates is a record, not a header: its values must not
    become names, which messages show. So is one of words that come again below them. Years or numbers in a row, as
    ``2019, 2020, 2021``, are names.

    Examples
    --------
    >>> header_of([["34", "Ada"], ["27", "Grace"], ["51", "Alan"]]).columns
    ('column_1', 'column_2')
    """
    first = rows[0]
    if _is_record(rows):
        names = tuple(f"column_{number}" for number in range(1, len(first) + 1))
        told = "the first row looks like a record, not names, so the columns are named column_1, column_2 and so on"
        return Header(columns=names, present=False, notes=(told,))
    columns = distinct_names(first)
    changed = [(old, new) for old, new in zip(first, columns, strict=True) if new != old]
    broken = [new for old, new in changed if _breaks(old) and old.strip()]
    cut = [new for old, new in changed if len(old) > len(new) and new not in broken]
    other = [new for _, new in changed if new not in (*cut, *broken)]
    why = {"no name or a duplicate one": other, "a very long name": cut, "a line break in the name": broken}
    return Header(
        columns=columns, notes=tuple(note for what, new in why.items() for note in _note_renamed_columns(what, new))
    )


def _note_renamed_columns(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Say which columns got new names."""
    one = len(names) == 1
    few, were = ("1 column has", "was") if one else (f"{len(names)} columns have", "were")
    return (f"{few} {what} and {were} renamed: {quoted(names)}",) if names else ()


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with a number after those that are there already, whatever the case of letters.

    Names as long as a question of a survey are cut, and line breaks become spaces; a long one with a line break stays,
    and is refused: it may be all the data, after a quote that is never closed.
    """
    named = [f"column_{position}" if is_blank(name) else _cut(name) for position, name in enumerate(names, start=1)]
    times = Counter(name.lower() for name in named)
    taken, unique = set(times), []
    seen: set[str] = set()
    for name in named:
        new, number = name, 2
        while new.lower() in seen or (new != name and new.lower() in taken):
            new, number = f"{name}_{number}", number + 1
        seen.add(new.lower())
        unique.append(new)
    return tuple(unique)


def _cut(name: str) -> str:
    if _breaks(name):
        return name if len(name) > LONGEST else " ".join(name.split())
    return f"{name[:_SHOWN]}..." if LONGEST < len(name) <= _QUESTION and "\0" not in name else name


def _breaks(name: str) -> bool:
    return "\n" in name or "\r" in name


def _is_record(rows: Sequence[Sequence[str]]) -> bool:
    first = [cell.strip() for cell in rows[0]]
    below = [row for row in rows[1:] if len(row) == len(first)]
    if len(below) < 2:
        return False
    of_values = [position for position in range(len(first)) if _holds_values([row[position].strip() for row in below])]
    values = [first[position] for position in of_values]
    if values:
        return all(map(is_value, values)) and not _in_a_row(values)
    return _recurs(first, below)


def _recurs(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds values that come again, in most of the columns whose values do."""
    counts = [Counter(row[position].strip() for row in below) for position in range(len(first))]
    repeating = [position for position, values in enumerate(counts) if len(values) <= len(below) / 2]
    again = [position for position in repeating if first[position] and counts[position][first[position]] > 1]
    return bool(again) and 2 * len(again) >= len(repeating)


def _holds_values(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and sum(map(is_value, filled)) >= _MOST * len(filled)


def is_value(cell: str) -> bool:
    """Return whether a cell is a number or a date."""
    return _VALUE.fullmatch(cell) is not None


def _in_a_row(values: Sequence[str]) -> bool:
    # no longer than 64 bits hold: Python refuses to read numbers of thousands of digits
    whole = [int(value) for value in values if value.isdigit() and len(value) < 20]
    one_by_one = all(after - before == 1 for before, after in itertools.pairwise(whole))
    return len(whole) == len(values) and len(values) > 1 and one_by_one


def table_of(names: Sequence[object], columns: Iterable[Sequence[object]]) -> pa.Table:
    """Return columns of cells as a table; names that are there twice get a number."""
    written = distinct_names(["" if name is None else str(name) for name in names])
    return pa.table([column_of(cells) for cells in columns], names=list(written))


def column_of(cells: Sequence[object]) -> pa.Array:
    """Return cells as an array of the narrowest type that holds them all, text where they are of several kinds.

    Examples
    --------
    >>> column_of([1.0, 2.0, None]).type, column_of([1.0, "many"]).to_pylist()
    (DataType(int64), ['1', 'many'])
    """
    values = [None if _is_missing(cell) else cell for cell in cells]
    present = [value for value in values if value is not None]
    if not present:
        return pa.array(values, pa.string())
    if all(isinstance(value, bool) for value in present):
        return pa.array(values, pa.bool_())
    if all(_is_number(value) for value in present):
        if all(float(value) == math.floor(float(value)) and abs(float(value)) < 2**53 for value in present):  # type: ignore[arg-type]
            return pa.array([None if value is None else int(value) for value in values], pa.int64())  # type: ignore[call-overload]
        return pa.array([None if value is None else float(value) for value in values], pa.float64())  # type: ignore[arg-type]
    if all(isinstance(value, dt.date) for value in present):
        if not any(isinstance(value, dt.datetime) for value in present):
            return pa.array(values, pa.date32())
        return pa.array([None if value is None else _moment(value) for value in values], pa.timestamp("us"))
    return pa.array([None if value is None else text_of(value) for value in values], pa.string())


def _is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip()) or cell != cell


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _day(value: object) -> object:
    midnight = isinstance(value, dt.datetime) and value.time() == dt.time()
    return value.date() if isinstance(value, dt.datetime) and midnight else value


def _moment(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return dt.datetime(value.year, value.month, value.day) if isinstance(value, dt.date) else value  # noqa: DTZ001


def text_of(value: object) -> str:
    """Return a cell as text, an empty one as none."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    value = _day(value)
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
