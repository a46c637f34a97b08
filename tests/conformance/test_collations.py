"""Texts are compared byte by byte, whatever collation a source declares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from conformance.conftest import SPARK
from shoal.queries._records import EngineRecords
from shoal.schema import Attribute, Domain, Role, Schema
from shoal.schema.conditions import In, Texts
from shoal.tables import Table, encode, read

# `\u00e9` in one and in two characters: the same letter to some collations
ROWS = [
    ("alice", "c"),
    ("Alice", "c"),
    ("ALICE", "c"),
    ("bob", "a"),
    ("caf\u00e9", "b"),
    ("cafe\u0301", "b"),
    ("\\x41", "d"),
]
SCHEMA = Schema(
    attributes=(
        Attribute(name="a.name", role=Role.QUASI_IDENTIFIER, domain=Domain(values=tuple(name for name, _ in ROWS))),
        Attribute(name="illness", role=Role.SENSITIVE, domain=Domain(values=("a", "b", "c", "d"))),
    )
)
PEOPLE = Schema(attributes=(Attribute(name="a.name", role=Role.IDENTIFIER), SCHEMA["illness"]))


def in_duckdb(folder: Path, query: str) -> Table:
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE people ("a.name" VARCHAR COLLATE NOCASE.NOACCENT, illness VARCHAR)')
        connection.executemany("INSERT INTO people VALUES (?, ?)", ROWS)
        connection.execute(f"CREATE VIEW seen AS {query}")
    return read(path, table="people" if query.startswith("SELECT 1") else "seen")


def in_spark(spark: Any) -> Table:
    frame = spark.createDataFrame(ROWS, "struct<`a.name`: string collate UNICODE_CI_AI, illness: string>")
    assert frame.where("`a.name` = 'alice'").count() == 3
    return read(frame)


def in_postgres(address: str) -> Table:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS collated")
        cursor.execute(
            "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
        cursor.execute('CREATE TABLE collated ("a.name" text COLLATE loose, illness text)')
        cursor.executemany("INSERT INTO collated VALUES ($1, $2)", ROWS)
        connection.commit()
    return read(address, table="collated")


@pytest.fixture(params=["duckdb table", "duckdb view", SPARK, "postgres"])
def collated(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    makers: dict[str, Callable[[], Table]] = {
        "duckdb table": lambda: in_duckdb(tmp_path, "SELECT 1"),
        "duckdb view": lambda: in_duckdb(tmp_path, 'SELECT "a.name" COLLATE NOCASE AS "a.name", illness FROM people'),
        "spark": lambda: in_spark(request.getfixturevalue("spark")),
        "postgres": lambda: in_postgres(request.getfixturevalue("postgres")),
    }
    return makers[request.param]()


def test_texts_that_a_collation_takes_for_equal_are_different_groups(collated: Table) -> None:
    frequencies = encode(collated.with_schema(SCHEMA), quasi_identifiers=("a.name",), sensitive=()).frequencies
    assert frequencies.counts.tolist() == [1] * len(ROWS)
    assert sorted(collated.to_arrow()["a.name"].to_pylist()) == sorted(name for name, _ in ROWS)


def test_a_query_about_one_text_says_nothing_of_its_likes(collated: Table) -> None:
    records = EngineRecords(collated.with_schema(SCHEMA))
    for name, _ in ROWS:
        assert records.count(In("a.name", Texts(frozenset({name})))) == 1
    assert records.tally_texts(None, "a.name", [name for name, _ in ROWS]) == [1] * len(ROWS)
    assert records.count(In("a.name", Texts(frozenset({"aLICE", "CAFE"})))) == 0


def test_a_person_is_looked_up_by_the_very_name(collated: Table) -> None:
    records = EngineRecords(collated.with_schema(PEOPLE))
    assert records.value_of("a.name", "bob", "illness") == "a"
    assert records.value_of("a.name", "alice", "illness") == "c"
    assert records.value_of("a.name", "BOB", "illness") is None
