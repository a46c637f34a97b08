"""Releases that keep the letter of k-anonymity: what they give away."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference.examples import examples
from shoal.errors import ParameterError
from shoal.risk import Pair, clustered, extreme_values, k_duplicated, k_duplication

WORTH = [20, 25, 30, 31, 40, 44, 45, 52, 60, 61, 70, 35_000]
SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="worth",
            role="quasi-identifier",
            kind="numeric",
            hierarchy=shoal.schema.Cuts(levels=((50, 10_000), (10_000,))),
        ),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    table = pa.table({"worth": WORTH, "town": ["a", "b"] * 6, "illness": ["x", "y", "z"] * 4})
    return shoal.read(table).with_schema(SCHEMA)


def test_clustered_recoding_is_k_anonymous_and_shows_the_richest(people: shoal.Table) -> None:
    released = clustered(people, 4)
    classes = Counter(zip(released["worth"].to_pylist(), released["town"].to_pylist(), strict=True))
    assert min(classes.values()) >= 4
    assert "[60, 35000]" in {worth for worth, _ in classes}
    smallest, largest = extreme_values(Pair.of(people, shoal.read(released)))
    assert (largest.column, largest.end, largest.people, largest.exposed, largest.crowd) == (
        "worth",
        "largest",
        1,
        True,
        4,
    )
    assert smallest.exposed
    assert "one person" in largest.statement


def test_intervals_that_were_declared_beforehand_show_nothing(people: shoal.Table) -> None:
    release = shoal.anonymize(people, shoal.KAnonymity(4), method=shoal.Generalize(suppression_limit=0.5))
    found = extreme_values(Pair.of(people, release.table))
    assert [each.exposed for each in found] == [False, False]
    assert "cannot be read off" in found[0].statement


def test_a_value_released_as_it_is_is_exposed(people: shoal.Table) -> None:
    assert [each.exposed for each in extreme_values(Pair.of(people, people))] == [True, True]


def test_groups_with_missing_values_become_everything(people: shoal.Table) -> None:
    table = shoal.read(pa.table({"worth": [1, 2, 3, None], "town": ["a"] * 4, "illness": ["x"] * 4})).with_schema(
        SCHEMA
    )
    assert sorted(clustered(table, 2)["worth"].to_pylist()) == ["*", "*", "[1, 2]", "[1, 2]"]


def test_something_must_be_ordered() -> None:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="town", role="quasi-identifier"),))
    with pytest.raises(ParameterError, match="numeric or date"):
        clustered(shoal.read(pa.table({"town": ["a"]})).with_schema(schema), 2)
    with pytest.raises(ParameterError, match="schema"):
        clustered(shoal.read(pa.table({"town": ["a"]})), 2)


DESCRIBED = shoal.Schema(
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
    ).with_schema(DESCRIBED)


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
