"""Conditions and figures are the same in memory, on engines and one record at a time, and regions hold all records."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference import queries as reference
from shoal.queries._conditions import And, Condition, Not, Or, attributes, region
from shoal.queries._engine_records import EngineRecords
from shoal.queries._memory_records import MemoryRecords
from shoal.queries._records import Records, Scale

AGES = Scale.between(Fraction(0), Fraction(100), origin=Fraction(50), step=Fraction(7))
INCOMES = Scale.between(Fraction(-101, 2), Fraction(1000), origin=Fraction(0), step=Fraction(1, 4))
DAYS = Scale.between(Fraction(700_000), Fraction(738_000), origin=Fraction(700_000), step=Fraction(1000))

SCALES = {"age": AGES, "income": INCOMES, "born": DAYS}


def figures(made: Records, where: Condition | None) -> dict[str, Any]:
    return {
        "count": made.count(where),
        "total": [made.total(where, name, scale) for name, scale in SCALES.items()],
        "tally": made.tally(where, "age", AGES),
        "edges": made.tally_between(where, "income", [-50.5, 0.0, 0.1, 12.5, 1000.0]),
        "texts": made.tally_texts(where, "town", ["Ulm", "", "never", None]),
        "look-up": [[made.value_of("id", f"p{i}", name) for name in ("sex", "age", "born")] for i in range(7)],
    }


def expected(records: list[reference.Record], where: Condition | None) -> dict[str, Any]:
    chosen = [record for record in records if reference.satisfies(record, where)]

    def present(name: str) -> list[Any]:
        return [record[name] for record in chosen if record[name] is not None]

    def total(name: str, scale: Scale) -> tuple[int, int]:
        return sum(reference.unit(value, scale) for value in present(name)), len(present(name))

    tally = Counter(reference.unit(value, AGES) for value in present("age"))
    edges = [-50.5, 0.0, 0.1, 12.5, 1000.0]
    towns = Counter(record["town"] for record in chosen)

    def value_of(person: str, name: str) -> object:
        found = [record for record in records if record["id"] == person]
        value = found[0][name] if len(found) == 1 else None
        if value is None or isinstance(value, str):
            return value
        return float(value.toordinal() if hasattr(value, "toordinal") else value)

    return {
        "count": len(chosen),
        "total": [total(name, scale) for name, scale in SCALES.items()],
        "tally": [tally[i] for i in range(AGES.low, AGES.high + 1)],
        "edges": [sum(a <= x < b for x in present("income")) for a, b in pairwise(edges)],
        "texts": [towns[value] for value in ("Ulm", "", "never", None)],
        "look-up": [[value_of(f"p{i}", name) for name in ("sex", "age", "born")] for i in range(7)],
    }


@given(reference.records, st.none() | reference.conditions)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_figures_are_the_same_everywhere(records: list[reference.Record], where: Condition | None) -> None:
    table = reference.table(records)
    wanted = expected(records, where)
    assert figures(MemoryRecords(table), where) == wanted
    assert figures(EngineRecords(table), where) == wanted


@given(reference.records, reference.conditions)
@settings(deadline=None)
def test_every_record_that_matters_lies_in_the_region(records: list[reference.Record], where: Condition) -> None:
    found = region(where)
    assert set(found) <= attributes(where)
    for record in records:
        assert reference.inside(record, found) or not reference.satisfies(record, where)


@given(reference.conditions, reference.conditions)
def test_regions_of_conditions_on_one_attribute_are_exact(a: Condition, b: Condition) -> None:
    for condition in (And((a, b)), Or((a, Not(b))), Not(And((a, b)))):
        names = attributes(condition)
        if len(names) == 1:
            (name,) = names
            found = region(condition)
            for value in (None, "F", "mild", "Ulm", 44, 0.1):
                if isinstance(value, str) == (name in ("sex", "pain", "town")) or value is None:
                    record = {name: value}
                    assert reference.satisfies(record, condition) == reference.inside(record, found)


@pytest.mark.spark
def test_figures_are_the_same_on_spark() -> None:
    from pyspark.sql import SparkSession

    import shoal

    records = [
        reference.first_record(),
        {**reference.first_record(), "id": "p1", "sex": None, "age": 70, "income": 999.99, "town": "it's"},
        {**reference.first_record(), "id": "p1", "sex": "M", "age": None, "income": None, "town": None, "born": None},
    ]
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame(reference.table(records).to_pandas().convert_dtypes())
        table = shoal.read(frame, schema=reference.SCHEMA)
        for text in (None, 'sex = "F"', "not (age >= 50)", 'town in ("it\'s", "Ulm") and born < "2000-01-01"'):
            from shoal.queries._filters import parse

            where = parse(text, reference.SCHEMA)
            assert figures(EngineRecords(table), where) == expected(records, where)
    finally:
        spark.stop()
