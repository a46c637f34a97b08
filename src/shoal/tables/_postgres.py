"""PostgreSQL: records stream in as Arrow batches, and out in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from shoal.errors import DataError, MissingExtraError, OutputError, ParameterError, ShoalError
from shoal.tables._duckdb import DuckDBEngine, quoted
from shoal.tables._engine import check_names, quiet
from shoal.tables._table import Source, Table

__all__ = ["read_postgres", "write_postgres"]

_COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typtype::text
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
#: Types that arrive as Arrow types of their own; all others are read as text.
_NATIVE = ("boolean", "smallint", "integer", "bigint", "real", "double precision", "date", "text", "bytea")
_NATIVE_STARTS = ("character", "timestamp", "time ")


def read_postgres(address: str, table: str | None) -> Table:
    """Read a table of a PostgreSQL database.

    The records are copied into the embedded engine as they arrive, so that later looks see the same records and the
    server is asked once. Numbers of a declared precision keep it; others become floating point; types that have no
    equal (enumerations, UUID, JSON) become text.
    """
    if table is None:
        raise ParameterError("reading from a PostgreSQL database requires `table`.")
    engine = DuckDBEngine()
    with _connected(address, DataError) as connection, connection.cursor() as cursor:
        relation = _relation(cursor, table)
        columns = _columns(cursor, relation)
        check_names([name for name, _, _ in columns], table)
        chosen = ", ".join(f"{_expression(name, kind)} AS {quoted(name)}" for name, kind, _ in columns)
        cursor.execute(f"SELECT {chosen} FROM {relation}")  # noqa: S608
        with quiet(table):
            expression = engine.ingest(cursor.fetch_record_batch())
    exact = {name: kind for name, kind, _ in columns if kind.startswith("numeric(")}
    expression = expression.mutate(**{name: expression[name].try_cast(_decimal(kind)) for name, kind in exact.items()})
    source = Source(kind="postgresql", name=table, details=(("database", _database(address)),))
    found = Table(expression=expression, engine=engine, source=source)
    if not found.count():
        raise DataError(f"{table} has no records.")
    return found


def write_postgres(table: Table, address: str, name: str | None, *, overwrite: bool) -> None:
    """Make a table in a PostgreSQL database, in one transaction."""
    if name is None:
        raise ParameterError("writing to a PostgreSQL database requires the `name` of the new table.")
    schema, _, base = name.rpartition(".")
    with _connected(address, OutputError) as connection, connection.cursor() as cursor, quiet(name, error=OutputError):
        cursor.execute("SELECT to_regclass($1) IS NOT NULL", (_relation_name(name),))
        if cursor.fetchone()[0] and not overwrite:
            raise OutputError(f"the table `{name}` already exists.", hint="choose another name, or overwrite it")
        cursor.adbc_ingest(
            base,
            table.engine.batches(table.visible),
            mode="replace" if overwrite else "create",
            db_schema_name=schema or None,
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
    name = _relation_name(table)
    cursor.execute("SELECT to_regclass($1) IS NOT NULL", (name,))
    if not cursor.fetchone()[0]:
        raise DataError(f"the database has no table `{table}`.")
    return name


def _relation_name(table: str) -> str:
    return ".".join(quoted(part) for part in table.split(".", 1))


def _columns(cursor: Any, relation: str) -> list[tuple[str, str, str]]:
    cursor.execute(_COLUMNS, (relation,))
    return list(cursor.fetchall())


def _expression(name: str, kind: str) -> str:
    if kind == "numeric":
        return f"{quoted(name)}::double precision"
    if kind in _NATIVE or kind.startswith(_NATIVE_STARTS):
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
