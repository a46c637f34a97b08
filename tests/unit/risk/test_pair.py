"""A table and its release as boxes of the same leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, ParameterError
from shoal.risk import UNIT, Pair
from shoal.risk._pair import draw

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(name="id", role="identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10, 50))
        ),
        shoal.Attribute(name="town", role="quasi-identifier"),
    )
)
PEOPLE = pa.table(
    {
        "id": ["1", "2", "3", "4", "5", "6"],
        "illness": ["flu", "flu", "cold", "cold", None, "flu"],
        "age": [20, 25, 31, 38, 44, 44],
        "town": ["a", "a", "b", "b", "a", "a"],
    }
)


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    return shoal.read(PEOPLE).with_schema(SCHEMA)


def test_quasi_identifiers_come_first_and_identifiers_not_at_all(people: shoal.Table) -> None:
    pair = Pair.of(people, people)
    assert pair.names == ("age", "town", "illness")
    assert (pair.quasi_identifiers, pair.sensitive) == ((0, 1), (2,))


def test_a_table_released_as_it_is_holds_the_same_points(people: shoal.Table) -> None:
    pair = Pair.of(people, people)
    assert not any(axis.is_perturbed for axis in pair.axes)
    before, after = (
        sorted(zip(map(tuple, boxes.low.tolist()), boxes.counts.tolist(), strict=True))
        for boxes in (pair.original, pair.released)
    )
    assert before == after
    assert np.array_equal(pair.released.low, pair.released.high)


def test_a_generalised_release_covers_every_person_it_keeps(people: shoal.Table) -> None:
    release = shoal.anonymize(people, shoal.KAnonymity(2))
    pair = Pair.of(people, release.table)
    from shoal.risk._boxes import totals_at

    assert pair.released.records == release.records
    assert np.count_nonzero(totals_at(pair.released, pair.original.low)) >= release.records - 1


def test_columns_that_the_release_lacks_are_read_as_everything(people: shoal.Table) -> None:
    pair = Pair.of(people, people).with_release(people.select("age", "illness"))
    assert pair.names == ("age", "town", "illness")
    assert set(pair.released.low[:, 1].tolist()) == {0}
    assert set(pair.released.high[:, 1].tolist()) == {1}


def test_weights_make_records_count_in_parts(people: shoal.Table) -> None:
    joined = shoal.read(
        pa.table(
            {"age": [20, 20, 25], "town": ["a", "a", "a"], "illness": ["flu", "cold", "flu"], "p": [0.5, 0.5, 1.0]}
        )
    )
    pair = Pair.of(people, people).with_release(joined, weights="p")
    assert sorted(pair.released.counts.tolist()) == [UNIT // 2, UNIT // 2, UNIT]


def test_some_columns_can_be_asked_for(people: shoal.Table) -> None:
    assert Pair.of(people, people, columns=["illness"]).names == ("illness",)
    with pytest.raises(DataError, match="no column `height`"):
        Pair.of(people, people, columns=["height"])


def test_tables_without_a_schema_or_a_common_column_are_refused(people: shoal.Table) -> None:
    with pytest.raises(ParameterError, match="no schema"):
        Pair.of(shoal.read(PEOPLE), people)
    with pytest.raises(DataError, match="no column in common"):
        Pair.of(people, shoal.read(pa.table({"x": [1]})))


def test_people_are_drawn_at_most_once_and_the_same_for_the_same_seed() -> None:
    counts = np.array([3, 1, 2])
    assert np.bincount(draw(counts, 100, np.random.default_rng(0))).tolist() == [3, 1, 2]
    first, second = (draw(counts, 4, np.random.default_rng(7)).tolist() for _ in range(2))
    assert first == second
    assert np.all(np.bincount(first, minlength=3) <= counts)
