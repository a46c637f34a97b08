"""Queries and expressions: what they say, and that names and texts come through whatever they hold."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pytest

from reference.names import SPECIAL, TWINS
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._expressions import Dialect, cases, descending, literal, quote_identifier, row_number, text_literal
from shoal.tables._relations import Stored, TableQuery, compile_query
from shoal.tables._types import INTEGER, STRING, Type

PEOPLE = pa.table({"town": ["Ulm", None, "Rome", "Ulm"], "age": [3, 1, 2, 1]})


@pytest.fixture
def people() -> tuple[DuckDBEngine, TableQuery]:
    engine = DuckDBEngine()
    return engine, engine.stage(PEOPLE)


def _rows(people: tuple[DuckDBEngine, TableQuery], relation: TableQuery) -> list[dict[str, object]]:
    return people[0].fetch(relation).to_pylist()


@pytest.mark.parametrize("text", [*SPECIAL, *(name for pair in TWINS for name in pair), "it's \\n \\u0041 ${x}", ""])
def test_every_text_is_a_constant_and_a_name(text: str, people: tuple[DuckDBEngine, TableQuery]) -> None:
    rows = people[1].select(literal(text).name(text or "empty")).limit(1)
    assert _rows(people, rows) == [{text or "empty": text}]


def test_spark_reads_escapes_in_texts_and_other_quotes_around_names() -> None:
    assert text_literal("it's \\ ${x}", "spark") == "'it\\'s \\\\ \\u0024{x}'"
    assert quote_identifier("a`b", "spark") == "`a``b`"


@pytest.mark.parametrize("number", [0.1, -0.1, 1e300, 5e-324, math.inf, -math.inf, 2**53, -(2**63)])
def test_numbers_are_exact(number: float, people: tuple[DuckDBEngine, TableQuery]) -> None:
    assert _rows(people, people[1].select(literal(number).name("n")).limit(1)) == [{"n": number}]


def test_days_and_truth_are_constants(people: tuple[DuckDBEngine, TableQuery]) -> None:
    day = dt.date(1969, 2, 28)
    chosen = (
        people[1].select(literal(day).name("d"), literal(True).name("t"), literal(None, "string").name("n")).limit(1)
    )
    assert _rows(people, chosen) == [{"d": day, "t": True, "n": None}]


def test_an_expression_has_no_truth_of_its_own(people: tuple[DuckDBEngine, TableQuery]) -> None:
    with pytest.raises(TypeError, match="before an engine computes it"):
        bool(people[1].age == 1)


def test_missing_values_come_last_in_every_order(people: tuple[DuckDBEngine, TableQuery]) -> None:
    for order in ("town", descending("town")):
        assert _rows(people, people[1].order_by(order))[-1]["town"] is None


def test_groups_are_those_of_values_not_of_columns_of_the_same_name(
    people: tuple[DuckDBEngine, TableQuery],
) -> None:
    counted = people[1].group_by(age=people[1].age % 2).aggregate(n=people[1].count()).order_by("age")
    assert _rows(people, counted) == [{"age": 0, "n": 1}, {"age": 1, "n": 3}]


def test_a_join_keeps_columns_of_both_sides_apart(people: tuple[DuckDBEngine, TableQuery]) -> None:
    other = people[0].stage(pa.table({"age": [1, 2], "town": ["x", "y"], "more": [10, 20]}))
    joined = people[1].inner_join(other, ["age"])
    assert joined.columns == ("town", "age", "more")
    ordered = _rows(people, joined.order_by(["age", "town"]))
    assert [(row["town"], row["more"]) for row in ordered] == [("Ulm", 10), (None, 10), ("Rome", 20)]
    assert len(_rows(people, people[1].semi_join(other, people[1].town == other.town))) == 0


def test_rows_are_numbered_within_groups(people: tuple[DuckDBEngine, TableQuery]) -> None:
    placed = people[1].mutate(place=row_number().over(group_by="town", order_by=[descending("age")]))
    assert [row["age"] for row in _rows(people, placed.filter(placed.place == 0).order_by("age"))] == [1, 2, 3]


def test_what_is_referred_to_twice_is_written_once() -> None:
    table = Stored("people", {"a": INTEGER})
    counted = table.group_by("a").aggregate(n=table.count())
    query = compile_query(counted.inner_join(counted, ["a"]), "duckdb")
    assert query.count("GROUP BY") == 1
    assert query.startswith("WITH ")


def test_a_figure_of_no_records_is_a_count_of_nothing(people: tuple[DuckDBEngine, TableQuery]) -> None:
    none = people[1].filter(people[1].age > 9)
    assert _rows(people, none.aggregate(n=none.count(), some=none.count(none.age > 1))) == [{"n": 0, "some": 0}]
    assert _rows(people, people[1].aggregate(n=(people[1].age == 1).sum())) == [{"n": 2}]


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_nothing_is_written_in_the_words_of_another_engine(dialect: Dialect) -> None:
    table = Stored("people", {"a": INTEGER, "t": STRING})
    values = {"s": table.t.strip(), "r": table.t.re_search("^a"), "c": cases((table.a > 1, "x"))}
    query = compile_query(table.select(**values), dialect)
    assert ("REGEXP_MATCHES" in query) == (dialect == "duckdb")


@pytest.mark.parametrize(
    ("dialect", "text", "name"),
    [
        ("duckdb", "HUGEINT", "decimal(38, 0)"),
        ("duckdb", "ENUM('a', 'b')", "string"),
        ("duckdb", "DECIMAL(8,2)", "decimal(8, 2)"),
        ("duckdb", "STRUCT(a INTEGER)[]", "STRUCT(a INTEGER)[]"),
        ("spark", "decimal(8,2)", "decimal(8, 2)"),
        ("spark", "array<string>", "array<string>"),
        ("spark", "interval day to second", "interval"),
    ],
)
def test_types_are_read(dialect: str, text: str, name: str) -> None:
    assert str(Type.read(dialect, text)) == name
