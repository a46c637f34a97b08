"""Record linkage by distance, of tables and of arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference import microaggregation as reference
from shoal.errors import DataError, ParameterError
from shoal.hierarchies import Concepts
from shoal.methods.classes import mdav
from shoal.risk import _record_linkage as module
from shoal.risk import record_linkage
from shoal.risk._record_linkage import linked_percentage, linked_percentage_mixed

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
        hierarchy=shoal.schema.Groups(levels=((("north", ("a", "b")), ("south", ("c", "d"))),)),
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


def test_unmasked_distinct_records_are_all_linked() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    assert linked_percentage(values, values) == pytest.approx(100.0)


def test_equal_originals_share_the_link() -> None:
    assert linked_percentage([[1.0], [1.0], [5.0]], [[1.0], [1.0], [5.0]]) == pytest.approx(100 * (0.5 + 0.5 + 1) / 3)


def test_a_wrong_nearest_original_is_no_link() -> None:
    assert linked_percentage([[0.0], [10.0]], [[9.0], [1.0]]) == 0.0


def test_the_middle_of_two_lies_at_equal_distance_of_both_whatever_rounding_says() -> None:
    values = np.random.default_rng(1).normal(size=(200, 4))
    masked = reference.aggregate(values, mdav(values, 2).labels)
    # the two members of a cluster tie; a third record may be nearer still, but not for less than 1/2
    linkage = linked_percentage(values, masked, scale=np.ones(4)) / 100
    assert round(linkage * 200 * 2) == pytest.approx(linkage * 200 * 2)
    assert linkage > 0.4


def test_it_is_the_slow_reference_on_whole_numbers() -> None:
    rng = np.random.default_rng(2)
    original = rng.integers(0, 6, (60, 2)).astype(float)
    masked = rng.integers(0, 12, (60, 2)) / 2
    expected = reference.record_linkage(original.tolist(), masked.tolist())
    assert linked_percentage(original, masked, scale=[1, 1]) == pytest.approx(expected)


def test_numbers_alone_are_linked_alike_by_both_functions() -> None:
    rng = np.random.default_rng(3)
    original, masked = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    none = np.empty((80, 0))
    mixed = linked_percentage_mixed((original, none), (masked, none), scale=[1, 1], distances=())
    assert mixed == pytest.approx(linked_percentage(original, masked, scale=[1, 1]))


@pytest.mark.parametrize("cells", [1 << 22, 50])
def test_mixed_records_are_linked_by_numbers_and_concepts(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    monkeypatch.setattr(module, "CELLS", cells)
    taxonomy = Concepts.from_parents([-1, 0, 0, 1, 1, 2])
    rng = np.random.default_rng(4)
    numbers, codes = rng.integers(0, 3, (60, 1)) / 1.0, rng.choice([3, 4, 5], (60, 1))
    masked_numbers, masked_codes = rng.integers(0, 3, (60, 1)) / 1.0, rng.choice([1, 3, 4, 5], (60, 1))
    table = taxonomy.distances
    expected = 0.0
    for i in range(60):
        distances = (numbers[:, 0] - masked_numbers[i, 0]) ** 2 + table[codes[:, 0], masked_codes[i, 0]] ** 2
        nearest = np.isclose(distances, distances.min(), rtol=1e-12, atol=1e-15)
        expected += 100 * nearest[i] / nearest.sum() / 60
    found = linked_percentage_mixed((numbers, codes), (masked_numbers, masked_codes), scale=[1], distances=[table])
    assert found == pytest.approx(expected)


def test_no_records_are_not_linked() -> None:
    assert linked_percentage(np.empty((0, 1)), np.empty((0, 1))) == 0.0
    nothing = (np.empty((0, 0)), np.empty((0, 0)))
    assert linked_percentage_mixed(nothing, nothing, scale=[], distances=[]) == 0.0


def test_shapes_must_agree() -> None:
    with pytest.raises(DataError, match="`scale` must hold one number"):
        linked_percentage([[1.0]], [[1.0]], scale=[1, 2])
    with pytest.raises(DataError, match="one column per table"):
        linked_percentage_mixed(([[1.0]], [[0]]), ([[1.0]], [[0]]), scale=[1], distances=[])

    with pytest.raises(DataError, match="the same shape"):
        linked_percentage([[1.0, 2.0]], [[1.0]])


def test_numbers_must_be_finite_and_are_not_shown() -> None:
    with pytest.raises(DataError, match="1 records hold values that are not finite numbers"):
        linked_percentage([[1.0], [np.nan]], [[1.0], [2.0]])
