"""Conditions and figures are the same in memory, on DuckDB and one record at a time, and regions hold all records."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reference import queries as reference
from shoal.queries._conditions import And, Condition, Not, Or, attributes, region
from shoal.queries._engine_records import EngineRecords
from shoal.queries._memory_records import MemoryRecords


@given(reference.records, st.none() | reference.conditions)
@settings(max_examples=12)
def test_figures_are_the_same_everywhere(records: list[reference.Record], where: Condition | None) -> None:
    table = reference.table(records)
    wanted = reference.expected(records, where)
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
