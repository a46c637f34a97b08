"""The interface of engines, and the translation of their errors into ours."""

from __future__ import annotations

import errno
import logging
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import Cancelled, DataError, Exhausted, Problems, ShoalError
from shoal.tables._expressions import Value
from shoal.tables._relations import Stored, TableQuery
from shoal.writing import SCRATCH

if TYPE_CHECKING:
    from shoal.tables._table import Table


#: How the names of hidden columns begin; those of sources never do.
OURS = "__shoal_"

#: The hidden column that numbers the records of a source, where the source has a stable order. Never released.
ROW = f"{OURS}row__"

LONGEST = 200  # characters of a column's name
_UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Zs")  # categories of Unicode

#: how drivers say that the server went away
_CUT = (
    "server closed the connection",
    "terminating connection",
    "no connection to the server",
    "connection to server was lost",
    "ssl connection has been closed",
)
#: how engines say that a Parquet file was damaged, of whose texts nothing is passed on
_DAMAGED = (
    "TProtocolException",
    "decompression failure",
    "Page sizes must be",
    "is likely corrupted",
    "Corrupted file",
)
#: what the operating system says in its own fixed words, which engines repeat among theirs
_SYSTEM = tuple(os.strerror(number) for number in (errno.EFBIG, errno.EROFS, errno.ENAMETOOLONG))
_MACHINE = tuple(os.strerror(number) for number in (errno.EIO, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM))
_asking: ContextVar[bool] = ContextVar("asking", default=False)
# Spark writes every failed query to the terminal; threads ask at the same time, so the logger itself stays as it is
logging.getLogger("SQLQueryContextLogger").addFilter(lambda record: not _asking.get())

_FOREIGN = ("_duckdb", "duckdb", "pyarrow", "pyspark", "py4j", "adbc_driver_manager")


class Engine(Protocol):
    """A database that computes expressions.

    Everything that can be said as a query is said once; an engine adds what differs: how results come out, how small
    tables go in, how bytes are hashed, and how files are written.
    """

    @property
    def name(self) -> str:
        """The engine's name and version, for certificates."""

    def fetch(self, expression: TableQuery) -> pa.Table:
        """Compute a (small) expression."""

    def fetch_encoded(self, expression: TableQuery) -> pa.Table:
        """Compute an expression of many rows; texts come as dictionaries, which take a fraction of their memory."""

    def batches(self, expression: TableQuery) -> pa.RecordBatchReader:
        """Compute an expression and hand its records out in batches."""

    def stage(self, rows: pa.Table) -> TableQuery:
        """Put a small table beside the data, to join with."""

    def keep(self, expression: TableQuery) -> Stored:
        """Compute an expression once and for all, so that a second look sees the same records."""

    def forget(self, kept: Stored) -> None:
        """Remove what :meth:`keep` stored, which nobody will look at again."""

    def number_records(self, expression: TableQuery) -> TableQuery:
        """Return the records with a column :data:`ROW` of distinct numbers that stay the same at a second look."""

    def sha256(self, hexadecimal: Value) -> Value:
        """Return the SHA-256 digest of bytes; both are written in hexadecimal, the digest in lower case."""

    def translate_values(self, column: Value, values: pa.Array, numbers: pa.Array) -> Value | None:
        """Return the number beside the value of a column, null where there is none; None where a join is better."""

    def look_labels_up(self, code: Value, labels: pa.Array) -> Value:
        """Return the label with the number ``code``, of a few; null may be one of them."""

    def write_csv(self, expression: TableQuery, path: Path) -> None:
        """Write one CSV file at ``path``."""

    def write_parquet(self, expression: TableQuery, path: Path) -> None:
        """Write one Parquet file at ``path``."""


@contextmanager
def quiet(subject: str, *, error: type[ShoalError] = DataError) -> Iterator[None]:
    """Turn what an engine raises into one error of ours.

    The engines' own messages quote cell values and queries, so not a word of them is passed on.
    """
    asking = _asking.set(True)
    try:
        yield
    except ShoalError:
        raise
    except KeyboardInterrupt:
        raise Cancelled from None
    except Exception as raised:
        if not _is_foreign(raised):
            raise
        if _is_interrupt(raised):
            raise Cancelled from None
        if (lack := _lack(raised)) is not None:
            raise Exhausted(f"{subject}: {lack[0]}.", hint=lack[1]) from None
        problem, hint = _explain(raised)
        raise error(f"{subject}: {problem}.", hint=hint) from None
    finally:
        _asking.reset(asking)


def compute(table: Table, expression: TableQuery) -> pa.Table:
    """Compute a (small) expression on the engine of a table, which messages name."""
    with quiet(table.source.name):
        return table.engine.fetch(expression)


def figures(table: Table, expression: TableQuery) -> dict[str, Any]:
    """Compute an expression of one row on the engine of a table."""
    (row,) = compute(table, expression).to_pylist()
    return dict(row)


def _is_foreign(raised: Exception) -> bool:
    """Return whether an engine raised it; anything else is a mistake of ours and must not be hidden."""
    if isinstance(raised, OSError | MemoryError) or _is_interrupt(raised):
        return True
    return type(raised).__module__.partition(".")[0] in _FOREIGN


def _is_interrupt(raised: Exception) -> bool:
    """Return whether a query was stopped; DuckDB says so in two ways."""
    text = str(raised)
    return type(raised).__name__ == "InterruptException" or "KeyboardInterrupt" in text or text == "Query interrupted"


