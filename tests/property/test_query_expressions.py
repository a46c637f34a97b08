"""An Ibis expression holds for the same records as a filter of a session as it does for Ibis itself."""

from __future__ import annotations

import operator
from typing import Any

import ibis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ibis import _

from reference import queries as reference
from reference.examples import examples
from shoal.queries._records import MemoryRecords
from shoal.schema.filters import parse
from shoal.tables import filter_text

KINDS = {attribute.name: attribute.kind for attribute in reference.SCHEMA}
VALUES = {"age": reference.ages, "income": reference.incomes, "born": reference.days, "town": reference.towns}
EQUAL = (operator.eq, operator.ne)
ORDERED = (*EQUAL, operator.lt, operator.le, operator.gt, operator.ge)


@st.composite
def leaves(draw: st.DrawFn) -> Any:
    name = draw(st.sampled_from(sorted(VALUES)))
    column, values = getattr(_, name), VALUES[name]
    made = {
        "compare": lambda: draw(st.sampled_from(EQUAL if name == "town" else ORDERED))(column, draw(values)),
        "turned": lambda: draw(st.sampled_from(EQUAL if name == "town" else ORDERED))(draw(values), column),
        "in": lambda: column.isin(draw(st.lists(values, min_size=1, max_size=3))),
        "not in": lambda: column.notin(draw(st.lists(values, min_size=1, max_size=3))),
        "between": lambda: column.between(draw(values), draw(values)) if name != "town" else column.isnull(),
        "missing": lambda: column.isnull(),
        "present": lambda: column.notnull(),
    }
    return made[draw(st.sampled_from(sorted(made)))]()


expressions = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
        inner.map(lambda one: ~one),
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(reference.records, st.lists(expressions, min_size=4, max_size=4))
@examples(25)
def test_a_filter_means_what_ibis_means(records: list[reference.Record], wheres: list[Any]) -> None:
    table = reference.table(records)
    rows = ibis.memtable(table.to_arrow())
    memory = MemoryRecords(table)
    for where in wheres:
        (bound,) = rows.bind(where)
        for given_ in (where, bound):
            text = filter_text(given_, lambda: KINDS)
            assert memory.count(parse(text, reference.SCHEMA)) == rows.filter(where).count().to_pyarrow().as_py()
