"""Classes drawn around records show the extreme ones; declared intervals do not."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.risk import Pair, clustered, extreme_values

WORTH = [20, 25, 30, 31, 40, 44, 45, 52, 60, 61, 70, 35_000]
SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="worth",
            role="quasi-identifier",
            kind="numeric",
            hierarchy=shoal.Cuts(levels=((50, 10_000), (10_000,))),
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
