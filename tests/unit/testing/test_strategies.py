from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal.testing
from reference.examples import examples
from shoal.hierarchies import build, outside
from shoal.schema import Kind, Missing, Role
from shoal.testing import strategies

few = examples(30)


@pytest.mark.slow
@few
@given(strategies.described_tables())
def test_a_table_fits_its_schema(described):
    schema, table = described
    assert tuple(table.column_names) == schema.names
    for attribute in schema:
        column = table[attribute.name]
        assert outside(build(attribute, column.unique(), missing=True), column) is None
        assert attribute.missing is not Missing.REFUSE or not column.null_count


@pytest.mark.slow
@few
@given(strategies.described_tables(roles=[Role.SENSITIVE], kinds=[Kind.DATE], min_rows=2, max_rows=3, min_columns=2))
def test_options_are_kept(described):
    schema, table = described
    assert len(schema.names) >= 2
    assert len(schema.sensitive) == len(schema.names)
    assert {attribute.kind for attribute in schema} == {Kind.DATE}
    assert 2 <= table.num_rows <= 3


def drawn(strategy, number=100):
    found = []

    @settings(max_examples=number, database=None, derandomize=True)
    @given(strategy)
    def collect(value):
        found.append(value)

    collect()
    return found


@pytest.mark.slow
def test_extremes_are_among_the_tables():
    described = drawn(strategies.described_tables(max_rows=3), 200)
    assert any(table.num_rows == 0 for _, table in described)
    assert any(table.num_rows == 1 for _, table in described)
    assert any(column.null_count for _, table in described for column in table.columns)
    assert any(not "".join(schema.names).isascii() for schema, _ in described)
    assert any(len(schema.quasi_identifiers) > 1 for schema, _ in described)
    assert {schema.guessed for schema, _ in described} == {True, False}
    attributes = [attribute for schema, _ in described for attribute in schema]
    assert {attribute.kind for attribute in attributes} == set(Kind)
    assert {attribute.role for attribute in attributes} == set(Role)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(Kind))
def test_every_rule_that_fits_a_kind_is_drawn(kind):
    def names(**options):
        return {rule.name for rule in drawn(strategies.rules(kind, **options))}

    named = {"flat", "mask", "groups", "regions", "taxonomy"}
    expected = {"numeric": {"flat", "intervals", "cuts", "quantiles"}, "date": {"flat", "dates"}}.get(kind, named)
    assert names() == expected
    assert names(files=True) == expected | {"file"}


@few
@given(st.data())
def test_columns_without_missing_values_on_request(data):
    attribute = data.draw(strategies.attributes())
    assert data.draw(strategies.columns(attribute, missing=False)).null_count == 0


def test_parts_are_loaded_when_asked_for():
    assert shoal.testing.strategies is strategies
    with pytest.raises(AttributeError, match="has no attribute `nothing`"):
        _ = shoal.testing.nothing
