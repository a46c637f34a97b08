"""What rules read: values of a column, as their one canonical text, as numbers and as days, and rows of files."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, HierarchyError
from shoal.kernels import Floats

Days = npt.NDArray[np.datetime64]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DAY = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"
# generous: a label of a megabyte is a wrong file, not a label
_LONGEST_FIELD = 2**20
_DELIMITERS = ",;\t|"


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


def listed(words: Iterable[str]) -> str:
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
    found = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    infinite = int(np.count_nonzero(~np.isfinite(found)))
    if infinite:
        raise HierarchyError(f"column `{name}`: {infinite:,} of {len(found):,} {what} are not finite numbers")
    return found


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


@dataclass(frozen=True, slots=True, repr=False)
class FileRows:
    """The rows of a file that are not blank, and where each stands in it, from 1."""

    cells: list[list[str]]
    numbers: list[int]

    def __len__(self) -> int:
        return len(self.cells)

    def chosen(self, wanted: Sequence[bool]) -> FileRows:
        """Return the rows that are wanted."""
        return FileRows(list(itertools.compress(self.cells, wanted)), list(itertools.compress(self.numbers, wanted)))

    def first(self, positions: Sequence[int]) -> str:
        """Say where the first few of some rows stand."""
        shown = ", ".join(f"{self.numbers[position]:,}" for position in positions[:5])
        return f"row{'s' if len(positions) > 1 else ''} {shown}{', ...' if len(positions) > 5 else ''}"


def read_rows(path: Path, *, delimiter: str, subject: str) -> FileRows:
    """Return the rows of a UTF-8 file, blank lines left out.

    Parameters
    ----------
    subject
        How messages call the file: "column `zip`: its hierarchy `zip.csv`".
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise HierarchyError(f"{subject} does not exist", hint="paths start at the schema's folder") from None
    except OSError as error:
        raise HierarchyError(f"{subject} cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"{subject} is not UTF-8 text (line {content[: error.start].count(10) + 1})", hint="save it as UTF-8"
        ) from None
    rows = _parse(text, delimiter, subject)
    if not len(rows):
        raise HierarchyError(f"{subject} is empty")
    if max(map(len, rows.cells)) == 1 and (other := _other_delimiter(rows, delimiter)):
        raise HierarchyError(
            f"{subject} has only one field per row with the delimiter {delimiter!r}",
            hint=f"every row contains {other!r}; set `delimiter`",
        )
    return rows


def _parse(text: str, delimiter: str, subject: str) -> FileRows:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (csv.Error, TypeError, ValueError):
        raise HierarchyError(f"{subject} is not a text file with the delimiter {delimiter!r}") from None
    finally:
        csv.field_size_limit(before)
    return FileRows(cells, list(range(1, len(cells) + 1))).chosen([bool(row) for row in cells])


def _other_delimiter(rows: FileRows, delimiter: str) -> str | None:
    return next((d for d in _DELIMITERS if d != delimiter and all(d in row[0] for row in rows.cells)), None)


def file_problems(name: str, path: str, delimiter: str) -> Iterable[str]:
    """Say what is wrong with a path and a delimiter, without looking at the file."""
    if not path:
        yield f"`path` of a `{name}` hierarchy must not be empty"
    if len(delimiter) != 1 or delimiter in '"\r\n':
        yield f"`delimiter` of a `{name}` hierarchy must be a single character other than a quote or a line break"
