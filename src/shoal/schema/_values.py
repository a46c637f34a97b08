"""Values of a column as canonical text, numbers and days, and the values that a released label stands for."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, HierarchyError
from shoal.kernels import Floats, Integers

Days = npt.NDArray[np.datetime64]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DAY = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"


def text(values: pa.Array | pa.ChunkedArray) -> pa.StringArray:
    """Return the canonical text of ``values``; null stays null.

    Strings stay as they are. A whole number has no decimal point, whatever its type (``5``, ``5.0`` and
    ``Decimal("5.00")`` are all ``5``); other numbers have the fewest digits that give the number back. Days are
    written as in ISO 8601; a time stamp at midnight is written as a day, any other as ``2020-01-05T10:30:00``, by the
    clock of the column's time zone. Truth values are ``true`` and ``false``.

    Raises
    ------
    DataError
        For values without a text of their own (lists, structures, bytes).

    Examples
    --------
    >>> text(pa.array([5.0, 0.25, None])).to_pylist()
    ['5', '0.25', None]
    """
    values = plain(values)
    kind = values.type
    if pa.types.is_floating(kind):
        return _floating(values)
    if pa.types.is_decimal(kind):
        return _decimal(values)
    if pa.types.is_timestamp(kind):
        return _timestamp(values)
    if pa.types.is_time(kind):
        return _without_trailing_zeros(values.cast(pa.string()))
    if (
        is_text(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
        or pa.types.is_null(kind)
    ):
        return values.cast(pa.string())
    raise DataError(f"values of type {kind} cannot be written as text")


def join_words(words: Iterable[str]) -> str:
    """Return "5", "5 and 10", "5, 10 and 20"."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of this type are text already."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return ``values`` as one array, without a dictionary, in a type that Arrow can sort."""
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pa.float32()) if pa.types.is_float16(values.type) else values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EncodedTexts:
    """Texts by number: the group of every text, the label of every group, the first place of every group."""

    groups: Integers
    labels: pa.StringArray
    first: Integers


def encode_texts(texts: pa.StringArray) -> EncodedTexts:
    """Return texts by number, as they appear."""
    encoded = texts.dictionary_encode()
    groups = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    # groups are numbered as they appear, so a first place is where the running maximum grows
    first = np.flatnonzero(np.diff(np.maximum.accumulate(groups), prepend=-1))
    return EncodedTexts(groups=groups, labels=encoded.dictionary, first=first)


def numbers(values: pa.Array, name: str, what: str = "values") -> Floats:
    """Return ``values`` as finite numbers, or say how many are not."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if pa.types.is_temporal(values.type):
        raise HierarchyError(f"column `{name}`: its {what} are of type {values.type}, not numbers")
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        values = text(values)
        bad = int(pc.sum(pc.invert(pc.match_substring_regex(values, _NUMBER))).as_py() or 0)
        if bad:
            raise HierarchyError(f"column `{name}`: {bad:,} of {len(values):,} {what} are not numbers")
        # Arrow does not read a leading plus or a bare trailing point
        values = pc.replace_substring_regex(pc.utf8_ltrim(values, "+"), r"\.($|[eE])", r".0\1")
    floats = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    infinite = int(np.count_nonzero(~np.isfinite(floats)))
    if infinite:
        raise HierarchyError(f"column `{name}`: {infinite:,} of {len(floats):,} {what} are not finite numbers")
    return floats


def days(values: pa.Array, name: str, what: str = "values") -> Days:
    """Return ``values`` as days, or say how many are not."""
    if pa.types.is_timestamp(values.type):
        if values.type.tz is not None:
            values = pc.local_timestamp(values)
        return np.asarray(values.to_numpy(zero_copy_only=False).astype("datetime64[D]"))
    if pa.types.is_date(values.type):
        return np.asarray(values.cast(pa.date32()).to_numpy(zero_copy_only=False).astype("datetime64[D]"))
    written = pc.utf8_slice_codeunits(text(values), 0, 10)
    read = pc.strptime(written, format="%Y-%m-%d", unit="s", error_is_null=True)
    # the second test is for days such as 30 February, which Arrow reads as 1 March
    good = pc.and_(
        pc.match_substring_regex(text(values), _DAY),
        pc.fill_null(pc.equal(pc.strftime(read, format="%Y-%m-%d"), written), False),
    )
    bad = len(values) - int(pc.sum(good).as_py() or 0)
    if bad:
        raise HierarchyError(
            f"column `{name}`: {bad:,} of {len(values):,} {what} are not dates", hint="write dates as 2024-12-31"
        )
    return np.asarray(read.to_numpy(zero_copy_only=False).astype("datetime64[D]"))


