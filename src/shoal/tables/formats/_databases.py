"""Databases: files of DuckDB, and PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from shoal.errors import DataError, MissingExtraError, OutputError, ParameterError, Problems, ShoalError
from shoal.tables._duckdb import DuckDBEngine, literal, quoted, without_collations
from shoal.tables._engine import ROW, check_names, named, quiet
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import FileFormat, Format, Options

if TYPE_CHECKING:
    import ibis.expr.types as ir


_COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typtype::text
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
#: Types that arrive as Arrow types of their own; all others are read as text.
_NATIVE = ("boolean", "smallint", "integer", "bigint", "real", "double precision", "date", "text", "bytea")
_NATIVE_STARTS = ("character", "timestamp", "time without")
#: the one relation that a name stands for
_FOUND = """
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)
"""
_PARTS = re.compile(r'"((?:[^"]|"")+)"(?:\."((?:[^"]|"")+)")?')


class DuckDBFile(FileFormat):
    """A table of a DuckDB file, read where it is."""

    name: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "DuckDB files"
    options: ClassVar[tuple[str, ...]] = ("table",)
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb", ".db")
    uploaded: ClassVar[bool] = False
    writable: ClassVar[bool] = False

    def open(self, path: Path, options: Options) -> Table:
        import duckdb

        engine = DuckDBEngine()
        connection = engine.connection
        try:
            connection.execute(f"ATTACH {literal(str(path))} AS source (READ_ONLY)")
        except duckdb.Error:
            raise DataError(
                f"{path.name} cannot be opened as a DuckDB file.",
                hint="check that it is one, that you may read it, and that no other program has it open for writing",
            ) from None
        with quiet(path.name):
            known = connection.execute(
                "SELECT schema_name, table_name, true FROM duckdb_tables() WHERE database_name = 'source' UNION ALL "
                "SELECT schema_name, view_name, false FROM duckdb_views() WHERE database_name = 'source' "
                "AND NOT internal"
            ).fetchall()
        schema, name, stored = _choose_table(known, options.table, path.name)
        with quiet(name):
            expression = engine.table(name, database=("source", schema))
            check_names(expression.columns, name)
            plain = without_collations(expression)
            if stored:
                plain[ROW] = expression.rowid()
            expression = expression.mutate(*named(plain))
        source = Source(kind=self.name, name=name, path=path, first_row=1 if stored else None)
        return Table(expression=expression, engine=engine, source=source)


def _choose_table(known: list[tuple[str, str, bool]], asked: str | None, source: str) -> tuple[str, str, bool]:
    """Return the schema, name and kind of the table that was asked for, or of the only one there is."""
    if asked is None:
        if len(known) == 1:
            return known[0]
        raise ParameterError(
            f"{source} holds {len(known)} tables; specify `table`.",
            hint=("one of " + ", ".join(sorted(name for _, name, _ in known)[:10])) if known else None,
        )
    for schema, name, stored in sorted(known, key=lambda entry: entry[0] not in ("main", "public")):
        if asked in (name, f"{schema}.{name}"):
            return schema, name, stored
    raise DataError(f"{source} has no table `{asked}`.")


class Postgres(Format):
    """A table of a PostgreSQL database."""

    name: ClassVar[str] = "postgresql"
    title: ClassVar[str] = "PostgreSQL databases"
    options: ClassVar[tuple[str, ...]] = ("table",)

    def takes(self, source: object) -> bool:
        return isinstance(source, str) and source.startswith(("postgresql://", "postgres://"))

    def suits(self, destination: str | Path) -> bool:
        return self.takes(destination)

    def read(self, source: Any, options: Options) -> Table:
        """Read a table of a database.

        The records are copied into the embedded engine as they arrive, so that later looks see the same records and
        the server is asked once. Numbers of a declared precision keep it; others become floating point; types that
        have no equal (enumerations, UUID, JSON) become text.
        """
        if options.table is None:
            raise ParameterError("reading from a PostgreSQL database requires `table`.")
        engine = DuckDBEngine()
        with _connected(source, DataError) as connection, connection.cursor() as cursor:
            relation = _relation(cursor, options.table)
            columns = _columns(cursor, relation)
            check_names([name for name, _, _ in columns], options.table)
            chosen = ", ".join(f"{_expression(name, kind)} AS {quoted(name)}" for name, kind, _ in columns)
            cursor.execute(f"SELECT {chosen} FROM {relation}")  # noqa: S608
            with quiet(options.table):
                expression = engine.ingest(cursor.fetch_record_batch())
        exact = {name: _decimal(kind) for name, kind, _ in columns if kind.startswith("numeric(")}
        numbers = {name: expression[name].try_cast(kind) for name, kind in exact.items()}
        _check_numbers(engine, expression, numbers)
        expression = expression.mutate(*named(numbers))
        where = Source(kind=self.name, name=options.table, details=(("database", _database(source)),))
        return Table(expression=expression, engine=engine, source=where)

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        if name is None:
            raise ParameterError("writing to a PostgreSQL database requires the `name` of the new table.")
        connected = _connected(str(destination), OutputError)
        with connected as connection, connection.cursor() as cursor, quiet(name, error=OutputError):
            if _relations(cursor, name) and not overwrite:
                raise OutputError(f"the table `{name}` already exists.", hint="choose another name, or overwrite it")
            schema, base = _place(cursor, name)
            cursor.adbc_ingest(
                base,
                table.engine.batches(table.visible),
                mode="replace" if overwrite else "create",
                db_schema_name=schema,
            )
            connection.commit()


@contextmanager
def _connected(address: str, error: type[ShoalError]) -> Iterator[Any]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError("PostgreSQL support", extra="postgres") from None
    try:
        connection = dbapi.connect(address)
    except Exception:
        # the driver's own words hold the address, and with it the password
        raise error(
            f"the PostgreSQL database {_database(address)} cannot be reached.",
            hint="check the host, port, database, user and password of the address",
        ) from None
    try:
        with connection, quiet(_database(address), error=error):
            yield connection
    finally:
        connection.close()


def _relation(cursor: Any, table: str) -> str:
    found = _relations(cursor, table)
    if not found:
        raise DataError(f"the database has no table `{table}`.")
    if len(found) > 1:
        raise DataError(
            f"`{table}` is ambiguous: it may mean {len(found)} tables of the database.",
            hint=f"for example {sorted(found)[0]}",
        )
    return next(iter(found))


def _relations(cursor: Any, table: str) -> set[str]:
    """Return all that a name may stand for; names of schemas and tables may hold dots themselves."""
    found = set()
    for schema, base in _readings(table):
        name = quoted(base) if schema is None else f"{quoted(schema)}.{quoted(base)}"
        cursor.execute(_FOUND, (name,))
        found |= {row[0] for row in cursor.fetchall()}
    return found


def _readings(table: str) -> list[tuple[str | None, str]]:
    """Return how a name can be read as a schema and a table; one in quotes as SQL has them in one way only."""
    if parts := _PARTS.fullmatch(table):
        names = [part.replace('""', '"') for part in parts.groups() if part is not None]
        return [(names[0] if len(names) == 2 else None, names[-1])]
    dots = [position for position, letter in enumerate(table) if letter == "."]
    return [(None, table), *((table[:dot], table[dot + 1 :]) for dot in dots if 0 < dot < len(table) - 1)]


def _place(cursor: Any, table: str) -> tuple[str | None, str]:
    """Return the schema and the name of a table to be made: the schema is there already."""
    readings = _readings(table)
    for schema, base in reversed(readings):
        cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = $1", (schema or "",))
        if schema is not None and cursor.fetchall():
            return schema, base
    if readings[-1][0] is not None:
        raise OutputError(f"the database has no schema for the table `{table}`.", hint="create the schema first")
    return readings[0]


def _check_numbers(engine: DuckDBEngine, expression: ir.Table, numbers: dict[str, ir.Value]) -> None:
    """Refuse values that are no numbers: `NaN`, which PostgreSQL allows in every numeric column."""
    if not numbers:
        return
    lost = {name: (number.isnull() & expression[name].notnull()).sum() for name, number in numbers.items()}
    counts = engine.fetch(expression.aggregate(named(lost))).to_pylist()[0]
    problems = Problems()
    for name, count in counts.items():
        if count:
            problems.add(f"column `{name}`: {count:,} values are NaN, which is not a number")
    problems.raise_as(DataError, hint="read a view that has NULL, or a number, in their place")


def _columns(cursor: Any, relation: str) -> list[tuple[str, str, str]]:
    cursor.execute(_COLUMNS, (relation,))
    return list(cursor.fetchall())


def _expression(name: str, kind: str) -> str:
    if kind == "numeric":
        return f"{quoted(name)}::double precision"
    if kind in _NATIVE or (kind.startswith(_NATIVE_STARTS) and not kind.endswith("[]")):
        return quoted(name)
    return f"{quoted(name)}::text"


def _decimal(kind: str) -> str:
    precision, _, scale = kind.removeprefix("numeric(").removesuffix(")").partition(",")
    exact = int(precision) <= 38 and 0 <= int(scale or 0) <= int(precision)
    return f"decimal({precision}, {scale or 0})" if exact else "float64"


def _database(address: str) -> str:
    """Return the host and database of an address, never its user or password."""
    parts = urlsplit(address)
    return f"{parts.hostname or 'localhost'}{parts.path}"
