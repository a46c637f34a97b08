"""Record linkage by distance on tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, ParameterError
from shoal.risk import record_linkage

NUMBERS = shoal.Schema(
    attributes=(
        shoal.Attribute(name="a", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(
            name="b", role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=1000)
        ),
    )
)


def _by_hand(original: np.ndarray, masked: np.ndarray, widths: np.ndarray) -> float:
    total = 0.0
    for row, record in enumerate(masked):
        distances = np.square((original - record) / widths).sum(axis=1)
        nearest = np.flatnonzero(np.isclose(distances, distances.min(), rtol=1e-9, atol=1e-15))
        total += (row in nearest) / len(nearest)
    return total / len(original)


def test_numbers_are_scaled_by_their_domain() -> None:
    generator = np.random.default_rng(0)
    original = generator.integers(0, 100, size=(60, 2)).astype(float)
    masked = original + generator.normal(0, 8, size=original.shape).round(1)
    tables = [pa.table({"a": values[:, 0], "b": values[:, 1]}) for values in (original, masked)]
    found = record_linkage(shoal.read(tables[0]).with_schema(NUMBERS), shoal.read(tables[1]))
    widths = np.array(
        [max(original[:, 0].max(), masked[:, 0].max()) - min(original[:, 0].min(), masked[:, 0].min()), 1000.0]
    )
    assert found.linked == pytest.approx(_by_hand(original, masked, widths))
    assert (found.records, found.guessed, found.columns) == (60, 1 / 60, ("a", "b"))


def test_records_as_they_are_are_all_linked() -> None:
    table = shoal.read(pa.table({"a": [1, 2, 3], "b": [7, 7, 9]})).with_schema(NUMBERS)
    assert record_linkage(table, table).linked == 1.0


def test_categories_are_near_where_their_hierarchy_says_so() -> None:
    towns = shoal.Attribute(
        name="town",
        role="quasi-identifier",
        hierarchy=shoal.Groups(levels=((("north", ("a", "b")), ("south", ("c", "d"))),)),
    )
    people = shoal.read(pa.table({"town": ["a", "b", "c", "d"]})).with_schema(shoal.Schema(attributes=(towns,)))
    # a neighbour in the same region leads to itself; a region leads to both of its towns
    assert record_linkage(people, shoal.read(pa.table({"town": ["b", "b", "c", "d"]}))).linked == 0.75
    regions = shoal.read(pa.table({"town": ["north", "north", "south", "south"]}))
    assert record_linkage(people, regions).linked == 0.5
    assert record_linkage(people, shoal.read(pa.table({"town": ["*"] * 4}))).linked == 0.25


def test_tables_of_different_length_do_not_correspond() -> None:
    table = shoal.read(pa.table({"a": [1, 2], "b": [1, 2]})).with_schema(NUMBERS)
    with pytest.raises(DataError, match="correspond"):
        record_linkage(table, shoal.read(pa.table({"a": [1], "b": [1]})))
    with pytest.raises(ParameterError, match="no schema"):
        record_linkage(shoal.read(pa.table({"a": [1]})), table)
