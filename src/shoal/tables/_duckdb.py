"""DuckDB, the embedded engine: no server, no settings, results in bounded memory."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import threading
import uuid
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from shoal.errors import ParameterError
from shoal.tables._engine import ROW, builtin
from shoal.writing import Scratch, temporary_place

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["DuckDBEngine", "literal", "quoted", "without_collations"]

P = ParamSpec("P")
T = TypeVar("T")

_GIGABYTE = 1 << 30


def _alone(method: Callable[Concatenate[DuckDBEngine, P], T]) -> Callable[Concatenate[DuckDBEngine, P], T]:
    """Let one thread at a time use the connection: the answer to a query is lost when the next begins."""

    @functools.wraps(method)
    def alone(self: DuckDBEngine, /, *arguments: P.args, **named: P.kwargs) -> T:
        with self._using:
            return method(self, *arguments, **named)

    return alone


class DuckDBEngine:
    """A private in-memory database; what does not fit goes to a private folder that is removed with the process.

    Threads may share it: they take turns. All engines of a process together use half of the machine's memory, at most
    4 GB (``SHOAL_MEMORY``), on all processors (``SHOAL_THREADS``). Extensions are never downloaded.

    Parameters
    ----------
    separate
        Whether it has a server and a folder of its own, as it must to attach other databases.
    """

    def __init__(self, *, separate: bool = False) -> None:
        import ibis

        self._using = threading.RLock()
        self._server = _Server(_limits()) if separate else _Server.current()
        name = _fresh("database")
        connection = self._server.connect(name)
        self._backend = ibis.duckdb.from_connection(connection)
        self._closer = weakref.finalize(self, _close, connection, name, self._server if separate else None)

    @property
    def name(self) -> str:
        """The engine's name and version."""
        return f"DuckDB {self._backend.version}"

    @property
    def connection(self) -> Any:
        """The DuckDB connection."""
        return self._backend.con

    @property
    def folder(self) -> Path:
        """A private folder that is removed with the process, or with a separate engine."""
        return self._server.folder

    def close(self) -> None:
        """Close the database."""
        self._closer()

    # -- in

    @_alone
    def table(self, name: str, *, database: tuple[str, str] | None = None) -> ir.Table:
        """Return a table or view of the database."""
        return self._backend.table(name, database=database)

    @_alone
    def view(self, query: str) -> ir.Table:
        """Return the result of a query, lazily."""
        name = _fresh("view")
        self.connection.execute(f"CREATE VIEW {quoted(name)} AS {query}")
        return self.table(name)

    @_alone
    def stage(self, rows: pa.Table) -> ir.Table:
        """Put a small table beside the data, to join with."""
        name = _fresh("map")
        self.connection.register(name, rows)
        return self.table(name)

    @_alone
    def ingest(self, reader: pa.RecordBatchReader) -> ir.Table:
        """Store the records of a stream, in their order."""
        name, stream = _fresh("table"), _fresh("stream")
        self.connection.register(stream, reader)
        try:
            self._execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM {quoted(stream)}")  # noqa: S608
        finally:
            self.connection.unregister(stream)
        # a view, not an expression of every column: that would make each query take time in proportion to all of them
        return self.view(f"SELECT *, rowid AS {quoted(ROW)} FROM {quoted(name)}")  # noqa: S608

    # -- out

    @_alone
    def fetch(self, expression: ir.Table) -> pa.Table:
        """Compute a (small) expression."""
        return self._interruptible(lambda: self.batches(expression).read_all())

    def batches(self, expression: ir.Table) -> pa.RecordBatchReader:
        """Compute an expression and hand its records out in batches; nothing else may run before the last one."""
        result = self.connection.sql(self._backend.compile(expression))
        # the newer of the two names came with DuckDB 1.5, the older left with 2.0
        stream = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
        return stream(1 << 17)

    def write_csv(self, expression: ir.Table, path: Path) -> None:
        """Write one CSV file at ``path``."""
        self._copy(expression, path, "FORMAT csv, HEADER true")

    def write_parquet(self, expression: ir.Table, path: Path) -> None:
        """Write one Parquet file at ``path``."""
        self._copy(expression, path, "FORMAT parquet, COMPRESSION zstd")

    def _copy(self, expression: ir.Table, path: Path, options: str) -> None:
        query = self._backend.compile(expression)
        self._execute(f"COPY ({query}) TO {literal(str(path))} ({options})")

    @_alone
    def _execute(self, statement: str) -> None:
        self._interruptible(lambda: self.connection.execute(statement))

    def _interruptible(self, work: Callable[[], Any]) -> Any:
        """Do work in a thread of its own, so that what is raised in this one, as by Ctrl-C, ends it at once."""
        doing = _Doing(work)
        try:
            doing.start()
            while doing.is_alive():
                doing.join(0.5)
        except BaseException:
            doing.wanted = False
            while doing.is_alive():
                self.connection.interrupt()  # forgotten by a query that has not begun
                doing.join(0.05)
            raise
        return doing.answer.result()

    # -- what Ibis does not say for all engines

    def keep(self, expression: ir.Table) -> ir.Table:
        """Store the records of an expression."""
        name = _fresh("table")
        self._execute(f"CREATE TABLE {quoted(name)} AS {self._backend.compile(expression)}")
        return self.table(name)

    def numbered(self, expression: ir.Table) -> ir.Table:
        """Return the records with their numbers; records of a source without stable order are stored first."""
        if ROW in expression.columns:
            return expression
        table = self.keep(expression)
        return table.mutate(**{ROW: table.rowid()})

    @_alone
    def apart(self, expression: ir.Table) -> ir.Table:
        """Return the same expression as a query of its own."""
        return self._backend.sql(self._backend.compile(expression), schema=expression.schema())

    def sha256(self, hexadecimal: ir.StringValue) -> ir.StringValue:
        """Return the SHA-256 digest of bytes; both are written in hexadecimal."""
        return builtin("sha256", ("binary",), "string")(builtin("unhex", ("string",), "binary")(hexadecimal))


