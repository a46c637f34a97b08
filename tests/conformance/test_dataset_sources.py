"""Data sets of several tables in databases."""

from __future__ import annotations

import pytest

from shoal import datasets


@pytest.mark.postgres
def test_foreign_keys_of_postgresql_are_found(postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        for statement in (
            "CREATE TABLE humans (nr INTEGER PRIMARY KEY, age INTEGER)",
            "CREATE TABLE stays (stay INTEGER PRIMARY KEY, who INTEGER REFERENCES humans (nr), ward TEXT)",
            "INSERT INTO humans VALUES (1, 30), (2, 40)",
            "INSERT INTO stays VALUES (10, 1, 'a'), (11, 1, 'b'), (12, 2, 'a')",
        ):
            cursor.execute(statement)
        connection.commit()
    try:
        assert {"humans", "stays"} <= {*datasets.table_names(postgres)}
        keys = datasets.declared_parents(postgres)
        assert ("stays", "who", "humans", "nr") in keys
        read = datasets.read_dataset(postgres, datasets.loads(SERVER))
        assert read.parents["stays"].tolist() == [0, 0, 1]
    finally:
        with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE stays, humans")
            connection.commit()


SERVER = """
shoal = 1
[tables.humans]
key = "nr"
[tables.humans.columns.age]
role = "quasi-identifier"
[tables.stays]
parent = "humans"
parent_key = "who"
key = "stay"
[tables.stays.columns.ward]
role = "quasi-identifier"
"""
