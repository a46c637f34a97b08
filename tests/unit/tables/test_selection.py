"""Filters as Ibis expressions: what they may hold, and what they say."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest
from ibis import _

import shoal
from shoal.errors import DataError, FilterError
from shoal.queries import Session
from shoal.schema import Attribute, Domain, Kind, Schema
from shoal.tables import RecordStore, filter_text

KINDS = {"age": Kind.NUMERIC, "sex": Kind.CATEGORICAL, "born": Kind.DATE, "a`b": Kind.CATEGORICAL}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (None, None),
        ("age >= 40", "age >= 40"),
        (_.age >= 40, "`age` >= 40"),
        (40 <= _.age, "`age` >= 40"),  # noqa: SIM300
        (~(_.age >= 40), "`age` < 40"),
        (~((_.age >= 40) & (_.sex == "F")), '(`age` < 40) or (`sex` != "F")'),
        (_.sex == 'say "so"', '`sex` = "say ""so"""'),
        (_.born < dt.date(2000, 1, 2), '`born` < "2000-01-02"'),
        (_.sex.notin(["F"]), '`sex` not in ("F") and `sex` is not missing'),
        (~_.sex.isnull(), "`sex` is not missing"),
        (~_.age.between(1, 2), "`age` < 1 or `age` > 2"),
        (_["a`b"] == "x", '`a``b` = "x"'),
    ],
)
def test_expressions_become_text(expression: Any, text: str | None) -> None:
    assert filter_text(expression, lambda: KINDS) == text


@pytest.mark.parametrize(
    "expression",
    [
        _.age + 1 > 3,
        _.age > _.age,
        _.sex.upper() == "F",
        _.sex.like("F%"),
        _.nothing == 1,
        (_.sex == "F") ^ (_.age > 3),
        _.age == float("inf"),
        ibis.literal(True),
        3,
    ],
    ids=lambda expression: type(expression).__name__,
)
def test_anything_else_is_refused(expression: Any) -> None:
    with pytest.raises(FilterError):
        filter_text(expression, lambda: KINDS)


def test_a_refusal_names_the_operation_and_not_the_value() -> None:
    with pytest.raises(FilterError, match="`Add`") as caught:
        filter_text(_.age + 123456 > 3, lambda: KINDS)
    assert "123456" not in str(caught.value)


def test_a_session_takes_both_and_writes_the_text_into_the_ledger() -> None:
    age = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120))
    people = shoal.read(pa.table({"age": [31, 45, 62, 78]}), schema=Schema(attributes=(age,)))
    session = Session(people, 1000)
    first, second = (
        session.count(_.age >= 60, epsilon=100),
        session.count(ibis.table({"age": "float64"}).age >= 60, epsilon=100),
    )
    assert first.value == second.value == 2
    assert first.query == second.query == "count where `age` >= 60"


def test_what_an_engine_raises_while_records_are_counted_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    table = shoal.read(pa.table({"town": ["Ulm"]}))
    store = RecordStore(table.with_schema(Schema(attributes=(Attribute(name="town", role="insensitive"),))))

    def fail(*_: object) -> None:
        raise duckdb.ConversionException("Could not convert string 'Ulm'")

    monkeypatch.setattr("shoal.tables._duckdb.DuckDBEngine._interruptible", fail)
    with pytest.raises(DataError) as caught:
        store.count(None)
    assert "Ulm" not in str(caught.value)
