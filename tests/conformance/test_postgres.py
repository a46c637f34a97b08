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
