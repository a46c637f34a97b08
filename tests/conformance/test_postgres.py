"""What only PostgreSQL has: NaN in exact numbers, names with dots, times with zones, connections that are cut."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from shoal.errors import DataError, OutputError
from shoal.tables import read, write

pytestmark = pytest.mark.postgres

Sql = Callable[[str], None]


@pytest.fixture
def sql(postgres: str) -> Sql:
    from adbc_driver_postgresql import dbapi

    def run(statement: str) -> None:
        with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            connection.commit()

    return run


def test_nan_in_a_numeric_column_is_refused_and_not_taken_for_missing(postgres: str, sql: Sql) -> None:
    sql("CREATE TABLE amounts (id integer, amount numeric(8, 2), rate numeric(4, 1))")
    sql("INSERT INTO amounts VALUES (1, 'NaN', 1.5), (2, 2.25, NULL), (3, 'NaN', 'NaN')")
    with pytest.raises(DataError, match="column `amount`: 2 values are NaN") as error:
        read(postgres, table="amounts")
    assert "column `rate`: 1 values are NaN" in str(error.value)
    sql("UPDATE amounts SET amount = NULL, rate = 1 WHERE amount = 'NaN'")
    assert read(postgres, table="amounts").to_arrow()["amount"].null_count == 2


def test_names_with_dots_are_found_or_said_to_be_ambiguous(postgres: str, sql: Sql) -> None:
    sql('CREATE SCHEMA "data.2024"')
    sql('CREATE TABLE "data.2024"."people.all" (a integer)')
    sql('INSERT INTO "data.2024"."people.all" VALUES (1)')
    for name in ("data.2024.people.all", '"data.2024"."people.all"'):
        assert read(postgres, table=name).count() == 1
    sql('CREATE SCHEMA "data"')
    sql('CREATE TABLE "data"."2024.people.all" AS SELECT 1 AS a UNION ALL SELECT 2')
    with pytest.raises(DataError, match="it may mean 2 tables"):
        read(postgres, table="data.2024.people.all")
    assert read(postgres, table='"data"."2024.people.all"').count() == 2
    table = read(pa.table({"a": [1, 2]}))
    write(table, postgres, name='"data.2024"."new.one"')
    assert read(postgres, table="data.2024.new.one").count() == 2
    with pytest.raises(OutputError, match="already exists"):
        write(table, postgres, name="data.2024.new.one")
    with pytest.raises(OutputError, match="no schema"):
        write(table, postgres, name="nowhere.new")


def test_times_with_a_zone_and_lists_are_text(postgres: str, sql: Sql) -> None:
    sql("CREATE TABLE times (a timetz, b timetz(3), c time, d varchar[], e timestamptz)")
    sql("INSERT INTO times VALUES ('10:00+02', '11:00:00.5+00', '12:00', '{x,y}', '2024-01-01 00:00+00')")
    found = read(postgres, table="times").to_arrow()
    assert [str(found.schema.field(name).type) for name in "abd"] == ["string", "string", "string"]
    assert found["a"].to_pylist() == ["10:00:00+02"]
    assert str(found.schema.field("c").type).startswith("time64")


def test_a_connection_that_is_cut_is_called_that(postgres: str, sql: Sql) -> None:
    sql("CREATE VIEW cut AS SELECT i, pg_terminate_backend(pg_backend_pid()) AS b FROM generate_series(1, 9) i")
    with pytest.raises(DataError, match="the connection to the database was lost"):
        read(postgres, table="cut").count()


STRANGE = {
    "date": ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01"],
    "timestamp": ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01"],
    "timestamptz": ["infinity", "-infinity", "0044-03-15 BC", "10000-01-02"],
    "time": ["24:00"],
}


@pytest.mark.parametrize("kind", STRANGE)
def test_days_and_times_that_have_no_equal_are_refused(postgres: str, sql: Sql, kind: str) -> None:
    name, good = f"strange_{kind}", "10:00" if kind == "time" else "2024-02-29"
    sql(f"CREATE TABLE {name} (moment {kind}, all_moments {kind}[])")
    sql(f"INSERT INTO {name} (moment) VALUES (NULL), ('{good}')")
    assert read(postgres, table=name).to_arrow()["moment"].null_count == 1
    values = ", ".join(f"('{value}')" for value in STRANGE[kind])
    sql(f"INSERT INTO {name} (moment) VALUES {values}")
    with pytest.raises(DataError, match=f"column `moment`: {len(STRANGE[kind])} values are infinite"):
        read(postgres, table=name)


def test_a_database_in_another_encoding_is_read(postgres: str, sql: Sql) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE old ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    address = postgres.replace("/postgres?", "/old?")
    write(read(pa.table({"name": ["Köln", "Jyväskylä"]})), address, name="towns")
    assert read(address, table="towns").to_arrow()["name"].to_pylist() == ["Köln", "Jyväskylä"]
    with pytest.raises(OutputError, match="it holds a value that the type of a column cannot"):
        write(read(pa.table({"name": ["Łódź"]})), address, name="more")


def test_what_the_server_refuses_is_named(postgres: str, sql: Sql) -> None:
    sql("CREATE ROLE bob LOGIN")
    sql("CREATE TABLE secret (a integer)")
    sql("CREATE SCHEMA closed")
    sql("GRANT USAGE ON SCHEMA closed TO bob")
    bob = postgres.replace("user=shoal", "user=bob")
    with pytest.raises(DataError, match="permission denied"):
        read(bob, table="secret")
    with pytest.raises(OutputError, match="permission denied"):
        write(read(pa.table({"a": [1]})), bob, name="closed.new")
    for address in ("postgresql://[::zz]/x", "postgresql:///nodb?host=/nowhere", "postgresql://:x@127.0.0.1:1/x"):
        with pytest.raises(DataError, match="cannot be reached"):
            read(address, table="secret")


def test_overwriting_keeps_permissions_and_views(postgres: str, sql: Sql) -> None:
    from adbc_driver_postgresql import dbapi

    def asked(question: str) -> list[tuple[object, ...]]:
        with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
            cursor.execute(question)
            return list(cursor.fetchall())

    sql("CREATE ROLE reader")
    sql("CREATE TABLE shared (a bigint, b text)")
    sql("GRANT SELECT ON shared TO reader WITH GRANT OPTION")
    sql("CREATE VIEW narrow AS SELECT a FROM shared")
    write(read(pa.table({"a": [1, 2], "b": ["x", "y"]})), postgres, name="shared", overwrite=True)
    assert sorted(asked("SELECT a FROM narrow")) == [(1,), (2,)]
    other = read(pa.table({"a": [3], "c": [1.5]}))
    with pytest.raises(OutputError, match="other objects, such as views, depend on the table"):
        write(other, postgres, name="shared", overwrite=True)
    assert sorted(asked("SELECT a FROM narrow")) == [(1,), (2,)]
    sql("DROP VIEW narrow")
    write(other, postgres, name="shared", overwrite=True)
    assert asked("SELECT a, c FROM shared") == [(3, 1.5)]
    allowed = "SELECT has_table_privilege('reader', 'shared', 'SELECT WITH GRANT OPTION')"
    assert asked(allowed) == [(True,)]
    assert asked("SELECT count(*) FROM pg_class WHERE relname LIKE 'shoal %'") == [(0,)]


def test_names_that_would_be_cut_are_refused(postgres: str) -> None:
    with pytest.raises(OutputError, match="at most 63 bytes"):
        write(read(pa.table({"ä" * 32: [1]})), postgres, name="long")
    with pytest.raises(OutputError, match="at most 63 bytes"):
        write(read(pa.table({"a": [1]})), postgres, name="x" * 64)
    write(read(pa.table({"ä" * 31: [1]})), postgres, name="x" * 63)
    assert read(postgres, table="x" * 63).columns == ("ä" * 31,)
