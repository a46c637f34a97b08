"""DuckDB, the embedded engine: no server, no settings, results in bounded memory."""

from __future__ import annotations

import functools
import os
import re
import threading
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ParameterError
from shoal.tables._engine import ROW, encoded_texts
from shoal.tables._expressions import Value, function, quote_identifier
from shoal.tables._expressions import text_literal as literal
from shoal.tables._relations import Stored, TableQuery, compile_query
from shoal.tables._repeated import counted_form, writable, write_repeated
from shoal.tables._types import BINARY, INTEGER, STRING, Type
from shoal.writing import Scratch

P = ParamSpec("P")
T = TypeVar("T")

_GIGABYTE = 1 << 30
_FEW = 256  # texts that are looked up in a list: one after the other, where they do not come from a dictionary
_WIDE = 4096  # between the whole numbers that are looked up in a list


def _alone(method: Callable[Concatenate[DuckDBEngine, P], T]) -> Callable[Concatenate[DuckDBEngine, P], T]:
    """Let one thread at a time use the connection: the answer to a query is lost when the next begins."""

    @functools.wraps(method)
    def alone(self: DuckDBEngine, /, *arguments: P.args, **named: P.kwargs) -> T:
        with self._using:
            return method(self, *arguments, **named)

    return alone


class DuckDBEngine:
    """One private in-memory database; what does not fit goes to a private folder that is removed with the engine.

    Threads may share it: they take turns. ``folder`` is private, and removed with the engine.

    Half of the machine's memory is used, at most 4 GB (``SHOAL_MEMORY``), on all processors (``SHOAL_THREADS``).
    Extensions are never downloaded.
    """

    def __init__(self) -> None:
        limits = {"memory_limit": f"{memory_limit() >> 10}KiB"} | _threads()
        scratch = Scratch()
        self.folder = scratch.path
        self._using = threading.RLock()
        self.connection: Any = _started(self.folder / "spill", limits)
        # our own progress is shown on a terminal; DuckDB would draw its own into pipes too
        self.connection.execute("SET enable_progress_bar_print = false")
        self._closer = weakref.finalize(self, _close, self.connection, scratch)

    @property
    def name(self) -> str:
        import duckdb

        return f"DuckDB {duckdb.__version__}"

    def close(self) -> None:
        """Close the database and remove its folder."""
        self._closer()

    # -- in

    @_alone
    def table(self, name: str, *, database: tuple[str, str] | None = None) -> Stored:
        """Return a table or view of the database."""
        relation = ".".join(map(quote_identifier, (*(database or ()), name)))
        described = self.connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608
        return Stored(relation, {column: Type.read("duckdb", kind) for column, kind, *_ in described})

    @_alone
    def view(self, query: str) -> TableQuery:
        """Return the result of a query, lazily."""
        name = _fresh("view")
        self.connection.execute(f"CREATE VIEW {quote_identifier(name)} AS {query}")
        return self.table(name)

    @_alone
    def stage(self, rows: pa.Table) -> TableQuery:
        name = _fresh("map")
        self.connection.register(name, rows)
        return self.table(name)

    @_alone
    def ingest(self, reader: pa.RecordBatchReader) -> TableQuery:
        """Store the records of a stream, in their order."""
        name, stream = _fresh("table"), _fresh("stream")
        self.connection.register(stream, reader)
        try:
            self._execute(f"CREATE TABLE {quote_identifier(name)} AS SELECT * FROM {quote_identifier(stream)}")  # noqa: S608
        finally:
            self.connection.unregister(stream)
        return self.read_stored(quote_identifier(name), reader.schema.names)

    @_alone
    def columns(self, relation: str) -> list[str]:
        """Return the names of the columns of a relation."""
        return [column for column, *_ in self.connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()]  # noqa: S608

    def read_stored(self, relation: str, names: Sequence[str], *, row: str = "rowid") -> TableQuery:
        """Return the records of a stored relation with their numbers.

        ``row`` is what DuckDB calls the numbers; columns get other names first, since one called ``rowid`` would hide
        them.
        """
        places = [f"c{i}" for i in range(len(names))]
        columns = ", ".join(f"{place} AS {quote_identifier(name)}" for place, name in zip(places, names, strict=True))
        # a view, not an expression of every column: that would make each query take time in proportion to all of them
        stored = f"{relation} AS t({', '.join(places)})"
        return self.view(f"SELECT {columns}, {row} AS {quote_identifier(ROW)} FROM {stored}")  # noqa: S608

    # -- out

    @_alone
    def fetch(self, expression: TableQuery) -> pa.Table:
        return self._interruptible(lambda: self.batches(expression).read_all())

    @_alone
    def fetch_encoded(self, expression: TableQuery) -> pa.Table:
        return self._interruptible(lambda: encoded_texts(self.batches(expression)))

    def batches(self, expression: TableQuery) -> pa.RecordBatchReader:
        """Compute an expression and hand its records out in batches; nothing else may run before the last one."""
        result = self.connection.sql(compile_query(expression, "duckdb"))
        # the newer of the two names came with DuckDB 1.5, the older left with 2.0
        stream = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
        return stream(1 << 17)

    def write_csv(self, expression: TableQuery, path: Path) -> None:
        self._copy(expression, path, "FORMAT csv, HEADER true")

    def write_parquet(self, expression: TableQuery, path: Path) -> None:
        counted = counted_form(expression)
        if counted is None or not self._write_repeated(counted, path):
            self._copy(expression, path, "FORMAT parquet, COMPRESSION zstd, WRITE_BLOOM_FILTER false")

    @_alone
    def _write_repeated(self, counted: TableQuery, path: Path) -> bool:
        def work() -> bool:
            reader = self.batches(counted)
            fits = writable(reader.schema)
            if fits:
                write_repeated(reader, path)
            return fits

        return bool(self._interruptible(work))

    def _copy(self, expression: TableQuery, path: Path, options: str) -> None:
        query = compile_query(expression, "duckdb")
        self._execute(f"COPY ({query}) TO {literal(str(path))} ({options})")

    @_alone
    def _execute(self, statement: str) -> None:
        self._interruptible(lambda: self.connection.execute(statement))

    def _interruptible(self, work: Callable[[], Any]) -> Any:
        """Do work in a thread of its own, so that what is raised in this one, as by Ctrl-C, ends it at once."""
        answer: Future[Any] = Future()
        stopped = threading.Event()

        def do() -> None:
            try:
                if not stopped.is_set():
                    answer.set_result(work())
            except BaseException as error:
                answer.set_exception(error)

        doing = threading.Thread(target=do, daemon=True)
        try:
            doing.start()
            while doing.is_alive():
                doing.join(0.5)
        except BaseException:
            stopped.set()
            while doing.is_alive():
                self.connection.interrupt()  # forgotten by a query that has not begun
                doing.join(0.05)
            raise
        return answer.result()

    # -- what a query does not say

    def keep(self, expression: TableQuery) -> Stored:
        name = _fresh("table")
        self._execute(f"CREATE TABLE {quote_identifier(name)} AS {compile_query(expression, 'duckdb')}")
        return self.table(name)

    @_alone
    def forget(self, kept: Stored) -> None:
        self.connection.execute(f"DROP TABLE {kept.relation}")

    def number_records(self, expression: TableQuery) -> TableQuery:
        """Return the records with their numbers; records of a source without stable order are stored first."""
        if ROW in expression.columns:
            return expression
        return self.read_stored(self.keep(expression).relation, expression.columns)

    def sha256(self, hexadecimal: Value) -> Value:
        return function("sha256", STRING, function("unhex", BINARY, hexadecimal))

    @_alone
    def translate_values(self, column: Value, values: pa.Array, numbers: pa.Array) -> Value | None:
        """Return the number beside the value of a column, of a few texts or of whole numbers not far apart.

        DuckDB looks every text of a Parquet dictionary up once, where a join hashes that of every record.
        """
        known, beside = values.drop_null(), numbers.filter(values.is_valid())
        if len(known) and pa.types.is_string(values.type) and len(values) <= _FEW:
            position, listed = f"list_position({_listed(known)}, v)", beside
        elif len(known) and pa.types.is_integer(values.type):
            first, last = (int(end.as_py()) for end in pc.min_max(known).values())
            if last - first > _WIDE or last >= 1 << 63:
                return None
            position = f"CASE WHEN v BETWEEN {first} AND {last} THEN v::BIGINT - ({first}) + 1 END"
            listed = beside.take(pc.index_in(pa.array(range(first, last + 1), known.type), value_set=known))
        else:
            return None
        translated = f"list_extract({_listed(listed)}::BIGINT[], {position})"
        if values.null_count:
            missing = numbers.filter(values.is_null())[0].as_py()
            translated = f"CASE WHEN v IS NULL THEN {'NULL' if missing is None else missing} ELSE {translated} END"
        name = _fresh("numbers")
        self.connection.execute(f"CREATE TEMP MACRO {name}(v) AS {translated}")
        return function(name, INTEGER, column)

    @_alone
    def look_labels_up(self, code: Value, labels: pa.Array) -> Value:
        name = _fresh("label")
        self.connection.execute(
            f"CREATE TEMP MACRO {name}(code) AS list_extract({_listed(labels)}::VARCHAR[], code::INTEGER + 1)"
        )
        return function(name, STRING, code)