def _floating(values: pa.Array) -> pa.StringArray:
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    whole = np.isfinite(numbers) & (np.abs(numbers) < 2.0**63)
    whole &= np.floor(numbers, where=whole, out=np.zeros_like(numbers)) == numbers
    integers = np.zeros(len(numbers), dtype=np.int64)
    integers[whole] = numbers[whole].astype(np.int64)
    return pc.if_else(
        pc.is_null(values),
        pa.scalar(None, pa.string()),
        pc.if_else(pa.array(whole), pa.array(integers).cast(pa.string()), values.cast(pa.string())),
    )


def _decimal(values: pa.Array) -> pa.StringArray:
    written = values.cast(pa.string())
    if pc.any(pc.match_substring(written, "E")).as_py():  # Arrow writes small decimals as 1E-10
        written = pa.array([None if v is None else format(Decimal(v), "f") for v in written.to_pylist()], pa.string())
    return _without_trailing_zeros(written)


def _without_trailing_zeros(written: pa.StringArray) -> pa.StringArray:
    fraction = pc.match_substring(written, ".")
    return pc.if_else(fraction, pc.utf8_rtrim(pc.utf8_rtrim(written, "0"), "."), written)


def _timestamp(values: pa.Array) -> pa.StringArray:
    if values.type.tz is not None:
        values = pc.local_timestamp(values)
    written = _without_trailing_zeros(values.cast(pa.string()))
    return pc.replace_substring(pc.replace_substring_regex(written, " 00:00:00$", ""), " ", "T")


INTERVAL = re.compile(r"^([\[(])\s*(.+?)\s*,\s*(.+?)\s*([\])])$")
HALF = re.compile(r"^(<=|>=|<|>)\s*(.+)$")
_PERIOD = re.compile(r"^(\d{4})(?:-(\d\d)|-Q([1-4])|(s))?$")
_EVERYTHING = ("*", "any number")

Extent = tuple[float, float]
"""The least and the greatest number that a label may stand for, or days since 1970; infinite where it says nothing."""


def number_extent(label: str) -> Extent | None:
    """Return the ends of the numbers that a label covers, or None for one that is not about numbers.

    Examples
    --------
    >>> number_extent("[20, 25)"), number_extent("34"), number_extent(">= 65"), number_extent("young")
    ((20.0, 25.0), (34.0, 34.0), (65.0, inf), None)
    """
    return _extent(label, _number)


def day_extent(label: str) -> Extent | None:
    """Return the first and the last day that a label covers, in days since 1970.

    Examples
    --------
    >>> [str(dt.date(1970, 1, 1) + dt.timedelta(end)) for end in day_extent("2024-Q2")]
    ['2024-04-01', '2024-06-30']
    """
    return _extent(label, _days)


def _extent(label: str, read: Callable[[str], Extent | None]) -> Extent | None:
    if label in _EVERYTHING:
        return -math.inf, math.inf
    if between := INTERVAL.match(label):
        low, high = read(between[2]), read(between[3])
        return None if low is None or high is None else (low[0], high[1])
    if half := HALF.match(label):
        end = read(half[2])
        if end is None:
            return None
        return (-math.inf, end[1]) if half[1].startswith("<") else (end[0], math.inf)
    return read(label)


def _number(text: str) -> Extent | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return (number, number) if math.isfinite(number) else None


def _days(text: str) -> Extent | None:
    try:
        if period := _PERIOD.match(text):
            year, month, months = int(period[1]), 1, 12
            if period[2]:
                month, months = int(period[2]), 1
            elif period[3]:
                month, months = 3 * int(period[3]) - 2, 3
            elif period[4]:
                months = 120
            last = year * 12 + month - 1 + months
            return _since(dt.date(year, month, 1)), _since(dt.date(last // 12, last % 12 + 1, 1)) - 1
        day = _since(dt.datetime.fromisoformat(text).date())
    except ValueError:
        return None
    return day, day


def _since(day: dt.date) -> float:
    return float((day - dt.date(1970, 1, 1)).days)
