"""Tables of PostgreSQL databases."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from shoal.errors import DataError, MissingExtraError, OutputError, ParameterError, Problems, ShoalError, counted
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import check_names, name_values, quiet
from shoal.tables._expressions import Value, quote_identifier
from shoal.tables._relations import TableQuery
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import Format, Options

#: every column with the type that a domain stands for in the end
_COLUMNS = """
    WITH RECURSIVE columns(place, name, type, modifier, kind) AS (
        SELECT a.attnum, a.attname, a.atttypid, a.atttypmod, t.typtype
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT c.place, c.name, t.typbasetype, t.typtypmod, b.typtype
        FROM columns c JOIN pg_type t ON t.oid = c.type JOIN pg_type b ON b.oid = t.typbasetype WHERE c.kind = 'd'
    )
    SELECT name, format_type(type, modifier) FROM columns WHERE kind <> 'd' ORDER BY place
"""
#: Types that arrive as Arrow types of their own; all others are read as text.
_NATIVE = re.compile(
    r"boolean|smallint|integer|bigint|real|double precision|date|text|bytea|character( varying)?(\(\d+\))?"
    r"|timestamp(\(\d\))? with(out)? time zone|time(\(\d\))? without time zone"
)
_NUMERIC = re.compile(r"numeric(?:\((\d+),(-?\d+)\))?")
#: the one relation that a name stands for
_FOUND = """
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)
"""
_READABLE = """
    SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND has_table_privilege(
        (quote_ident(table_schema) || '.' || quote_ident(table_name))::text, 'SELECT')
    ORDER BY 1
"""
#: one snapshot for all that is asked, and texts in one encoding and style whatever the database has
_SESSION = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET client_encoding TO 'UTF8'",
    "SET datestyle TO 'ISO'",
    "SET intervalstyle TO 'postgres'",
    "SET timezone TO 'UTC'",
)
#: the conditions under which dates and times have no equal elsewhere: infinite, before Christ, of five digits, 24:00
_STRANGE = {
    "date": "{0} < '0001-01-01' OR {0} > '9999-12-31'",
    r"timestamp.* zone": "{0} < '0001-01-01' OR {0} >= '10000-01-01'",
    r"time(\(\d\))? without time zone": "{0} = '24:00'",
}
#: the condition under which a number has more digits than floating point keeps
_ROUNDED = "{0} NOT IN ('NaN', 'Infinity', '-Infinity') AND {0} <> {0}::double precision::numeric"
#: bytes of a name; PostgreSQL cuts longer ones
_LONGEST_NAME = 63
#: what the codes of PostgreSQL's errors say, by their beginning
_CAUSES = {
    "42501": "permission denied",
    "3F": "there is no schema in which this user may create tables",
    "2BP01": "other objects, such as views, depend on the table",
    "08": "the connection to the database was lost",
    "57P": "the connection to the database was lost",
    "53": "the server lacks disk, memory or connections",
    "40": "others changed the table at the same time",
    "55P03": "others have locked the table",
    "22": "it holds a value that the type of a column cannot",
    "25006": "the database may only be read",
}
_GRANTS = """
    SELECT 'GRANT ' || privilege_type || ' ON ' || $2 || ' TO '
        || CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        || CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
    FROM pg_class c, aclexplode(c.relacl) WHERE c.oid = $1::regclass AND grantee <> c.relowner
"""
_PARTS = re.compile(r'"((?:[^"]|"")+)"(?:\."((?:[^"]|"")+)")?')


Columns = Sequence[tuple[str, str]]

_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid)
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1
"""
#: foreign keys of one column between tables that names without a schema stand for
_FOREIGN_KEYS = """
    SELECT t.relname, a.attname, p.relname, b.attname FROM pg_constraint f
    JOIN pg_class t ON t.oid = f.conrelid JOIN pg_class p ON p.oid = f.confrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = f.conkey[1]
    JOIN pg_attribute b ON b.attrelid = p.oid AND b.attnum = f.confkey[1]
    WHERE f.contype = 'f' AND cardinality(f.conkey) = 1 AND f.conparentid = 0
    AND pg_table_is_visible(t.oid) AND pg_table_is_visible(p.oid) ORDER BY 1, 2, 3, 4
"""


def list_tables(address: str) -> list[str]:
    """Return the names of the tables of a database that need no schema before their names."""
    with _connect(address, DataError) as connection, connection.cursor() as cursor:
        cursor.execute(_TABLES)
        return [name for (name,) in cursor.fetchall()]