def without_collations(expression: TableQuery) -> dict[str, Value]:
    """Return the text columns of a stored table or view, compared byte by byte.

    Texts that a collation calls equal (``COLLATE NOCASE``: `a` and `A`) would be one group and one answer, while
    everything that is promised takes them for two. DuckDB tells nobody which columns have a collation, and casts keep
    it; bytes have none.
    """
    names = [name for name, kind in expression.schema().items() if kind.is_string()]
    return {name: function("decode", STRING, function("encode", BINARY, expression[name])) for name in names}


def _listed(values: pa.Array) -> str:
    """Return texts or whole numbers as an SQL list."""
    texts = pa.types.is_string(values.type)
    written = ("NULL" if each is None else literal(each) if texts else str(each) for each in values.to_pylist())
    return f"[{', '.join(written)}]"


def _fresh(kind: str) -> str:
    return f"shoal_{kind}_{uuid.uuid4().hex}"


def _started(spill: Path, limits: dict[str, Any]) -> Any:
    """Start a database in memory, and return a connection to it."""
    import duckdb

    settings = {
        "temp_directory": str(spill),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }
    return duckdb.connect(":memory:", config=settings | limits)


def _close(connection: Any, scratch: Scratch) -> None:
    connection.close()
    scratch.remove()


def _threads() -> dict[str, Any]:
    given = os.environ.get("SHOAL_THREADS")
    if given is None:
        return {}
    if not given.isdigit() or int(given) < 1:
        raise ParameterError("`SHOAL_THREADS` must be a number of threads, at least 1.")
    return {"threads": int(given)}


def memory_limit() -> int:
    """Return the bytes that the engine may use: ``SHOAL_MEMORY``, or half of the machine's memory, at most 4 GB."""
    given = os.environ.get("SHOAL_MEMORY")
    if given is not None:
        amount = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT])(i?)B", given, re.IGNORECASE)
        if amount is None:
            raise ParameterError("`SHOAL_MEMORY` must be an amount of memory such as 4GB.")
        number, unit, binary = amount.groups()
        return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        physical = 4 * _GIGABYTE
    return int(min(physical // 2, 4 * _GIGABYTE))
