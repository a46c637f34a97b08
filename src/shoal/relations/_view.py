"""Columns as arrays: codes of their values, numbers and days, with the unit to which numbers are rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray[Any, np.dtype[Any]]

#: share of the values that must be numbers or dates for a column of text to be read as such
_READABLE = 0.98
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_COMMA = r"^[+-]?\d+,\d+$"
#: $45,000, 45 % or 34 years, and 45,000
_AMOUNT = r"(?i)^[+-]?(usd|eur|gbp|chf|[$€£¥₹])?\s*[+-]?\d[\d.,]*\s*([$€£¥₹%°]|[a-z]{1,7})?$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
_DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y%m%d")
#: distinct values from which the unit of a column is read
_LOOKED_AT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnView:
    """A column as arrays.

    Parameters
    ----------
    name
        Its name.
    codes
        A whole number for each record, equal where values are equal; -1 where the value is missing.
    size
        The number of different values.
    numbers
        The values as numbers (days since 1970 for dates), NaN where missing; None for other columns.
    unit
        The largest 1-2-5 step of which the numbers are multiples; 0 if they are not rounded.
    is_date
        Whether the numbers are days.
    """

    name: str
    codes: Array
    size: int
    numbers: Array | None
    unit: float
    is_date: bool

    @property
    def has_numbers(self) -> bool:
        """Whether the column has numbers that are no dates."""
        return self.numbers is not None and not self.is_date

    @property
    def values(self) -> Array:
        """The numbers of a column that has some."""
        if self.numbers is None:
            raise TypeError(self.name)
        return self.numbers

    def take(self, rows: Array) -> ColumnView:
        """Return the view of some records."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return ColumnView(
            name=self.name,
            codes=self.codes[rows],
            size=self.size,
            numbers=numbers,
            unit=self.unit,
            is_date=self.is_date,
        )


def view_columns(records: pa.Table) -> list[ColumnView]:
    """Return a view of each column of a table; nested columns are left out."""
    return [
        view_column(name, records.column(number))
        for number, name in enumerate(records.column_names)
        if not pa.types.is_nested(records.schema.field(number).type)
    ]


def view_column(name: str, column: pa.ChunkedArray) -> ColumnView:
    """Return the view of a column."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    values = encoded.dictionary
    if len(values) and pa.types.is_string(values.type) | pa.types.is_large_string(values.type):
        codes = _without_blanks(codes, values)
    numbers, is_date = _as_numbers(values)
    if numbers is None:
        return ColumnView(name=name, codes=codes, size=len(values), numbers=None, unit=0, is_date=False)
    spread = np.append(numbers, np.nan)[codes]
    return ColumnView(name=name, codes=codes, size=len(values), numbers=spread, unit=unit_of(numbers), is_date=is_date)


def _without_blanks(codes: Array, values: pa.Array) -> Array:
    """Return codes in which empty texts are missing."""
    blank = pc.equal(pc.utf8_trim_whitespace(values), "").to_numpy(zero_copy_only=False)
    return np.where(np.append(blank, True)[codes], np.int32(-1), codes) if blank.any() else codes


def _as_numbers(values: pa.Array) -> tuple[Array | None, bool]:
    """Return distinct values as numbers, and whether they are days; None if they are neither."""
    kind = values.type
    if not len(values) or pa.types.is_boolean(kind):
        return None, False
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _days(values), True
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), False
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None, False
    texts = pc.utf8_trim_whitespace(values)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    filled = len(texts) - texts.null_count
    if not filled:
        return None, False
    days = _days_of_texts(texts, filled)
    if days is not None:
        return days, True
    return _numbers_of_texts(texts, filled), False


def _numbers_of_texts(texts: pa.Array, filled: int) -> Array | None:
    texts = _without_units(texts, filled)
    comma = pc.match_substring_regex(texts, _COMMA)
    if pc.any(comma).as_py() and not pc.any(pc.match_substring(texts, ".")).as_py():
        texts = pc.replace_substring(texts, ",", ".")
    fits = pc.match_substring_regex(texts, _NUMBER)
    if (pc.sum(fits).as_py() or 0) < _READABLE * filled:
        return None
    numbers = pc.if_else(fits, texts, pa.scalar(None, texts.type)).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _without_units(texts: pa.Array, filled: int) -> pa.Array:
    """Return texts without the one currency or unit that all of them have, and without commas between thousands."""
    grouped = pc.match_substring_regex(texts, _AMOUNT)
    if (pc.sum(grouped).as_py() or 0) < _READABLE * filled:
        return texts
    amounts = texts.filter(grouped)
    marks = pc.replace_substring_regex(pc.utf8_lower(amounts), r"[-+0-9.,\s]+|s$", "")
    if pc.count_distinct(marks).as_py() > 1:
        return texts
    bare = pc.replace_substring_regex(texts, r"[^-+0-9.,]", "")
    thousands = pc.match_substring_regex(bare, _THOUSANDS)
    has_comma = pc.match_substring(bare, ",")
    if pc.all(pc.or_(thousands, pc.invert(has_comma))).as_py():
        bare = pc.replace_substring(bare, ",", "")
    return pc.if_else(grouped, bare, texts)


def _days_of_texts(texts: pa.Array, filled: int) -> Array | None:
    first = pc.utf8_slice_codeunits(texts, 0, 10)
    if not pc.any(pc.match_substring_regex(first, r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|^(19|20)\d{6}$")).as_py():
        return None
    for form in _DATE_FORMATS:
        days = pc.strptime(first, format=form, unit="s", error_is_null=True)
        if len(days) - days.null_count >= _READABLE * filled:
            return _days(days)
    return None


def _days(values: pa.Array) -> Array:
    whole = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    seconds = whole.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(np.floor(seconds / 86_400))


def unit_of(numbers: Array) -> float:
    """Return the largest 1-2-5 step of which 99 % of the distinct numbers are multiples, or 0.

    Steps of 2 and 5 need ten different numbers: three even numbers are no sign of rounding.
    """
    distinct = np.unique(np.abs(numbers[np.isfinite(numbers)]))
    distinct = distinct[distinct > 0]
    if not len(distinct):
        return 1.0
    if len(distinct) > _LOOKED_AT:
        distinct = distinct[:: len(distinct) // _LOOKED_AT + 1]
    largest = float(distinct[-1])
    for exponent in range(int(np.floor(np.log10(largest))), -10, -1):
        for factor in (5, 2, 1) if len(distinct) >= 10 else (1,):
            step = factor * 10.0**exponent
            multiples = distinct / step
            if largest / step < 1e12 and np.mean(np.abs(multiples - np.rint(multiples)) < 1e-6) >= 0.99:
                return step
    return 0.0