def list_foreign_keys(address: str) -> list[tuple[str, str, str, str]]:
    """Return the foreign keys of one column: table and column, and the table and column that they name."""
    with _connect(address, DataError) as connection, connection.cursor() as cursor:
        cursor.execute(_FOREIGN_KEYS)
        return [tuple(row) for row in cursor.fetchall()]


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
        have no equal (enumerations, UUID, JSON) become text. Days and times that have no equal, such as `infinity`,
        are refused.
        """
        if options.table is None:
            raise ParameterError("reading from a PostgreSQL database requires `table`.")
        engine = DuckDBEngine()
        with _connect(source, DataError) as connection, connection.cursor() as cursor:
            relation = _relation(cursor, options.table)
            columns = _columns(cursor, relation)
            check_names([name for name, _ in columns], options.table)
            _check_times(cursor, relation, columns)
            notes = _rounding_notes(cursor, relation, columns)
            chosen = ", ".join(f"{_expression(name, kind)} AS {quote_identifier(name)}" for name, kind in columns)
            cursor.execute(f"SELECT {chosen} FROM {relation}")  # noqa: S608
            with quiet(options.table), _explain_errors(options.table, DataError):
                expression = engine.ingest(cursor.fetch_record_batch())
        exact = {name: kind for name, described in columns if (kind := _decimal(described)) is not None}
        numbers = {name: expression[name].try_cast(kind) for name, kind in exact.items()}
        _check_numbers(engine, expression, numbers)
        expression = expression.mutate(*name_values(numbers))
        where = Source(kind=self.name, name=options.table, details=(("database", _database(source)),))
        return Table(expression=expression, engine=engine, source=where, notes=notes)

    def list_tables(self, address: str) -> list[str]:
        """Return the tables and views of a database that this user may read, schema first."""
        with _connect(address, DataError) as connection, connection.cursor() as cursor:
            cursor.execute(_READABLE)
            return [str(name) for (name,) in cursor.fetchall()]

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        if name is None:
            raise ParameterError("writing to a PostgreSQL database requires the `name` of the new table.")
        connected = _connect(str(destination), OutputError)
        with connected as connection, connection.cursor() as cursor:
            relations = _relations(cursor, name)
            if relations and not overwrite:
                raise OutputError(f"the table `{name}` already exists.", hint="choose another name, or overwrite it")
            schema, base = _place(cursor, name)
            _check_lengths((base, *table.columns))
            with quiet(name, error=OutputError), _explain_errors(name, OutputError):
                _fill(cursor, table, schema, base, next(iter(relations), None))
                connection.commit()


def _fill(cursor: Any, table: Table, schema: str | None, base: str, existing: str | None) -> None:
    """Make the table, or put the records into the one there is, whose permissions and views stay.

    One that has other columns is made anew, with the permissions that the old one had.
    """
    new = base if existing is None else f"shoal {secrets.token_hex(8)}"
    cursor.adbc_ingest(new, table.engine.batches(table.visible), mode="create", db_schema_name=schema)
    if existing is None:
        return
    position = "" if schema is None else f"{quote_identifier(schema)}."
    made = f"{position}{quote_identifier(new)}"
    if _columns(cursor, made) == _columns(cursor, existing):
        listed = ", ".join(map(quote_identifier, table.columns))
        cursor.execute(f"TRUNCATE {existing}")
        cursor.execute(f"INSERT INTO {existing} ({listed}) SELECT {listed} FROM {made}")  # noqa: S608
        cursor.execute(f"DROP TABLE {made}")
        return
    cursor.execute(_GRANTS, (existing, existing))
    grants = [statement for (statement,) in cursor.fetchall()]
    cursor.execute(f"DROP TABLE {existing}")
    cursor.execute(f"ALTER TABLE {made} RENAME TO {quote_identifier(base)}")
    for statement in grants:
        cursor.execute(statement)


def _check_lengths(names: Sequence[str]) -> None:
    """Refuse names that PostgreSQL would cut."""
    problems = Problems()
    for name in names:
        if len(name.encode()) > _LONGEST_NAME:
            problems.add(f"`{name}`: names in PostgreSQL have at most {_LONGEST_NAME} bytes")
    problems.raise_as(OutputError, hint="give the columns shorter names, or write a file")


@contextmanager
def _connect(address: str, error: type[ShoalError]) -> Iterator[Any]:
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
        with connection, quiet(_database(address), error=error), _explain_errors(_database(address), error):
            with connection.cursor() as cursor:
                for statement in _SESSION:
                    cursor.execute(statement)
            yield connection
    finally:
        connection.close()


@contextmanager
def _explain_errors(place: str, error: type[ShoalError]) -> Iterator[None]:
    """Put the driver's errors in words, by their code: its own words may hold values."""
    from adbc_driver_manager import AdbcStatusCode, Error

    try:
        yield
    except Error as raised:
        # tables are made without a code
        code = raised.sqlstate or ("42501" if raised.status_code == AdbcStatusCode.UNAUTHORIZED else "")
        cause = next((words for beginning, words in _CAUSES.items() if code.startswith(beginning)), None)
        if cause is None:
            raise
        raise error(f"{place}: {cause}.") from None