class _Doing(threading.Thread):
    """A piece of work that is being done."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.answer: Future[Any] = Future()
        self.wanted, self._work = True, work

    def run(self) -> None:
        """Do the work."""
        try:
            if self.wanted:
                self.answer.set_result(self._work())
        except BaseException as error:
            self.answer.set_exception(error)


def without_collations(expression: ir.Table) -> dict[str, ir.StringValue]:
    """Return the text columns of a stored table or view, compared byte by byte.

    Texts that a collation calls equal (``COLLATE NOCASE``: `a` and `A`) would be one group and one answer, while
    everything that is promised takes them for two. DuckDB tells nobody which columns have a collation, and casts keep
    it; bytes have none.
    """
    encode, decode = builtin("encode", ("string",), "binary"), builtin("decode", ("binary",), "string")
    names = [name for name, kind in expression.schema().items() if kind.is_string()]
    return {name: decode(encode(expression[name])) for name in names}


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _fresh(kind: str) -> str:
    return f"shoal_{kind}_{uuid.uuid4().hex}"


class _Server:
    """A running DuckDB: starting one takes longer than reading a small table, so engines share it.

    It belongs to the process that started it: threads do not survive a fork.
    """

    _started: ClassVar[dict[tuple[object, ...], _Server]] = {}
    _starting: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, limits: dict[str, Any]) -> None:
        import duckdb

        self._process, self._scratch = os.getpid(), Scratch()
        self.folder = self._scratch.path
        settings = {
            "temp_directory": str(self.folder / "spill"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
        self._root = duckdb.connect(":memory:", config=settings | limits)

    @classmethod
    def current(cls) -> _Server:
        """Return the server of this process with the limits and the temporary folder of the environment."""
        limits = _limits()
        key = (os.getpid(), temporary_place(), *limits.items())
        with cls._starting:
            found = cls._started.get(key)
            if not cls._started:
                atexit.register(cls._end)
            if found is None or not found._runs():
                found = cls._started[key] = cls(limits)
            return found

    @classmethod
    def _end(cls) -> None:
        for key in [key for key in cls._started if key[0] == os.getpid()]:
            cls._started.pop(key).stop()

    def connect(self, name: str) -> Any:
        """Return a connection to a new database of that name."""
        connection = self._root.cursor()
        # our own progress is shown on a terminal; DuckDB would draw its own into pipes too
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute(f"ATTACH ':memory:' AS {name}")
        connection.execute(f"USE {name}")
        return connection

    def stop(self) -> None:
        """Close the databases and remove the folder; nothing of it belongs to a process that was forked."""
        if os.getpid() == self._process:
            self._root.close()
            self._scratch.remove()

    def _runs(self) -> bool:
        """Return whether it can go on: not after a fatal error, nor when somebody has removed its folder."""
        import duckdb

        try:
            return self.folder.is_dir() and self._root.execute("SELECT 1").fetchone() == (1,)
        except duckdb.Error:
            return False


def _close(connection: Any, name: str, server: _Server | None) -> None:
    import duckdb

    with contextlib.suppress(duckdb.Error):
        connection.execute("USE memory")
        connection.execute(f"DETACH {name}")
    connection.close()
    if server is not None:
        server.stop()


def _limits() -> dict[str, Any]:
    return {"memory_limit": _memory_limit()} | _threads()


def _threads() -> dict[str, Any]:
    given = os.environ.get("SHOAL_THREADS")
    if given is None:
        return {}
    if not given.isdigit() or int(given) < 1:
        raise ParameterError("`SHOAL_THREADS` must be a number of threads, at least 1.")
    return {"threads": int(given)}


def _memory_limit() -> str:
    given = os.environ.get("SHOAL_MEMORY")
    if given is not None:
        if not re.fullmatch(r"\d+(\.\d+)? *([KMGT]i?B)", given, re.IGNORECASE):
            raise ParameterError("`SHOAL_MEMORY` must be an amount of memory such as 4GB.")
        return given
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        physical = 4 * _GIGABYTE
    return f"{min(physical // 2, 4 * _GIGABYTE) // (1 << 20)}MiB"
