"""Conditions and figures are the same in memory, on DuckDB and one record at a time, and regions hold all records."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference import queries as reference
from reference.examples import examples
from shoal.queries._cubes import Scale
from shoal.queries._records import EngineRecords, MemoryRecords
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.conditions import And, Condition, In, Not, Or, Ranges, attributes, region


@pytest.mark.slow
@given(reference.records, st.none() | reference.conditions)
@examples(12)
def test_figures_are_the_same_everywhere(records: list[reference.Record], where: Condition | None) -> None:
    table = reference.table(records)
    wanted, people = reference.expected(records, where), reference.expected_look_ups(records, 7)
    for made in (MemoryRecords(table), EngineRecords(table)):
        assert reference.look_ups(made, 7) == people
    for most_cells in (1 << 16, 4, 0):
        memory = MemoryRecords(table, most_cells=most_cells)
        assert reference.figures(memory, where) == wanted
        assert reference.figures(memory, where) == wanted, "kept figures are the same ones"
    assert reference.figures(EngineRecords(table), where) == wanted
    assert reference.figures(EngineRecords(table, most_cells=0), where) == wanted


@given(reference.records, reference.conditions)
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


def test_numbers_next_to_a_border_lie_on_the_same_side_everywhere() -> None:
    """Which way a figure is computed depends on all records: it must not matter for any of them."""
    rng = random.Random(36)
    origin, step, edge = (Fraction(rng.random()) for _ in range(3))
    halves = [float(origin + step * (unit + Fraction(1, 2))) for unit in range(-200, 200)] + [float(edge)]
    numbers = [near for x in halves for near in (x, math.nextafter(x, 9e9), math.nextafter(x, -9e9))]
    schema = Schema(attributes=(Attribute(name="x", kind=Kind.NUMERIC),))
    table = shoal.read(pa.table({"x": numbers})).with_schema(schema)
    scale, edges = Scale(origin, step, -210, 210), sorted([float(edge), *halves[:40:3]])
    below = In("x", Ranges((((-math.inf, 0), (float(edge), 0)),)))
    figures = [
        (
            each.count(below),
            each.total(None, "x", scale),
            each.tally(below, "x", scale),
            each.tally_between(None, "x", edges),
        )
        for each in (MemoryRecords(table), EngineRecords(table), EngineRecords(table, most_cells=0))
    ]
    assert figures[0] == figures[1] == figures[2]
