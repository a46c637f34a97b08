"""k-duplication keeps k-anonymity and gives people away."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference.examples import examples
from shoal.errors import ParameterError
from shoal.risk import k_duplicated, k_duplication

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(name="name", role="identifier"),
        shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)


def _table(records: list[tuple[int, str]]) -> shoal.Table:
    return shoal.read(
        pa.table(
            {
                "name": [str(i) for i in range(len(records))],
                "age": [age for age, _ in records],
                "illness": [illness for _, illness in records],
            }
        )
    ).with_schema(SCHEMA)


@pytest.mark.slow
@examples(20)
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("xyz")), min_size=6, max_size=40), st.integers(2, 5))
def test_it_is_k_anonymous_on_all_columns_and_holds_real_records(records: list, k: int) -> None:
    table = _table(records)
    released = [tuple(row.values()) for row in k_duplicated(table, k).to_pylist()]
    counted, people = Counter(released), Counter(records)
    assert min(counted.values()) >= k
    assert len(released) == len(records) // k * k
    assert set(counted) <= set(people)
    found = k_duplication(table, k)
    assert found.k == min(counted.values())
    assert found.unchanged == sum(people[record] for record in counted)
    assert found.reidentified == sum(people[record] == 1 for record in counted)


def test_the_statement_says_how_many_people_are_recognised() -> None:
    found = k_duplication(_table([(age, "x") for age in range(20)]), 4)
    assert (found.k, found.released, found.reidentified) == (4, 20, 5)
    assert "4-anonymous" in found.statement
    assert "5 of 20 people" in found.statement


def test_names_are_not_copied_and_k_is_a_number() -> None:
    assert "name" not in k_duplicated(_table([(1, "x")] * 4), 2).column_names
    with pytest.raises(ParameterError, match="at least 1"):
        k_duplicated(_table([(1, "x")]), 0)