def _relation(cursor: Any, table: str) -> str:
    relations = _relations(cursor, table)
    if not relations:
        raise DataError(f"the database has no table `{table}`.")
    if len(relations) > 1:
        raise DataError(
            f"`{table}` is ambiguous: it may mean {len(relations)} tables of the database.",
            hint=f"for example {sorted(relations)[0]}",
        )
    return next(iter(relations))


def _relations(cursor: Any, table: str) -> set[str]:
    """Return all that a name may stand for; names of schemas and tables may hold dots themselves."""
    relations = set()
    for schema, base in _readings(table):
        name = quote_identifier(base) if schema is None else f"{quote_identifier(schema)}.{quote_identifier(base)}"
        cursor.execute(_FOUND, (name,))
        relations |= {row[0] for row in cursor.fetchall()}
    return relations


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


def _check_times(cursor: Any, relation: str, columns: Columns) -> None:
    """Refuse days and times that have no equal elsewhere."""
    strange = {
        name: condition
        for name, kind in columns
        for pattern, condition in _STRANGE.items()
        if re.fullmatch(pattern, kind)
    }
    problems = Problems()
    for name, count in _counts(cursor, relation, strange).items():
        if count:
            problems.add(
                f"column `{name}`: {count:,} values are infinite, 24:00, or not in the years 1 to 9999; "
                "no day or time elsewhere equals them"
            )
    problems.raise_as(DataError, hint="read a view that has NULL, or another value, in their place")


def _rounding_notes(cursor: Any, relation: str, columns: Columns) -> tuple[str, ...]:
    """Say which columns lose digits, since no type elsewhere holds numbers of any length."""
    conditions = {name: _ROUNDED for name, kind in columns if _NUMERIC.fullmatch(kind) and _decimal(kind) is None}
    return tuple(
        f"column `{name}`: {counted(count, 'value')} of more digits than floating point keeps "
        f"{'is' if count == 1 else 'are'} rounded; read a view with numeric(38, ...) or text to keep them"
        for name, count in _counts(cursor, relation, conditions).items()
        if count
    )


def _counts(cursor: Any, relation: str, conditions: Mapping[str, str]) -> dict[str, int]:
    """Return how many values of each column meet its condition."""
    if not conditions:
        return {}
    counts = ", ".join(
        f"count(*) FILTER (WHERE {condition.format(quote_identifier(name))})" for name, condition in conditions.items()
    )
    cursor.execute(f"SELECT {counts} FROM {relation}")  # noqa: S608
    return dict(zip(conditions, cursor.fetchall()[0], strict=True))


def _check_numbers(engine: DuckDBEngine, expression: TableQuery, numbers: dict[str, Value]) -> None:
    """Refuse values that are no numbers: `NaN`, which PostgreSQL allows in every numeric column."""
    if not numbers:
        return
    lost = {name: (number.isnull() & expression[name].notnull()).sum() for name, number in numbers.items()}
    counts = engine.fetch(expression.aggregate(name_values(lost))).to_pylist()[0]
    problems = Problems()
    for name, count in counts.items():
        if count:
            problems.add(f"column `{name}`: {count:,} values are NaN, which is not a number")
    problems.raise_as(DataError, hint="read a view that has NULL, or a number, in their place")


def _columns(cursor: Any, relation: str) -> Columns:
    cursor.execute(_COLUMNS, (relation,))
    return list(cursor.fetchall())


def _expression(name: str, kind: str) -> str:
    quoted = quote_identifier(name)
    if _NATIVE.fullmatch(kind):
        return f"{quoted}::{kind}"  # a domain, as what it stands for
    # as text first: a conversion to floating point may not be exact where a decimal is
    return f"{quoted}::double precision" if _NUMERIC.fullmatch(kind) and _decimal(kind) is None else f"{quoted}::text"


def _decimal(kind: str) -> str | None:
    """Return the exact type that holds all numbers of a kind; None where there is none."""
    found = _NUMERIC.fullmatch(kind)
    if found is None or found[1] is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    return f"decimal({precision}, {scale})" if precision <= 38 and 0 <= scale <= precision else None


def _database(address: str) -> str:
    """Return the host and database of an address, never its user or password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "of this address"
    return f"{parts.hostname or 'localhost'}{parts.path}"
