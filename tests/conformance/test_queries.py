"""A filter and its figures mean the same on every engine."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from conformance.conftest import SPARK
from reference import queries as reference
from shoal.queries import Session
from shoal.queries._records import EngineRecords
from shoal.schema.filters import parse
from shoal.tables import Table

RECORDS = [
    reference.first_record(),
    {**reference.first_record(), "id": "p1", "sex": None, "age": 70, "income": 999.99, "town": "it's"},
    {**reference.first_record(), "id": "p1", "sex": "M", "age": None, "income": None, "town": None, "born": None},
    {**reference.first_record(), "id": None, "sex": "x y", "pain": None, "age": 0, "income": -50.5, "town": ""},
]
FILTERS = (
    None,
    'sex = "F"',
    "not (age >= 50)",
    'town in ("it\'s", "Ulm") and born < "2000-01-01"',
    'sex is missing or pain > "none"',
    "age != 44",
)


@pytest.fixture
def people(load: Callable[[pa.Table], Table]) -> Table:
    return load(reference.table(RECORDS).to_arrow()).with_schema(reference.SCHEMA)


@pytest.mark.parametrize(
    ("load", "most_cells", "filters"),
    [
        pytest.param("duckdb", 0, FILTERS, id="not counted"),
        pytest.param("duckdb", 3, FILTERS, id="partly counted"),
        pytest.param("duckdb", 1000, FILTERS, id="counted"),
        pytest.param("spark", 0, FILTERS, id="spark, not counted", marks=[*SPARK.marks, pytest.mark.deep]),
        # on DuckDB every filter is tried beside what was counted
        pytest.param("spark", 3, FILTERS[2:4], id="spark, partly counted", marks=SPARK.marks),
    ],
    indirect=["load"],
)
def test_figures_are_those_of_the_records_one_by_one(
    people: Table, most_cells: int, filters: tuple[str | None, ...]
) -> None:
    records = EngineRecords(people, most_cells=most_cells)
    assert reference.look_ups(records, 3) == reference.expected_look_ups(RECORDS, 3)
    for text in filters:
        where = parse(text, reference.SCHEMA)
        assert reference.figures(records, where) == reference.expected(RECORDS, where)


def test_a_session_answers(people: Table) -> None:
    session = Session(people, 10**6, in_memory=False)
    assert session.count("age >= 40", epsilon=10_000).value == 2
    assert session.histogram("sex", epsilon=10_000).value == {"F": 1, "M": 1, "x y": 1, "(missing)": 1}