def _lack(raised: Exception) -> tuple[str, str | None] | None:
    """Return what the machine lacks, and a hint, if an engine says so; None for any other error."""
    kind, text = type(raised).__name__, str(raised)
    if "max_temp_directory_size" in text or ("No space left" in text and SCRATCH in text):
        return "the disk for temporary files is full", "free some space there, or point TMPDIR to a larger disk"
    if "No space left" in text:
        return "the disk is full", "free some space on it, or use another"
    if "maxResultSize" in text:
        return (
            "the Spark driver would receive more records than spark.driver.maxResultSize allows",
            "raise it and the driver's memory, or use a method and promises whose work stays on the executors: "
            "docs/how-to/use-spark.md lists them",
        )
    if "Checkpoint block" in text:
        return "a Spark executor died, and records that it had stored were lost with it", "try again"
    if kind == "OutOfMemoryException" or isinstance(raised, MemoryError) or "OutOfMemoryError" in text:
        return "there is not enough memory", "raise the limit, for example SHOAL_MEMORY=8GB"
    said = _find_phrase(text, _MACHINE)
    return None if said is None else (said, None)


def _explain(raised: Exception) -> tuple[str, str | None]:
    """Return a sentence for an engine's error and a hint, from its type and known phrases."""
    kind, text = type(raised).__name__, str(raised)
    if any(phrase in text.lower() for phrase in _CUT):
        return "the connection to the database was lost", "is the server running? Try again when it is"
    if isinstance(raised, PermissionError) or "Permission denied" in text:
        return "permission denied", None
    if (said := _find_phrase(text, _SYSTEM)) is not None:
        return said, None
    if "ModuleNotFoundError: No module named" in text:
        return (
            "Shoal, or a library that it needs, is not installed on the machines of the cluster",
            "install Shoal in the executors' Python, the one that PYSPARK_PYTHON names",
        )
    if any(phrase in text for phrase in _DAMAGED):
        return (
            "the file is damaged, and cannot be read to its end",
            "copy it again from where it came, or write it again",
        )
    return f"the engine failed ({kind})", None


def _find_phrase(text: str, phrases: Sequence[str]) -> str | None:
    """Return a sentence with the first phrase of the system that is in a text."""
    return next((f"the operating system reports: {phrase.lower()}" for phrase in phrases if phrase in text), None)


def check_names(names: Sequence[object], source: str) -> None:
    """Raise all that is wrong with the column names of a source.

    Engines take names that differ only in the case of letters for the same name, so these are refused too. A name
    that shows nothing is no name.
    """
    problems = Problems()
    texts = [str(name) for name in names]
    for position, name in enumerate(texts, start=1):
        if is_blank(name):
            problems.add(f"{source}: column {position} has no name")
        elif name.lower().startswith(OURS):
            problems.add(f"{source}: the name of column {position} begins with `{OURS}`, which is reserved")
        elif "\0" in name:
            problems.add(f"{source}: the name of column {position} contains a zero byte")
        elif len(name) > LONGEST:  # a quote that never closes makes a name of all the data: do not show it
            problems.add(f"{source}: the name of column {position} is longer than {LONGEST} characters")
    if problems:
        problems.raise_as(DataError)
    for name, times in Counter(texts).items():
        if times > 1:
            problems.add(f"{source}: column `{name}` appears {times} times")
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(texts):
        alike.setdefault(_without_case(name), []).append(name)
    for group in alike.values():
        if len(group) > 1:
            problems.add(f"{source}: columns {' and '.join(f'`{name}`' for name in group)} differ only in case")
    problems.raise_as(DataError, hint="rename columns in the source, so that each has a name of its own")


def is_blank(name: str) -> bool:
    """Return whether a name shows nothing: it holds spaces, control and format characters only."""
    return all(unicodedata.category(letter) in _UNSEEN for letter in name)


def _without_case(name: str) -> str:
    """Return a name as engines compare it: Spark compares capitals, of which several letters may have the same."""
    capitals = (letter.upper() if len(letter.upper()) == 1 else letter for letter in name)
    return "".join(capitals).lower()


def name_values(columns: Mapping[str, Value]) -> list[Value]:
    """Return values under names of users, which are no arguments: a column may be called `self`."""
    return [value.name(name) for name, value in columns.items()]


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return a name like the one wanted that no column has."""
    lower = {name.lower() for name in taken}
    return next(name for name in (wanted, *(f"{wanted} {i}" for i in range(2, len(lower) + 3))) if name not in lower)


def encoded_texts(reader: pa.RecordBatchReader) -> pa.Table:
    """Return batches as a table whose texts are dictionaries, one for each batch, of the values that occur in it."""
    columns: list[list[pa.Array]] = [[] for _ in reader.schema]
    for batch in reader:
        for column, values in zip(columns, batch.columns, strict=True):
            # enumerations of DuckDB come as dictionaries, of all their values
            plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
            text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
            column.append(pc.dictionary_encode(plain, null_encoding="encode") if text else plain)
    chunked = [
        pa.chunked_array(column, column[0].type if column else field.type)
        for column, field in zip(columns, reader.schema, strict=True)
    ]
    return pa.table(chunked, names=reader.schema.names)


def key(column: Value) -> Value:
    """Return a column such that equal values are the same value: the zero of floating point has two signs."""
    kind = column.type()
    return (column + 0.0).cast(kind) if kind.is_floating() else column


def text_of(column: Value) -> Value:
    """Return values as text; whole numbers without a decimal point, whatever their type."""
    if column.type().is_floating():
        whole = (column % 1 == 0) & (column.abs() < 2.0**53)
        return whole.ifelse(column.try_cast("int64").cast("string"), column.cast("string"))
    return column if column.type().is_string() else column.cast("string")


def sorted_by_values(expression: TableQuery) -> TableQuery:
    """Order records by all their columns."""
    return expression.order_by(expression.columns)
